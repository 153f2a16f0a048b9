"""The one encoder of a sidecar: takes pictures and sound in lockstep, and is made again when it dies."""

from __future__ import annotations

import os
import select
import threading
import time

from core.agent.sidecar import avi, say
from core.agent.sidecar.child import Child
from core.playout.outputs import Output, Raster

STUCK = 5.0  # an output that takes nothing for this long is dead
OPENING = 15.0
BACKOFF = (0.2, 0.5, 1.0, 2.0, 5.0)


class Lost(Exception):
    """The encoder has gone."""


class Encoder:
    def __init__(self, ffmpeg: str, raster: Raster, output: Output, generation: int, blank: bytes) -> None:
        self._what = (ffmpeg, raster, output, generation)
        self._raster, self._blank = raster, blank
        self._child: Child | None = None
        self._opened = threading.Event()
        self._began = 0.0
        self._frame = 0
        self._failures = 0
        self._again_at = 0.0
        self.preview = b""
        self.problem: str | None = None
        self.sent_at = 0.0  # when frames last came out of it

    @property
    def open(self) -> bool:
        return self._child is not None and self._opened.is_set()

    def keep(self) -> None:
        """Starts it when it does not run and its time has come. For the air thread alone."""
        now = time.monotonic()
        if self._child is None:
            if now >= self._again_at:
                self._start()
        elif self._child.process.poll() is not None or (not self.open and now - self._began > OPENING):
            self.lose()

    def _start(self) -> None:
        self._opened.clear()
        self._frame, self._began = 0, time.monotonic()
        child = Child(say.encoder(*self._what), feed=True, heard=self._heard)
        assert child.process.stdin is not None
        os.set_blocking(child.process.stdin.fileno(), False)
        self._child = child
        threading.Thread(target=self._look, args=(child,), daemon=True).start()
        try:
            # It opens its output only when it has seen a picture.
            self._write(avi.header(self._raster))
            self.frame(self._blank, b"\0" * 4 * avi.samples_before(1, self._raster))
        except Lost:
            pass

    def _heard(self, line: str) -> None:
        if "Stream mapping:" in line:
            self._opened.set()
        elif line.startswith("frame=") and line.strip() != "frame=0":
            self.sent_at = time.monotonic()

    def _look(self, child: Child) -> None:
        """Keeps the last whole picture of the small branch."""
        assert child.process.stdout is not None
        with child.process.stdout as pipe:
            rest = b""
            while part := pipe.read(65536):
                rest += part
                while (end := rest.find(b"\xff\xd9")) >= 0:
                    self.preview, rest = rest[: end + 2], rest[end + 2 :]

    def samples(self) -> int:
        """How much sound belongs to the next picture."""
        return avi.samples_before(self._frame + 1, self._raster) - avi.samples_before(
            self._frame, self._raster
        )

    def frame(self, picture: bytes | bytearray, sound: bytes) -> None:
        self._write(avi.chunk(b"00dc", len(picture)))
        self._write(picture)
        self._write(avi.chunk(b"01wb", len(sound)) + sound)
        self._frame += 1
        if self._frame == 250:
            self._failures, self.problem = 0, None

    def _write(self, data: bytes | bytearray) -> None:
        child = self._child
        if child is None or child.process.stdin is None:
            raise Lost
        view, limit = memoryview(data), time.monotonic() + (STUCK if self.open else OPENING)
        descriptor = child.process.stdin.fileno()
        while view:
            try:
                view = view[os.write(descriptor, view) :]
            except BlockingIOError:
                if time.monotonic() > limit:
                    self.lose()
                    raise Lost from None
                select.select([], [descriptor], [], 0.2)
            except OSError:
                self.lose()
                raise Lost from None

    def lose(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        code = child.process.wait()
        self.problem = f"The output does not work: {say.explain(child.log(), code)}"
        self._opened.clear()
        if child.process.stdin is not None:
            child.process.stdin.close()
        self._again_at = time.monotonic() + BACKOFF[min(self._failures, len(BACKOFF) - 1)]
        self._failures += 1

    def close(self, patience: float = 0.4) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        if child.process.stdin is not None:
            child.process.stdin.close()
        try:
            child.process.wait(patience)
        except Exception:  # noqa: BLE001  (it is killed whatever it was)
            child.kill()
            child.process.wait()
