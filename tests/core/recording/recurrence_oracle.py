"""A second answer to "when is this due", got by brute force, to hold the first one against.

It shares nothing with the code under test: it knows neither croniter nor folds, offsets or gaps as rules.
It looks at a zone's wall clock in every single minute of UTC around a clock change, writes down what it
saw, and reads the answer off that list. Time is counted in minutes: UTC since 1970, walls since year 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

FIRST_YEAR, END_YEAR = 2020, 2036
HOURS = 60
DAYS = 24 * HOURS


@dataclass(frozen=True)
class Change:
    """The first minute with another offset, and the walls that the clock jumps from and to."""

    minute: int
    wall_from: int
    wall_to: int

    @property
    def skipped_or_repeated(self) -> tuple[int, int]:
        return min(self.wall_from, self.wall_to), max(self.wall_from, self.wall_to)


@dataclass
class Neighbourhood:
    """Every minute of UTC after `start` and up to `end`, as seen on the wall."""

    start: int
    end: int
    seen: dict[int, int] = field(default_factory=dict)
    seen_again: dict[int, int] = field(default_factory=dict)
    left_out: dict[int, int] = field(default_factory=dict)


def as_instant(minute: int) -> datetime:
    return datetime.fromtimestamp(minute * 60, UTC)


def as_minute(instant: datetime) -> int:
    return int(instant.timestamp()) // 60


def wall_at(zone: ZoneInfo, minute: int) -> int:
    local = datetime.fromtimestamp(minute * 60, zone)
    return local.toordinal() * DAYS + local.hour * HOURS + local.minute


def zones_by_changes() -> dict[tuple[int, tuple[Change, ...]], list[str]]:
    """Every zone there is; those whose clocks show the same in all these years are together."""
    together: dict[tuple[int, tuple[Change, ...]], list[str]] = {}
    first = as_minute(datetime(FIRST_YEAR, 1, 1, tzinfo=UTC))
    for name in sorted(available_timezones() - {"localtime"}):
        zone = ZoneInfo(name)
        together.setdefault((wall_at(zone, first), tuple(changes(zone))), []).append(name)
    return together


def changes(zone: ZoneInfo) -> Iterator[Change]:
    instant, end = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC), datetime(END_YEAR, 1, 1, tzinfo=UTC)
    step = timedelta(hours=12)
    offset = instant.astimezone(zone).utcoffset()
    while instant < end:
        later = instant + step
        if (new_offset := later.astimezone(zone).utcoffset()) != offset:
            yield _narrow_down(zone, as_minute(instant), as_minute(later))
            offset = new_offset
        instant = later


def _narrow_down(zone: ZoneInfo, before: int, after: int) -> Change:
    shift = wall_at(zone, before) - before
    while after - before > 1:
        middle = (before + after) // 2
        if wall_at(zone, middle) - middle == shift:
            before = middle
        else:
            after = middle
    return Change(after, wall_at(zone, before) + 1, wall_at(zone, after))


def look(zone: ZoneInfo, start: int, end: int) -> Neighbourhood:
    around = Neighbourhood(start, end)
    previous = wall_at(zone, start)
    for minute in range(start + 1, end + 1):
        wall = wall_at(zone, minute)
        for missing in range(previous + 1, wall):
            around.left_out[missing] = minute
        (around.seen_again if wall in around.seen else around.seen)[wall] = minute
        previous = wall
    return around


def due(expression: str, around: Neighbourhood) -> list[int]:
    """For expressions of numbers, *, lists, ranges and steps."""
    parts = expression.split()
    minutes, hours = _numbers(parts[0], 0, 59), _numbers(parts[1], 0, 23)
    walls = [
        ordinal * DAYS + hour * HOURS + minute
        for ordinal in range(min(around.seen) // DAYS, max(around.seen) // DAYS + 1)
        if _day_matches(parts, date.fromordinal(ordinal))
        for hour in hours
        for minute in minutes
    ]
    found = {around.seen[wall] for wall in walls if wall in around.seen}
    if len(hours) == 24:
        found.update(around.seen_again[wall] for wall in walls if wall in around.seen_again)
    else:
        found.update(around.left_out[wall] for wall in walls if wall in around.left_out)
    return sorted(found)


def _day_matches(parts: list[str], day: date) -> bool:
    if day.month not in _numbers(parts[3], 1, 12):
        return False
    by_day = day.day in _numbers(parts[2], 1, 31)
    by_weekday = day.isoweekday() % 7 in _numbers(parts[4], 0, 6)
    if parts[2] == "*" or parts[4] == "*":
        return by_day and by_weekday
    return by_day or by_weekday


def _numbers(part: str, lowest: int, highest: int) -> set[int]:
    return {number for item in part.split(",") for number in _item(item, lowest, highest)}


def _item(item: str, lowest: int, highest: int) -> Iterable[int]:
    values, _, step = item.partition("/")
    if values == "*":
        return range(lowest, highest + 1, int(step or 1))
    first, _, last = values.partition("-")
    return range(int(first), int(last or first) + 1, int(step or 1))
