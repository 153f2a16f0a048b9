"""When a series or a recurring job is due: wall-clock recurrence. The only importer of croniter.

croniter is the authority on what a cron expression says. When that is due in UTC is decided here:

- A recurrence at fixed hours keeps its wall-clock time. A time that a clock change leaves out is due at
  the first instant after the gap (several such times become one); a time that comes twice is due once,
  the first time.
- A recurrence in every hour (hour part `*`, or anything that covers all 24) is a pace, not a time of day.
  It is due at every instant whose wall clock matches: in both passes of a repeated hour, so that a job
  every 10 minutes is never silent for an hour, and never moved out of a gap.
- First day, last day and skipped dates are days of the recurrence's own zone, as planned: a time moved
  past midnight by a gap still belongs to the day it was planned for.

Must stay true: every answer is later than what was asked after, in UTC; one recurrence's instants only
increase; nothing here reads a clock.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

from croniter import croniter
from croniter.croniter import CroniterError

from core.recording import recurrence_words as words
from core.recording.cron_fields import ALL_MONTHS, LAST, CronFields
from core.recording.recurrence_errors import (
    WEEKDAY_NAMES,
    WrongCronExpression,
    WrongDays,
    mixed_day_kinds,
    mixed_weekdays,
    never_happens,
    refuse_surprises,
    split_parts,
    unknown_time_zone,
    unreadable,
    wrong_part,
)

_DAY = timedelta(days=1)
_INSTANT = timedelta(microseconds=1)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min)


# Room for any offset at both ends of what datetime can hold. Without a zone, like all times that
# stay inside this file: they are either UTC (after, until, instant) or a wall clock (wall).
_EARLIEST = _midnight(date(2, 1, 1))
_LATEST = _midnight(date(9998, 12, 31))


@dataclass(frozen=True)
class Recurrence:
    """Checked when made: a Recurrence that exists can be planned. Refusals are RecurrenceError."""

    cron: str
    timezone: str
    first_day: date | None = None
    last_day: date | None = None
    skips: frozenset[date] = frozenset()

    def __post_init__(self) -> None:
        _read(self.cron)
        _zone(self.timezone)
        if self.first_day is not None and self.last_day is not None and self.last_day < self.first_day:
            raise WrongDays(
                f"The last day ({self.last_day}) is before the first day ({self.first_day}): swap them or "
                "leave one empty."
            )


def daily(at: time, timezone: str) -> Recurrence:
    return Recurrence(f"{_minute_and_hour(at)} * * *", timezone)


def weekly(weekdays: Collection[int], at: time, timezone: str) -> Recurrence:
    """Weekdays as `date.weekday()` counts them: Monday is 0."""
    if not weekdays or not all(0 <= day <= 6 for day in weekdays):
        raise WrongDays("A weekly series needs at least one day of the week, from Monday to Sunday.")
    names = ",".join(WEEKDAY_NAMES[(day + 1) % 7] for day in sorted(set(weekdays)))
    return Recurrence(f"{_minute_and_hour(at)} * * {names}", timezone)


def next_after(recurrence: Recurrence, after: datetime) -> datetime | None:
    """The first instant later than `after`, in UTC; None when there is none any more."""
    return next(_instants(recurrence, _naive_utc(after), _LATEST), None)


def between(recurrence: Recurrence, start: datetime, end: datetime, limit: int) -> list[datetime]:
    """The first `limit` instants later than `start` and not later than `end`, in UTC.

    Start is excluded and end included, so that consecutive spans neither lose nor repeat an instant.
    """
    return list(islice(_instants(recurrence, _naive_utc(start), _naive_utc(end)), limit))


def describe(recurrence: Recurrence) -> str:
    """One line for an operator: "Every weekday at 19:00, Europe/Prague, until 30 June 2026"."""
    what = words.when(_read(recurrence.cron)) or f'By the cron expression "{recurrence.cron.strip()}"'
    limits = words.limits(recurrence.first_day, recurrence.last_day, recurrence.skips)
    return f"{what}, {recurrence.timezone}{limits}"


def _instants(recurrence: Recurrence, after: datetime, until: datetime) -> Iterator[datetime]:
    # Two days cover any offset: what the first and last day cannot reach need not be searched.
    after, until = max(after, _EARLIEST), min(until, _LATEST)
    if recurrence.first_day is not None and recurrence.first_day > after.date():
        after = max(after, _midnight(recurrence.first_day) - 2 * _DAY)
    if recurrence.last_day is not None and recurrence.last_day < until.date():
        until = min(until, _midnight(recurrence.last_day) + 2 * _DAY)
    if after >= until:
        return iter(())
    fields, zone = _read(recurrence.cron), _zone(recurrence.timezone)
    due = _at_every_match if fields.every_hour else _at_wall_times
    return due(recurrence, fields, zone, after, until)


def _at_wall_times(
    recurrence: Recurrence, fields: CronFields, zone: ZoneInfo, after: datetime, until: datetime
) -> Iterator[datetime]:
    latest = after
    for wall in _walls(recurrence, fields, after + _offset(zone, after), until + _DAY):
        instant = _first_instant(wall, zone)
        if instant > until:
            return
        # Times in a gap share an instant, and in the second pass of a fold the first one has gone by.
        if instant > latest:
            yield instant.replace(tzinfo=UTC)
            latest = instant


def _at_every_match(
    recurrence: Recurrence, fields: CronFields, zone: ZoneInfo, after: datetime, until: datetime
) -> Iterator[datetime]:
    for year in range(after.year, until.year + 1):
        for begin, end, offset in _stretches(zone, year):
            if begin > until:
                return
            if end > after:
                latest = max(after, begin - _INSTANT) + offset
                for wall in _walls(recurrence, fields, latest, min(until, end - _INSTANT) + offset):
                    yield (wall - offset).replace(tzinfo=UTC)


def _walls(
    recurrence: Recurrence, fields: CronFields, after: datetime, until: datetime
) -> Iterator[datetime]:
    """Matching wall-clock times, later than `after` and not later than `until`, on days that are planned."""
    first, last, times = after.date(), until.date(), fields.times
    if recurrence.first_day is not None:
        first = max(first, recurrence.first_day)
    if recurrence.last_day is not None:
        last = min(last, recurrence.last_day)
    for day in fields.dates(first, last):
        if day in recurrence.skips:
            continue
        midnight = _midnight(day)
        begin = bisect_right(times, after - midnight) if midnight <= after else 0
        for index in range(begin, len(times)):
            wall = midnight + times[index]
            if wall > until:
                return
            yield wall


def _first_instant(wall: datetime, zone: ZoneInfo) -> datetime:
    aware = wall.replace(tzinfo=zone)
    offset = aware.utcoffset() or timedelta()
    offset_after = aware.replace(fold=1).utcoffset() or timedelta()
    if offset_after > offset:
        return _change(zone, wall - offset_after, wall - offset)
    return wall - offset


@lru_cache(maxsize=1024)
def _stretches(zone: ZoneInfo, year: int) -> tuple[tuple[datetime, datetime, timedelta], ...]:
    """A UTC year cut where the zone's offset changes: begin, end, offset."""
    begin, end = _midnight(date(year, 1, 1)), _midnight(date(year + 1, 1, 1))
    stretches, day, offset = [], begin, _offset(zone, begin)
    while day < end:
        day += _DAY
        if _offset(zone, day) != offset:
            change = _change(zone, day - _DAY, day)
            if change < end:
                stretches.append((begin, change, offset))
                begin, offset = change, _offset(zone, change)
    stretches.append((begin, end, offset))
    return tuple(stretches)


@lru_cache(maxsize=4096)
def _change(zone: ZoneInfo, low: datetime, high: datetime) -> datetime:
    """The instant of the one change of offset that lies after `low` and not after `high`."""
    offset = _offset(zone, low)
    seconds = int((high - low).total_seconds())
    unchanged, changed = 0, seconds
    while changed - unchanged > 1:
        middle = (unchanged + changed) // 2
        if _offset(zone, low + timedelta(seconds=middle)) == offset:
            unchanged = middle
        else:
            changed = middle
    return low + timedelta(seconds=changed)


def _offset(zone: ZoneInfo, instant: datetime) -> timedelta:
    return zone.fromutc(instant.replace(tzinfo=zone)).utcoffset() or timedelta()


def _naive_utc(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError("a recurrence is asked in aware datetimes")
    return instant.astimezone(UTC).replace(tzinfo=None)


def _minute_and_hour(at: time) -> str:
    if at.second or at.microsecond:
        raise WrongDays(f"A series starts on a whole minute: {at} has seconds. Choose {at:%H:%M}.")
    return f"{at.minute} {at.hour}"


@lru_cache(maxsize=1)
def _zone_names() -> frozenset[str]:
    # What a machine calls local differs from station to station.
    return frozenset(available_timezones() - {"localtime", "posixrules"})


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    # Asked by name first: ZoneInfo would open any file that the name leads to.
    if name not in _zone_names():
        raise unknown_time_zone(name, _zone_names())
    return ZoneInfo(name)


@lru_cache(maxsize=4096)
def _read(expression: str) -> CronFields:
    parts = split_parts(expression)
    refuse_surprises(parts)
    cron = _ask_croniter(expression, parts)
    minutes, hours, days, months, weekdays = cron.expanded
    numbered = {
        weekday: frozenset(LAST if number == "l" else number for number in numbers)
        for weekday, numbers in cron.nth_weekday_of_month.items()
    }
    nearest = next(iter(cron.nearest_weekday), None)
    # croniter accepts these two and then forgets one of the two kinds of day.
    if numbered and ("*" in weekdays or set(weekdays) != set(numbered)) and len(numbered) < 7:
        raise mixed_weekdays(parts[4])
    if (numbered and "*" not in days) or (nearest is not None and "*" not in weekdays):
        raise mixed_day_kinds(parts[2], parts[4])
    fields = CronFields(
        minutes=tuple(range(60)) if "*" in minutes else tuple(minutes),
        hours=tuple(range(24)) if "*" in hours else tuple(hours),
        months=ALL_MONTHS if "*" in months else frozenset(months),
        days=None if "*" in days else frozenset(day for day in days if day != "l"),
        last_day_of_month="l" in days and "*" not in days,
        nearest_weekday_to=nearest,
        weekdays=None if "*" in weekdays or numbered else frozenset(weekdays),
        numbered_weekdays=numbered,
    )
    if not fields.can_happen:
        raise never_happens(parts[2], parts[3])
    return fields


def _ask_croniter(expression: str, parts: list[str]) -> croniter:
    try:
        # The start is given only because croniter would otherwise read the clock.
        return croniter(" ".join(parts), start_time=0.0)
    except CroniterError as error:
        raise _what_is_wrong(expression, parts) from error


def _what_is_wrong(expression: str, parts: list[str]) -> WrongCronExpression:
    for index, part in enumerate(parts):
        if not _reads_alone(index, part):
            wrong = [item for item in part.split(",") if not _reads_alone(index, item)]
            if not wrong and index == 4:
                return mixed_weekdays(part)
            return wrong_part(expression, index, wrong[0] if wrong else part)
    return unreadable(expression)


def _reads_alone(index: int, part: str) -> bool:
    parts = ["*"] * 5
    parts[index] = part
    return bool(part) and bool(croniter.is_valid(" ".join(parts)))
