"""A cron expression in plain words, where plain words exist for it.

The words must never say less or more than the expression does: what has no short true sentence gets
None, and the caller falls back to the expression itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

from core.recording.cron_fields import ALL_MONTHS, LAST, CronFields

_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONDAY_FIRST = (1, 2, 3, 4, 5, 6, 0)
_NUMBERED = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", LAST: "last"}
_WORKDAYS = frozenset({1, 2, 3, 4, 5})
_MOST_LISTED = 4


def when(fields: CronFields) -> str | None:
    """ "Mondays and Thursdays at 06:30", "Every 10 minutes on Saturdays" """
    days = _days(fields)
    if days is None:
        return None
    if fields.every_hour:
        pace = _pace(fields.minutes)
        if pace is None or fields.every_day:
            return pace
        return f"{pace}, {_lower(days) if days.startswith(('On ', 'Every ')) else 'on ' + days}"
    times = [f"{hour:02}:{minute:02}" for hour in fields.hours for minute in fields.minutes]
    if len(times) <= _MOST_LISTED:
        return f"{days} at {_listed(times)}"
    if len(fields.minutes) == 1:
        return _run_of_hours(days, fields.hours, fields.minutes[0])
    return None


def limits(first_day: date | None, last_day: date | None, skips: Collection[date]) -> str:
    """What narrows a recurrence, beginning with a comma, or nothing."""
    text = ""
    if first_day is not None:
        text += f", from {_date(first_day)}"
    if last_day is not None:
        text += f"{' ' if text else ', '}until {_date(last_day)}"
    if skips:
        dates = sorted(skips)
        if len(dates) <= _MOST_LISTED:
            text += f", except {_listed([_date(day) for day in dates])}"
        else:
            text += f", except {len(dates)} dates between {_date(dates[0])} and {_date(dates[-1])}"
    return text


def _days(fields: CronFields) -> str | None:
    restricts_weekdays = fields.weekdays is not None or bool(fields.numbered_weekdays)
    if fields.days is not None and restricts_weekdays:
        return None
    if fields.numbered_weekdays:
        return _numbered_weekdays(fields)
    if fields.weekdays is not None:
        return _plain_weekdays(fields.weekdays) + _in_months(fields.months)
    if fields.days is not None:
        return _days_of_month(fields)
    return "Every day" + _in_months(fields.months)


def _plain_weekdays(weekdays: frozenset[int]) -> str:
    if len(weekdays) == 7:
        return "Every day"
    if weekdays == _WORKDAYS:
        return "Every weekday"
    return _listed([_WEEKDAYS[number] + "s" for number in _MONDAY_FIRST if number in weekdays])


def _numbered_weekdays(fields: CronFields) -> str | None:
    names = []
    for weekday in _MONDAY_FIRST:
        numbers = sorted(fields.numbered_weekdays.get(weekday, ()), key=lambda number: number or 6)
        names += [f"{_NUMBERED[number]} {_WEEKDAYS[weekday]}" for number in numbers]
    not_always = any(5 in numbers for numbers in fields.numbered_weekdays.values())
    return _on_the(names, fields.months, not_always)


def _days_of_month(fields: CronFields) -> str | None:
    if fields.nearest_weekday_to is not None:
        number = fields.nearest_weekday_to
        return _on_the([f"weekday nearest the {_ordinal(number)}"], fields.months, number > 28)
    numbers = sorted(fields.days or ())
    if len(fields.months) == 1 and not fields.last_day_of_month and len(numbers) <= _MOST_LISTED:
        return f"Every {_listed([str(number) for number in numbers])} {_month_names(fields.months)}"
    names = [_ordinal(number) for number in numbers] + ["last day"] * fields.last_day_of_month
    return _on_the(names, fields.months, any(number > 28 for number in numbers))


def _on_the(names: Sequence[str], months: frozenset[int], not_always: bool) -> str | None:
    """not_always: some month may lack that day, and the words must not promise it."""
    if len(names) > _MOST_LISTED:
        return None
    if not not_always:
        return f"On the {_listed(names)} of {_of_months(months)}"
    if len(names) == 1 and months == ALL_MONTHS:
        return f"On the {names[0]} of every month that has one"
    return None


def _pace(minutes: Sequence[int]) -> str | None:
    if len(minutes) == 60:
        return "Every minute"
    if minutes == (0,):
        return "Every hour on the hour"
    step = 60 // len(minutes)
    if len(minutes) > 1 and 60 % len(minutes) == 0 and list(minutes) == list(range(0, 60, step)):
        return f"Every {step} minutes"
    if len(minutes) <= _MOST_LISTED:
        return f"Every hour at {_listed([f'{minute:02}' for minute in minutes])} past"
    return None


def _run_of_hours(days: str, hours: Sequence[int], minute: int) -> str | None:
    step = hours[1] - hours[0]
    if list(hours) != list(range(hours[0], hours[-1] + 1, step)):
        return None
    pace = "every hour" if step == 1 else f"every {step} hours"
    return f"{days}, {pace} from {hours[0]:02}:{minute:02} to {hours[-1]:02}:{minute:02}"


def _in_months(months: frozenset[int]) -> str:
    return "" if months == ALL_MONTHS else f" in {_month_names(months)}"


def _of_months(months: frozenset[int]) -> str:
    return "every month" if months == ALL_MONTHS else _month_names(months)


def _month_names(months: frozenset[int]) -> str:
    return _listed([_MONTHS[month - 1] for month in sorted(months)])


def _ordinal(number: int) -> str:
    ending = "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _date(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
