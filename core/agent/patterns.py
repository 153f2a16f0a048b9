"""Test patterns with a burnt-in timecode, as filter graphs for ffmpeg, and how to read it back.

The timecode is drawn as seven-segment digits made of boxes: it needs no font, costs almost nothing,
and can be read by a person and by a program alike. It counts frames since midnight UTC, so a frame
that was lost shows as a gap, in one file and across two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

RATE = 25
HEIGHT = 270  # four of them must fit beside everything else on two cores
TONE = 1000
SAMPLES = 32000
FRAMES_A_DAY = RATE * 86400

_DIGITS = ("abcdef", "bc", "abdeg", "abcdg", "bcfg", "acdfg", "acdefg", "abc", "abcdefg", "abcdfg")
_PICTURES = {
    "bars": "smptebars",
    "silent": "smptebars",
    "freeze": "smptebars",
    "motion": "smptebars",
    "clock": "color=c=0x202830",
    "black": "color=c=black",
}


@dataclass(frozen=True)
class _Box:
    x: int
    y: int
    w: int
    h: int


@dataclass(frozen=True)
class Digits:
    """Where the eight digits HH MM SS FF stand in a picture of a given size."""

    x: int
    y: int
    w: int
    h: int
    thick: int

    @classmethod
    def small(cls, height: int) -> Digits:
        unit = max(height // 90, 2)
        return cls(x=6 * unit, y=4 * unit, w=6 * unit, h=10 * unit, thick=unit)

    @classmethod
    def large(cls, width: int, height: int) -> Digits:
        w = width // 13
        return cls(x=w, y=(height - 2 * w) // 2, w=w, h=2 * w, thick=max(w // 5, 2))

    def left(self, place: int) -> int:
        gap = max(self.w // 3, 2)
        return self.x + place * (self.w + gap) + (place // 2) * gap

    @property
    def ground(self) -> _Box:
        margin = self.thick * 2
        right = self.left(7) + self.w
        return _Box(self.x - margin, self.y - margin, right - self.x + 2 * margin, self.h + 2 * margin)

    def segments(self, place: int) -> Iterator[tuple[str, _Box]]:
        x, y, w, t = self.left(place), self.y, self.w, self.thick
        half = self.h // 2
        yield "a", _Box(x, y, w, t)
        yield "b", _Box(x + w - t, y, t, half)
        yield "c", _Box(x + w - t, y + half, t, half)
        yield "d", _Box(x, y + 2 * half - t, w, t)
        yield "e", _Box(x, y + half, t, half)
        yield "f", _Box(x, y, t, half)
        yield "g", _Box(x, y + half - t // 2, w, t)


def size_for(height: int) -> tuple[int, int]:
    return height * 16 // 9 // 2 * 2, height // 2 * 2


def digits_of(pattern: str, height: int) -> Digits:
    width, height = size_for(height)
    return Digits.large(width, height) if pattern == "clock" else Digits.small(height)


def frame_of_day(at: datetime) -> int:
    since_midnight = at.hour * 3600 + at.minute * 60 + at.second + at.microsecond / 1e6
    return int(since_midnight * RATE)


def video(pattern: str, height: int, first_frame: int) -> str:
    """The filter graph of a pattern's picture; `first_frame` is the timecode of its first frame."""
    width, height = size_for(height)
    source = _PICTURES[pattern]
    size = f"{':' if '=' in source else '='}size={width}x{height}:rate={RATE}"
    # The clock is the ffmpeg process's alone: the same frame number is never made twice.
    graph = [source + size, "format=yuv420p"]
    if pattern == "motion":
        graph.append("scroll=horizontal=0.004")
    if pattern not in ("black", "freeze"):
        # The clock's own background is dark, and filling a large box for every picture is not free.
        graph += _timecode(digits_of(pattern, height), first_frame, ground=pattern != "clock")
    return ",".join(graph)


def audio(pattern: str) -> str:
    if pattern == "silent":
        return f"anullsrc=r={SAMPLES}:cl=mono:nb_samples={SAMPLES // RATE}"
    return f"sine=f={TONE}:r={SAMPLES}:samples_per_frame={SAMPLES // RATE}"


def _timecode(digits: Digits, first_frame: int, ground: bool) -> Iterator[str]:
    if ground:
        box = digits.ground
        yield f"drawbox=x={box.x}:y={box.y}:w={box.w}:h={box.h}:t=fill:color=black"
    of_day = f"mod(n+{first_frame},{FRAMES_A_DAY})"
    values = [
        f"mod(floor({of_day}/{RATE * seconds}),{modulus})"
        for seconds, modulus in ((36000, 3), (3600, 10), (600, 6), (60, 10), (10, 6), (1, 10))
    ]
    values += [f"floor(mod({of_day},{RATE})/10)", f"mod(mod({of_day},{RATE}),10)"]
    for place, value in enumerate(values):
        for name, box in digits.segments(place):
            lit = sum(1 << digit for digit, shape in enumerate(_DIGITS) if name in shape)
            yield (
                f"drawbox=x={box.x}:y={box.y}:w={box.w}:h={box.h}:t=fill:color=white"
                f":enable='mod(floor({lit}/pow(2,{value})),2)'"
            )


def read_frame_of_day(luma: bytes, pattern: str, height: int) -> int | None:
    """The frame number burnt into a picture (its luma plane), or None when it cannot be read."""
    width, height = size_for(height)
    digits = digits_of(pattern, height)
    numbers = []
    for place in range(8):
        shape = "".join(name for name, box in digits.segments(place) if _lit(luma, width, box, name, digits))
        if shape not in _DIGITS:
            return None
        numbers.append(_DIGITS.index(shape))
    h, m, s, f = (numbers[i] * 10 + numbers[i + 1] for i in range(0, 8, 2))
    return ((h * 60 + m) * 60 + s) * RATE + f


def _lit(luma: bytes, width: int, box: _Box, name: str, digits: Digits) -> bool:
    # Corners belong to two segments: look at the middle of the bar.
    x, y = box.x + box.w // 2, box.y + box.h // 2
    if name in "bcef":
        y = box.y + (box.h + (digits.thick if name in "bf" else -digits.thick)) // 2
    return luma[y * width + x] > 128
