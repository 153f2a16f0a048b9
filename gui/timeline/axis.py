"""From instants to pixels and back, and the labels of the axis. No Qt here.

Instants are real seconds, never wall-clock differences: a day of 23 or 25 hours is drawn as long as it is,
and a repeated hour is labelled twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import lru_cache

HOUR = 3600.0
DAY = 86400.0
SPANS = {"1h": HOUR, "4h": 4 * HOUR, "12h": 12 * HOUR, "24h": DAY, "7d": 7 * DAY}
SHORTEST = 300.0
LONGEST = 14 * DAY
NOW_AT = 0.295  # where "now" stands in the width while the view follows it

# (fine, coarse, px that the fine one needs to be labelled)
STEPS: tuple[tuple[int, int], ...] = (
    (60, 900), (300, 900), (900, 3600), (1800, 3600), (3600, 4 * 3600), (3 * 3600, 12 * 3600), (6 * 3600, 86400),
    (12 * 3600, 86400), (86400, 7 * 86400),
)  # fmt: skip
FINE_PX = 52.0


@dataclass(frozen=True, slots=True)
class TimeAxis:
    begin: float  # the instant at the left edge, seconds since 1970
    span: float  # seconds
    left: float  # px
    width: float  # px

    @property
    def end(self) -> float:
        return self.begin + self.span

    @property
    def right(self) -> float:
        return self.left + self.width

    def x(self, instant: float) -> float:
        return self.left + (instant - self.begin) * self.width / self.span

    def instant(self, x: float) -> float:
        return self.begin + (x - self.left) * self.span / self.width

    def seconds(self, px: float) -> float:
        return px * self.span / self.width

    def zoomed(self, at_x: float, factor: float) -> TimeAxis:
        """Another span, the instant under `at_x` staying where it is."""
        span = min(max(self.span * factor, SHORTEST), LONGEST)
        share = (at_x - self.left) / self.width
        return replace(self, begin=self.instant(at_x) - share * span, span=span)

    def panned(self, px: float) -> TimeAxis:
        """Moved by so many pixels; positive shows what is earlier."""
        return replace(self, begin=self.begin - self.seconds(px))

    def following(self, now: float) -> TimeAxis:
        return replace(self, begin=now - NOW_AT * self.span)

    def revealing(self, start: float, end: float) -> TimeAxis:
        """Moved as little as needed so that a stretch can be seen, its start at least."""
        margin = min(self.span * 0.1, max(0.0, (self.span - (end - start)) / 2))
        if start < self.begin + margin or end - start > self.span:
            return replace(self, begin=start - margin)
        if end > self.end - margin:
            return replace(self, begin=end + margin - self.span)
        return self


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    label: str
    coarse: bool
    day: bool = False  # the first instant of a day


def steps_for(seconds_per_px: float) -> tuple[int, int]:
    """The finest pair of steps whose labels do not touch."""
    for fine, coarse in STEPS:
        if fine / seconds_per_px >= FINE_PX:
            return fine, coarse
    return STEPS[-1]


@lru_cache(maxsize=64)
def ticks(begin: int, end: int, fine: int, coarse: int, zone: tzinfo) -> tuple[Tick, ...]:
    """The marks of the axis from `begin` to `end`, at full wall-clock times of the zone."""
    base = min(fine, 900)  # no zone in use is off by less than a quarter of an hour
    found = []
    at = -(-begin // base) * base
    while at <= end:
        wall = datetime.fromtimestamp(at, zone)
        second = wall.hour * 3600 + wall.minute * 60 + wall.second
        if second % min(fine, 86400) == 0:
            day = second == 0
            big = day or (coarse < 86400 and second % coarse == 0)
            label = f"{wall:%a} {wall.day}" if day else f"{wall:%H:%M}"
            found.append(Tick(float(at), label, big, day))
        at += base
    return tuple(found)


def ticks_of(axis: TimeAxis, zone: tzinfo) -> tuple[Tick, ...]:
    """The marks in view and a little beyond. The stretch is rounded, so that scrolling finds it again."""
    fine, coarse = steps_for(axis.span / axis.width)
    unit = max(int(axis.span), fine)
    begin = int(axis.begin // unit) * unit
    return ticks(begin, begin + 3 * unit, fine, coarse, zone)


def day_bounds(instant: float, zone: tzinfo) -> tuple[float, float]:
    """The first instant of the plant's day that holds `instant`, and that of the next."""
    wall = datetime.fromtimestamp(instant, zone).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    begin = wall.timestamp()
    noon = datetime.fromtimestamp(begin + 36 * HOUR, zone)  # the day after, whatever the clocks do
    return begin, noon.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).timestamp()
