"""In and out points, as an operator writes them."""

from __future__ import annotations

import re

from gui.recorders.entry import WrongEntry
from gui.words import clock

_POINT = re.compile(r"(?:(?:(\d{1,3}):)?(\d{1,3}):)?(\d{1,5})(?:[.,](\d{1,3}))?")


def read_point(words: str, what: str) -> float | None:
    """Seconds of 90, 1:30, 00:01:30 or 90.5; None when nothing was written."""
    words = words.strip()
    if not words:
        return None
    found = _POINT.fullmatch(words)
    if found is None:
        raise WrongEntry(f"Write {what} as 00:01:30, 1:30 or 90.5 (seconds).")
    hours, minutes, seconds, fraction = found.groups()
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds) + float(f"0.{fraction or 0}")


def read_span(entered_in: str, entered_out: str) -> tuple[float, float | None]:
    """Where a clip begins and how long it plays; None is to its end."""
    begin = read_point(entered_in, "the in point") or 0.0
    end = read_point(entered_out, "the out point")
    if end is not None and end <= begin:
        raise WrongEntry("The out point must be after the in point.")
    return begin, None if end is None else end - begin


def point(seconds: float) -> str:
    tenths = round((seconds - int(seconds)) * 10)
    return clock(seconds) + (f".{tenths}" if 0 < tenths < 10 else "")
