"""A cron expression as sets of numbers, and the calendar days it names.

Wall clock only: nothing here knows of time zones. What the letters of an expression mean is decided
where it is read (`recurrence.py`); here they are already numbers. Weekdays count from Sunday = 0.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property, lru_cache

ALL_MONTHS = frozenset(range(1, 13))
ALL_WEEKDAYS = frozenset(range(7))
LAST = 0
"""Stands for "the last one" among the numbers of a numbered weekday: first Friday 1, last Friday LAST."""

_ONE_DAY = timedelta(days=1)
_LONGEST_MONTH = {month: calendar.monthrange(2024, month)[1] for month in ALL_MONTHS}


@dataclass(frozen=True, eq=False)
class CronFields:
    """None means unrestricted. Compared by identity, so that its months can be cached cheaply."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: frozenset[int]
    days: frozenset[int] | None
    last_day_of_month: bool
    nearest_weekday_to: int | None
    weekdays: frozenset[int] | None
    numbered_weekdays: Mapping[int, frozenset[int]]

    @property
    def every_hour(self) -> bool:
        return len(self.hours) == 24

    @property
    def every_day(self) -> bool:
        return not (self._restricts_days or self._restricts_weekdays) and self.months == ALL_MONTHS

    @property
    def can_happen(self) -> bool:
        """False for days that no year has, such as 30 February."""
        if self.days is None or self._restricts_weekdays:
            return True
        if self.last_day_of_month or self.nearest_weekday_to is not None:
            return True
        return any(day <= _LONGEST_MONTH[month] for month in self.months for day in self.days)

    @cached_property
    def times(self) -> tuple[timedelta, ...]:
        """Times of day, as time since midnight, in order."""
        return tuple(timedelta(hours=h, minutes=m) for h in self.hours for m in self.minutes)

    def dates(self, first: date, last: date) -> Iterator[date]:
        """The days from first to last, both included, in order."""
        day = first
        if self.every_day:
            while day <= last:
                yield day
                day += _ONE_DAY
            return
        year, month = first.year, first.month
        while (year, month) <= (last.year, last.month):
            if month in self.months:
                for day in _days_in(self, year, month):
                    if day > last:
                        return
                    if day >= first:
                        yield day
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)

    @property
    def _restricts_days(self) -> bool:
        return self.days is not None

    @property
    def _restricts_weekdays(self) -> bool:
        return self.weekdays is not None or bool(self.numbered_weekdays)

    def _has(self, day: date, length: int) -> bool:
        # Cron's oldest rule: when both kinds of day are restricted, either of them is enough.
        by_day = self._restricts_days and self._day_matches(day, length)
        by_weekday = self._restricts_weekdays and self._weekday_matches(day, length)
        return by_day or by_weekday or not (self._restricts_days or self._restricts_weekdays)

    def _day_matches(self, day: date, length: int) -> bool:
        if self.nearest_weekday_to is not None:
            return day == _nearest_weekday(day.year, day.month, min(self.nearest_weekday_to, length))
        if self.last_day_of_month and day.day == length:
            return True
        return self.days is not None and day.day in self.days

    def _weekday_matches(self, day: date, length: int) -> bool:
        weekday = day.isoweekday() % 7
        if not self.numbered_weekdays:
            return self.weekdays is not None and weekday in self.weekdays
        numbers = self.numbered_weekdays.get(weekday, frozenset())
        return (day.day + 6) // 7 in numbers or (LAST in numbers and day.day + 7 > length)


@lru_cache(maxsize=4096)
def _days_in(fields: CronFields, year: int, month: int) -> tuple[date, ...]:
    length = calendar.monthrange(year, month)[1]
    days = (date(year, month, number) for number in range(1, length + 1))
    return tuple(day for day in days if fields._has(day, length))


def _nearest_weekday(year: int, month: int, number: int) -> date:
    """Monday to Friday nearest to that day, never leaving its month."""
    day = date(year, month, number)
    if day.weekday() < 5:
        return day
    friday = day - timedelta(days=day.weekday() - 4)
    monday = day + timedelta(days=7 - day.weekday())
    near, far = (friday, monday) if day.weekday() == 5 else (monday, friday)
    return near if near.month == month else far
