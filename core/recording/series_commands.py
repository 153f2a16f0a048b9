"""What an operator can do with series: make, edit one / following / all, skip a day, end.

A command plans the series' windows in its own transaction, so that a collision is said at once and
nothing is half done; the leader plans the same way and finds nothing left to do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from core.commands import Transaction, command, require_version
from core.errors import CommandRefused, NotFound
from core.recording.commands import (
    SQL,
    _recorder,
    _window,
    check_span,
    checked_name,
    checked_source,
    zone_and_now,
)
from core.recording.model import Series
from core.recording.recurrence import Recurrence, next_after
from core.recording.recurrence_errors import RecurrenceError
from core.recording.series import HORIZON, build_series, kind, plan
from core.recording.series import SQL as SERIES_SQL


class Scope(StrEnum):
    FOLLOWING = "following"
    ALL = "all"


@dataclass(frozen=True)
class SeriesForm:
    """A series as an operator enters it."""

    name: str
    recorder_id: int
    cron: str
    timezone: str
    duration: timedelta
    first_day: date | None = None
    last_day: date | None = None
    skips: tuple[date, ...] = ()
    source: str | None = None
    enabled: bool = True
    shift: timedelta = timedelta(0)  # seconds within the minute, which cron cannot say

    @classmethod
    def of(cls, series: Series) -> SeriesForm:
        return cls(
            series.name, series.recorder_id, series.cron, series.timezone, series.duration, series.first_day,
            series.last_day, tuple(series.skips), series.source, series.enabled, series.shift,
        )  # fmt: skip


async def _check(tx: Transaction, form: SeriesForm) -> SeriesForm:
    _, now = await zone_and_now(tx)
    check_span(now, now + form.duration)
    await _recorder(tx, form.recorder_id)
    try:
        recurrence = Recurrence(
            form.cron, form.timezone, form.first_day, form.last_day, frozenset(form.skips)
        )
    except RecurrenceError as error:
        raise CommandRefused(str(error)) from error
    if form.enabled and next_after(recurrence, now - form.duration) is None:
        raise CommandRefused(
            "The series has no occurrence in the future: look at its last day and its skipped days."
        )
    return replace(form, name=checked_name(form.name), source=checked_source(form.source))


async def _series(tx: Transaction, series_id: int) -> Series:
    row = await tx.connection.fetchrow(SERIES_SQL.get, series_id)
    if row is None:
        raise NotFound("That series no longer exists.")
    return build_series(row)


async def _plan(tx: Transaction, series: Series) -> None:
    """Plans at once; an occurrence that collides refuses the whole command, by name."""
    _, now = await zone_and_now(tx)
    found = await plan(tx.connection, series, now)
    if found:
        zone = ZoneInfo(series.timezone)
        more = f" ({len(found)} occurrences collide)" if len(found) > 1 else ""
        raise CommandRefused(f"{found[0].sentence(zone)}{more}.")
    await tx.connection.execute(SERIES_SQL.set_planned, series.id, now + HORIZON, None)


async def _insert(tx: Transaction, form: SeriesForm) -> Series:
    row = await tx.connection.fetchrow(
        SQL.create_series, form.name, form.recorder_id, form.cron, form.timezone, form.duration, form.first_day,
        form.last_day, list(form.skips), form.source, form.shift,
    )  # fmt: skip
    assert row is not None
    return build_series(row)


async def _update(tx: Transaction, series_id: int, form: SeriesForm) -> Series:
    row = await tx.connection.fetchrow(
        SQL.edit_series, series_id, form.name, form.recorder_id, form.cron, form.timezone, form.duration,
        form.first_day, form.last_day, list(form.skips), form.source, form.enabled, form.shift,
    )  # fmt: skip
    if row is None:
        raise NotFound("That series no longer exists.")
    return build_series(row)


@command("New series")
async def create_series(tx: Transaction, form: SeriesForm) -> int:
    made = await _insert(tx, await _check(tx, form))
    await _plan(tx, made)
    await tx.audit("series", made.id, made.name, None, made)
    return made.id


@command("Repeat window")
async def repeat_window(tx: Transaction, window_id: int, row_version: int | None, form: SeriesForm) -> int:
    """Makes a window that stands alone the first of a series. One that records already stays as it is."""
    window = await _window(tx, window_id)
    require_version(row_version, window.row_version, window.name)
    if window.series_id is not None:
        raise CommandRefused(f"{window.name} repeats already.")
    if window.status not in ("pending", "starting", "running"):
        raise CommandRefused(f"{window.name} is {window.status}: make a new one to repeat it.")
    form = await _check(tx, form)
    if window.status != "pending":
        day = window.start_at.astimezone(ZoneInfo(form.timezone)).date() + timedelta(days=1)
        form = replace(form, first_day=max(form.first_day or day, day))
    made = await _insert(tx, form)
    await tx.connection.execute(SQL.into_series, window_id, made.id, kind(made.cron))
    await _plan(tx, made)
    await tx.audit("window", window_id, window.name, {"repeats": "once"}, {"repeats": made.cron})
    await tx.audit("series", made.id, made.name, None, made)
    return made.id


@command("Edit series")
async def edit_series(
    tx: Transaction, series_id: int, row_version: int | None, form: SeriesForm, from_window: int | None = None
) -> int:
    """Edits all of a series, or with `from_window` that occurrence and those that follow.

    Edited occurrences keep their edit either way. Returns the series that now holds the change.
    """
    before = await _series(tx, series_id)
    require_version(row_version, before.row_version, before.name)
    if from_window is None:
        after = await _update(tx, series_id, await _check(tx, form))
        await _plan(tx, after)
        await tx.audit("series", series_id, before.name, before, after)
        return series_id
    window = await _window(tx, from_window)
    if window.series_id != series_id or window.plan_time is None:
        raise CommandRefused("That window does not belong to this series.")
    day = window.plan_time.astimezone(ZoneInfo(before.timezone)).date()
    form = replace(await _check(tx, form), first_day=max(form.first_day or day, day))
    if before.first_day is not None and day <= before.first_day:
        # Nothing of the old series would be left: it is an edit of all of it.
        return await _edit_whole(tx, before, form)
    ended = await _update(tx, series_id, replace(SeriesForm.of(before), last_day=day - timedelta(days=1)))
    await tx.connection.execute(SQL.drop_future, series_id, window.plan_time)
    made = await _insert(tx, form)
    await tx.connection.execute(SQL.hand_over_edited, series_id, made.id, window.plan_time)
    await _plan(tx, ended)
    await _plan(tx, made)
    await tx.audit("series", series_id, before.name, before, ended)
    await tx.audit("series", made.id, made.name, None, made)
    return made.id


async def _edit_whole(tx: Transaction, before: Series, form: SeriesForm) -> int:
    after = await _update(tx, before.id, form)
    await _plan(tx, after)
    await tx.audit("series", before.id, before.name, before, after)
    return before.id


@command("Skip occurrence")
async def skip_occurrence(tx: Transaction, window_id: int) -> None:
    """Takes one day out of a series; the window goes and does not come back."""
    window = await _window(tx, window_id)
    if window.series_id is None or window.plan_time is None:
        raise CommandRefused(f"{window.name} does not repeat.")
    if window.status != "pending":
        raise CommandRefused(f"{window.name} is {window.status} and can no longer be skipped.")
    before = await _series(tx, window.series_id)
    day = window.plan_time.astimezone(ZoneInfo(before.timezone)).date()
    after = await _update(tx, before.id, replace(SeriesForm.of(before), skips=(*before.skips, day)))
    await tx.connection.execute(SQL.delete, window_id)
    await _plan(tx, after)
    await tx.audit("series", before.id, before.name, before, after)


@command("Delete series")
async def delete_series(
    tx: Transaction, series_id: int, row_version: int | None, now: datetime | None = None
) -> None:
    """Ends the series and takes back what it has planned. What was recorded stays."""
    before = await _series(tx, series_id)
    require_version(row_version, before.row_version, before.name)
    if now is None:
        _, now = await zone_and_now(tx)
    await tx.connection.execute(SQL.drop_future, series_id, now - before.duration)
    await tx.connection.execute(SQL.delete_series, series_id)
    await tx.audit("series", series_id, before.name, before, None)
