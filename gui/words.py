"""How times, spans and sizes are written, everywhere the same."""

from __future__ import annotations

from datetime import datetime, timedelta


def clock(seconds: float) -> str:
    """A span as 00:00:00; days in front when there are any."""
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, seconds = divmod(rest, 60)
    text = f"{hours:02d}:{minutes:02d}:{int(seconds):02d}"
    return f"{days} d {text[:5]}" if days else text


def span(seconds: float) -> str:
    """A span in words as short as they can be: 45 s, 12 min, 3 h 05, 4 d."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86400:
        return f"{whole // 3600} h {whole // 60 % 60:02d}"
    return f"{whole // 86400} d {whole // 3600 % 24} h"


def time_of_day(instant: datetime, today: datetime) -> str:
    """The time, with the day of the week when it is another day. Both in the plant's zone."""
    if instant.date() == today.date():
        return f"{instant:%H:%M:%S}"
    return f"{instant:%a %H:%M}"


def long_date(instant: datetime) -> str:
    return f"{instant:%a} {instant.day} {instant:%b %Y %H:%M:%S}"


def zone_offset(instant: datetime) -> str:
    """UTC+2, UTC−3:30, UTC."""
    minutes = int((instant.utcoffset() or timedelta()).total_seconds() // 60)
    if not minutes:
        return "UTC"
    sign = "+" if minutes > 0 else "−"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{sign}{hours}" + (f":{rest:02d}" if rest else "")


def milliseconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f} ms" if abs(value) < 100 else f"{value:.0f} ms"


def signed_milliseconds(value: float | None) -> str:
    if value is None:
        return "–"
    size = abs(value)
    sign = "" if size < 0.5 else "+" if value > 0 else "−"
    return f"{sign}{size / 1000:.1f} s" if size >= 1000 else f"{sign}{size:.0f} ms"


def plural(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
