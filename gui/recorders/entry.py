"""Reads what an operator types for a day, a time and a length, and says what is wrong with it in a sentence."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from core.errors import AirlockError

_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})|(\d{1,2})\.\s*(\d{1,2})\.\s*(\d{4})?")
_TIME = re.compile(r"(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?|(\d{2})(\d{2})(\d{2})?")
_CLOCK = re.compile(r"(\d{1,3}):(\d{2})(?::(\d{2}))?")
_UNITS = re.compile(r"(?:(\d{1,3})\s*h\s*)?(?:(\d{1,4})\s*m(?:in)?\s*)?(?:(\d{1,5})\s*s)?", re.IGNORECASE)
_MINUTES = re.compile(r"(?:(\d{1,3})\s*h\s*)?(\d{1,4})()", re.IGNORECASE)


class WrongEntry(AirlockError):
    """What was typed cannot be read, or is no time that exists."""


def read_day(words: str, today: date) -> date:
    words = words.strip().lower()
    if words in ("today", "tomorrow"):
        return today + timedelta(days=words == "tomorrow")
    found = _DAY.fullmatch(words)
    if found is None:
        raise WrongEntry(f"Write the day as {today}, or today, or tomorrow.")
    year, month, day, day_2, month_2, year_2 = (int(g) if g else None for g in found.groups())
    try:
        return date(year or year_2 or today.year, month or month_2 or 0, day or day_2 or 0)
    except ValueError:
        raise WrongEntry(f"There is no day {words}.") from None


def read_time(words: str) -> time:
    found = _TIME.fullmatch(words.strip())
    if found is None:
        raise WrongEntry("Write the time as 19:40 or 19:40:30.")
    a, b, c, d, e, f = (int(g) if g else 0 for g in found.groups())
    try:
        return time(a, b, c) if found.group(1) else time(d, e, f)
    except ValueError:
        raise WrongEntry(f"There is no time {words.strip()}.") from None


def read_length(words: str) -> timedelta:
    """00:45:00, 0:45, 45 (minutes), 45 min, 1 h 30, 90 s."""
    words = words.strip()
    found = next((m for form in (_CLOCK, _UNITS, _MINUTES) if (m := form.fullmatch(words))), None)
    if not words or found is None:
        raise WrongEntry("Write the length as 00:45:00, 45 min or 1 h 30.")
    hours, minutes, seconds = (int(g) if g else 0 for g in found.groups())
    length = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if not length:
        raise WrongEntry("A window lasts at least a second.")
    return length


def instant(day: date, at: time, zone: tzinfo) -> datetime:
    """The instant of a wall-clock time; of one that comes twice, the first."""
    wall = datetime.combine(day, at, zone)
    made = wall.astimezone(UTC)
    if made.astimezone(zone).replace(tzinfo=None) != wall.replace(tzinfo=None):
        raise WrongEntry(f"{at:%H:%M} does not exist on {day}: the clocks go forward over it.")
    return made


def write_length(length: timedelta) -> str:
    seconds = int(length.total_seconds())
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def next_full(now: datetime, minutes: int = 5) -> datetime:
    """The next full five minutes, as a person would plan."""
    step = minutes * 60
    return datetime.fromtimestamp((int(now.timestamp()) // step + 1) * step, UTC)
