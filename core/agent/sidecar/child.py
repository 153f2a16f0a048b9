"""Children of a sidecar: they end with it, however it ends."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence

_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_PDEATHSIG = 1


def _die_with_parent() -> None:
    if _LIBC is not None:
        _LIBC.prctl(_PDEATHSIG, signal.SIGKILL)


class Child:
    """An ffmpeg whose complaints are kept. The signal goes with the thread that starts it: only threads that live
    as long as the sidecar may make one."""

    def __init__(
        self, argv: Sequence[str], *, feed: bool = False, heard: Callable[[str], None] | None = None
    ) -> None:
        self._words: deque[str] = deque(maxlen=200)
        self._heard = heard
        self.process = subprocess.Popen(
            list(argv), stdin=subprocess.PIPE if feed else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, bufsize=0, preexec_fn=_die_with_parent,
        )  # fmt: skip
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as words:
            rest = b""
            while part := words.read(65536):
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    said = line.decode(errors="replace")
                    if "=" not in said[:20]:
                        self._words.append(said)
                    if self._heard is not None:
                        self._heard(said)

    def log(self) -> str:
        self._listening.join(0.5)
        return "\n".join(self._words)

    def kill(self) -> None:
        self.process.kill()
