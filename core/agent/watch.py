"""Watches a running recording: does its file grow, and what does ffmpeg say about the signal.

Reading is idempotent: a new agent reads the log from its beginning and comes to the same faults.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from core.agent.settings import CaptureSettings

LONGEST_LOG = 4 * 1024**2  # a broken source can make ffmpeg write for ever

_MARKS = (
    ("black", True, re.compile(r"lavfi\.black_start[=:]")),
    ("black", False, re.compile(r"lavfi\.black_end[=:]")),
    ("freeze", True, re.compile(r"freezedetect\.freeze_start:")),
    ("freeze", False, re.compile(r"freezedetect\.freeze_end:")),
    ("silence", True, re.compile(r"silence_start:")),
    ("silence", False, re.compile(r"silence_end:")),
)


def mark(line: str) -> tuple[str, bool] | None:
    """The fault that a line of ffmpeg's log is about, and whether it begins."""
    for fault, begins, pattern in _MARKS:
        if pattern.search(line):
            return fault, begins
    return None


class LogTail:
    """The new lines of a file that another process appends to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""

    def lines(self) -> list[str]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
        except FileNotFoundError:
            return []
        self._offset += len(new)
        *whole, self._rest = (self._rest + new).split(b"\n")
        if self._offset > LONGEST_LOG:
            # Opened for appending by the writer, so it goes on at the new end.
            with self._path.open("r+b") as file:
                file.truncate(0)
            self._offset, self._rest = 0, b""
        return [line.decode(errors="replace") for line in whole]


@dataclass
class Watch:
    """What is known of a recording's signal and growth. Times are by the steady counter."""

    settings: CaptureSettings
    began: float
    size: int = 0
    grown_at: float = 0.0
    rate: float = 0.0  # bytes a second, smoothed
    _since: dict[str, float] = field(default_factory=dict)
    _looked: float = 0.0

    def __post_init__(self) -> None:
        self.grown_at = self._looked = self.began

    def hear(self, lines: list[str], now: float) -> None:
        for line in lines:
            if (found := mark(line)) is not None:
                fault, begins = found
                if begins:
                    self._since.setdefault(fault, now)
                else:
                    self._since.pop(fault, None)

    def see(self, size: int, now: float) -> None:
        elapsed = now - self._looked
        if elapsed > 0:
            latest = max(size - self.size, 0) / elapsed
            weight = min(elapsed / 10.0, 1.0)
            self.rate = latest if self.rate == 0 else self.rate * (1 - weight) + latest * weight
        if size > self.size:
            self.grown_at = now
        self.size, self._looked = size, now

    def faults(self, now: float) -> frozenset[str]:
        # ffmpeg itself waits before it reports silence and a standing picture; black it marks at once.
        found = {
            f for f, since in self._since.items() if f != "black" or now - since >= self.settings.black_s
        }
        if self.settings.stalled_s and now - self.grown_at > self.settings.stalled_s:
            found.add("stalled")
        return frozenset(found)
