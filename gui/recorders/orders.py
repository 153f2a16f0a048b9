"""What the form asks the core for: which command, with what. Pure, so that it can be tested without a window."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from core.commands import Command
from core.recording.commands import create_window, edit_window
from core.recording.model import Series, Window
from core.recording.recurrence import Recurrence, between, daily, weekly
from core.recording.recurrence_errors import RecurrenceError
from core.recording.series import kind
from core.recording.series_commands import SeriesForm, create_series, edit_series, repeat_window
from gui.recorders.entry import WrongEntry

ONCE, DAILY, WEEKLY, CRON = "once", "daily", "weekly", "cron"
THIS, FOLLOWING, ALL = "this", "following", "all"


@dataclass(frozen=True)
class Entered:
    """The form as it was filled in."""

    name: str
    recorder_id: int
    start: datetime
    length: timedelta
    source: str
    repeats: str = ONCE
    weekdays: tuple[int, ...] = ()
    scope: str = THIS


@dataclass(frozen=True)
class Order:
    command: Command[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any]


def recurrence(entered: Entered, zone: str) -> Recurrence:
    """RecurrenceError when it cannot be, for example in a zone that this machine does not know."""
    daily(time(), zone)
    at = entered.start.astimezone(ZoneInfo(zone)).time().replace(second=0, microsecond=0)
    return daily(at, zone) if entered.repeats == DAILY else weekly(entered.weekdays, at, zone)


def weekdays_of(series: Series) -> list[int]:
    """The days of the week on which a series occurs, read off a week of it."""
    begin = datetime(2026, 1, 5, tzinfo=UTC)
    try:
        made = Recurrence(series.cron, series.timezone)
    except RecurrenceError:
        return []  # its own message says what is wrong with it
    instants, zone = between(made, begin, begin + timedelta(days=9), 5000), ZoneInfo(series.timezone)
    return sorted({i.astimezone(zone).weekday() for i in instants})


def repeats_of(series: Series | None) -> str:
    return ONCE if series is None else kind(series.cron)


def create(entered: Entered, zone: str) -> Order:
    if entered.repeats == ONCE:
        end = entered.start + entered.length
        return Order(
            create_window,
            (entered.name, entered.recorder_id, entered.start, end, entered.source or None),
            {},
        )
    return Order(create_series, (_series_form(entered, zone),), {})


def _series_form(entered: Entered, zone: str) -> SeriesForm:
    made = recurrence(entered, zone)
    first = entered.start.astimezone(ZoneInfo(zone)).date()
    return SeriesForm(
        entered.name,
        entered.recorder_id,
        made.cron,
        zone,
        entered.length,
        first,
        source=entered.source or None,
        shift=_shift(entered.start),
    )


def _shift(start: datetime) -> timedelta:
    return timedelta(seconds=start.second, microseconds=start.microsecond)


def edit(entered: Entered, window: Window, series: Series | None, zone: str) -> Order:
    if series is None and entered.repeats != ONCE:
        return Order(repeat_window, (window.id, window.row_version, _series_form(entered, zone)), {})
    if series is None or entered.scope == THIS:
        changes: dict[str, Any] = {
            "name": entered.name,
            "end_at": entered.start + entered.length,
            "source": entered.source,
        }
        if window.status == "pending":
            changes |= {"recorder_id": entered.recorder_id, "start_at": entered.start}
        return Order(edit_window, (window.id, window.row_version), changes)
    form = replace(
        SeriesForm.of(series),
        name=entered.name,
        recorder_id=entered.recorder_id,
        cron=_new_cron(entered, window, series),
        duration=entered.length,
        source=entered.source or None,
        shift=_shift(entered.start),
    )
    from_window = window.id if entered.scope == FOLLOWING else None
    return Order(edit_series, (series.id, series.row_version, form), {"from_window": from_window})


def _new_cron(entered: Entered, window: Window, series: Series) -> str:
    zone = ZoneInfo(series.timezone)
    start, was = entered.start.astimezone(zone), window.start_at.astimezone(zone)
    if entered.repeats == repeats_of(series) and start == was and _same_days(entered.weekdays, series):
        return series.cron
    if entered.repeats == CRON:
        raise WrongEntry(
            f"This series follows the expression “{series.cron}”: only “This one” can move to another time."
        )
    if start.date() != was.date():
        raise WrongEntry("Another day is for “This one” only; for the others choose the days of the week.")
    return recurrence(entered, series.timezone).cron


def _same_days(weekdays: Collection[int], series: Series) -> bool:
    return repeats_of(series) != WEEKLY or sorted(weekdays) == weekdays_of(series)
