"""What can be wrong with a recurrence, in sentences an operator can act on.

Only words live here: whether an expression is wrong is decided in `recurrence.py`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from core.errors import AirlockError

EXAMPLE = 'For example, "30 19 * * mon-fri" is every weekday at 19:30.'
PART_ORDER = "minute, hour, day of month, month, weekday"
ALIASES = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")


class RecurrenceError(AirlockError):
    """A recurrence cannot be used as it is written."""


class WrongCronExpression(RecurrenceError):
    """The cron expression cannot be read, or means something that Airlock does not do."""


class NeverHappens(RecurrenceError):
    """The expression names days that no year has."""


class UnknownTimeZone(RecurrenceError):
    """The time zone is not in the IANA list."""


class WrongDays(RecurrenceError):
    """The days or the time of a series contradict themselves."""


class Part(NamedTuple):
    name: str
    lowest: int
    highest: int
    names: tuple[str, ...]
    allowed: str


MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAY_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
PARTS = (
    Part("minute", 0, 59, (), "0 to 59, * for every minute, a list (0,30), a range (10-20) or a step (*/15)"),
    Part("hour", 0, 23, (), "0 to 23, * for every hour, a list (6,18), a range (8-17) or a step (*/2)"),
    Part(
        "day of month",
        1,
        31,
        (),
        "1 to 31, * for every day, a list (1,15), a range (1-7), L for the last day or, alone, "
        "15W for the weekday nearest the 15th",
    ),
    Part(
        "month",
        1,
        12,
        MONTH_NAMES,
        "1 to 12 or jan to dec, * for every month, a list (jan,jul) or a range (jun-aug)",
    ),
    Part(
        "weekday",
        0,
        6,
        WEEKDAY_NAMES,
        "sun to sat or 0 to 7 (0 and 7 are Sunday), * for every day, a list (mon,thu), "
        "a range (mon-fri), mon#1 for the first Monday or L5 for the last Friday",
    ),
)


def split_parts(expression: str) -> list[str]:
    """The five parts, or a refusal of what is no five-part expression. Aliases have one part."""
    text = expression.strip().lower()
    if not text:
        raise WrongCronExpression(f"The cron expression is empty. {EXAMPLE}")
    if len(text) > 1000:
        raise WrongCronExpression(f"The cron expression is longer than 1000 characters. {EXAMPLE}")
    if text == "@reboot":
        raise WrongCronExpression('"@reboot" names no time of day, so it cannot be scheduled. ' + EXAMPLE)
    if text.startswith("@"):
        if text not in ALIASES:
            raise WrongCronExpression(
                f'"{expression}" is not known. Use one of {", ".join(ALIASES)}. {EXAMPLE}'
            )
        return [text]
    parts = text.split()
    if len(parts) == 5:
        return parts
    extra = {
        6: ": leave out the seconds, a recurrence counts in whole minutes",
        7: ": leave out the seconds and the year, and set a first and last day instead",
    }.get(len(parts), "")
    plural = "" if len(parts) == 1 else "s"
    raise WrongCronExpression(
        f'The cron expression "{expression}" has {len(parts)} part{plural}, and five are needed '
        f"({PART_ORDER}){extra}. {EXAMPLE}"
    )


def refuse_surprises(parts: Sequence[str]) -> None:
    """Refuse what can be read but would not do what it seems to say."""
    for part, text in zip(PARTS, parts, strict=False):
        if re.match(r"[hr]($|[(/])", text):
            raise WrongCronExpression(
                f'The {part.name} part "{text}" asks for a value chosen at random, which would differ '
                f"from station to station. Write the {part.name} itself: {part.allowed}. {EXAMPLE}"
            )
        for item in text.split(","):
            # Readers of cron disagree about these: one value to some, all of them to others.
            if _starts_and_ends_alike(part, item):
                raise WrongCronExpression(
                    f'In the {part.name} part, "{item}" starts and ends at the same value. '
                    f"Write that value alone, or * for all. {EXAMPLE}"
                )


def _starts_and_ends_alike(part: Part, item: str) -> bool:
    values, slash, _ = item.partition("/")
    start, dash, end = values.partition("-")
    end = end.partition("#")[0]
    if not dash:
        return bool(slash) and _number(part, start) == part.highest
    first, last = _number(part, start), _number(part, end)
    if part.name == "weekday" and first == 7:
        first = 0
    return start == end or (first is not None and first == last)


def _number(part: Part, text: str) -> int | None:
    if text.isdecimal():
        return int(text)
    return part.names.index(text) + part.lowest if text in part.names else None


def wrong_part(expression: str, index: int, item: str) -> WrongCronExpression:
    part = PARTS[index]
    what = f'has "{item}", which cannot be used' if item else "has nothing between two commas"
    return WrongCronExpression(
        f'The {part.name} part of the cron expression "{expression}" {what}. Use {part.allowed}. {EXAMPLE}'
    )


def unreadable(expression: str) -> WrongCronExpression:
    return WrongCronExpression(f'The cron expression "{expression}" cannot be read. {EXAMPLE}')


def mixed_weekdays(text: str) -> WrongCronExpression:
    return WrongCronExpression(
        f'The weekday part "{text}" mixes plain weekdays with numbered ones such as mon#1 or L5. '
        "Make two recurrences, one for each kind."
    )


def mixed_day_kinds(day: str, weekday: str) -> WrongCronExpression:
    return WrongCronExpression(
        f'The day of month "{day}" cannot be combined with the weekday "{weekday}" when one of them uses '
        "#, L or W. Write * for one of the two, or make two recurrences."
    )


def never_happens(day: str, month: str) -> NeverHappens:
    return NeverHappens(
        f'Day "{day}" never comes in month "{month}", so this would never run. Choose a day that the month '
        "has, or L for its last day."
    )


def unknown_time_zone(name: str, known: Collection[str]) -> UnknownTimeZone:
    near = _near_zones(name, known)
    if near:
        advice = f"Did you mean {' or '.join(near)}?"
    else:
        advice = "Use an IANA name such as Europe/Prague, America/New_York or UTC."
    return UnknownTimeZone(f'The time zone "{name}" is not known. {advice}')


def _near_zones(name: str, known: Collection[str]) -> list[str]:
    wanted = re.sub(r"\s+", "_", name.strip().lower())
    if not wanted or len(wanted) > 100:
        return []
    whole = {zone.lower(): zone for zone in sorted(known)}
    if wanted in whole:
        return [whole[wanted]]
    cities: dict[str, str] = {}
    for zone in sorted(known):
        area, _, city = zone.rpartition("/")
        if area and area != "Etc":
            cities.setdefault(city.lower(), zone)
    found: list[str] = []
    # Abbreviations look alike and mean different things: EST is no help to who meant CEST.
    if len(wanted) > 5:
        found += [whole[zone] for zone in difflib.get_close_matches(wanted, whole, 3, 0.8)]
    found += [cities[city] for city in difflib.get_close_matches(wanted.rpartition("/")[2], cities, 2, 0.8)]
    return list(dict.fromkeys(found))[:3]
