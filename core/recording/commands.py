"""What an operator can do with windows and recorders. Series are in series_commands.py."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import asyncpg

from core.commands import Transaction, command, require_version
from core.db.queries import beside
from core.errors import CommandRefused, NotFound
from core.model import builder
from core.recording.model import Recorder, Window
from core.recording.series import colliding
from core.recording.sources import check_source

SQL = beside(__file__, "commands.sql")
build_window = builder(Window)
build_recorder = builder(Recorder)

LONGEST = timedelta(days=7)
OPEN_ENDED = timedelta(hours=12)  # how long "until stopped" may run when nothing else is planned


async def _window(tx: Transaction, window_id: int) -> Window:
    row = await tx.connection.fetchrow(SQL.window, window_id)
    if row is None:
        raise NotFound("That window no longer exists.")
    return build_window(row)


async def _recorder(tx: Transaction, recorder_id: int, *, lock: bool = False) -> Recorder:
    row = await tx.connection.fetchrow(SQL.recorder_for_update if lock else SQL.recorder, recorder_id)
    if row is None:
        raise NotFound("That recorder no longer exists.")
    return build_recorder(row)


async def zone_and_now(tx: Transaction) -> tuple[ZoneInfo, datetime]:
    row = await tx.connection.fetchrow(SQL.plant)
    assert row is not None
    return ZoneInfo(row["timezone"]), row["now"]


def checked_name(name: str) -> str:
    name = name.strip()
    if not name:
        raise CommandRefused("Give the window a title.")
    if len(name) > 200:
        raise CommandRefused("A title has 200 characters at most.")
    return name


def check_span(start: datetime, end: datetime) -> None:
    if end <= start:
        raise CommandRefused("The end must be after the start.")
    if end - start > LONGEST:
        raise CommandRefused("A window can be seven days long at most.")


def checked_source(source: str | None) -> str | None:
    if source is None or not source.strip():
        return None
    check_source(source.strip())
    return source.strip()


async def _write(tx: Transaction, statement: str, *arguments: object) -> asyncpg.Record:
    """Runs a write; a collision is refused with the name of what is in the way."""
    try:
        async with tx.connection.transaction():
            row = await tx.connection.fetchrow(statement, *arguments)
    except asyncpg.ExclusionViolationError as error:
        raise CommandRefused("It collides with another window.") from error
    if row is None:
        raise NotFound("That window no longer exists.")
    return row


async def refuse_collisions(
    tx: Transaction, recorder_id: int, start: datetime, end: datetime, except_window: int = 0
) -> None:
    found = await colliding(tx.connection, recorder_id, start, end, except_window)
    if found:
        zone, _ = await zone_and_now(tx)
        others = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise CommandRefused(f"{found[0].sentence(zone)}{others}.")


@command("New window")
async def create_window(
    tx: Transaction,
    name: str,
    recorder_id: int,
    start_at: datetime,
    end_at: datetime,
    source: str | None = None,
) -> int:
    check_span(start_at, end_at)
    _, now = await zone_and_now(tx)
    if end_at <= now:
        raise CommandRefused("A window that is over cannot be recorded.")
    await _recorder(tx, recorder_id)
    await refuse_collisions(tx, recorder_id, start_at, end_at)
    row = await _write(
        tx, SQL.create, checked_name(name), recorder_id, start_at, end_at, checked_source(source), tx.actor.operator,
        False, False,
    )  # fmt: skip
    made = build_window(row)
    await tx.audit("window", made.id, made.name, None, made)
    return made.id


@command("Edit window")
async def edit_window(
    tx: Transaction,
    window_id: int,
    row_version: int | None,
    *,
    name: str | None = None,
    recorder_id: int | None = None,
    start_at: datetime | None = None,
    end_at: datetime | None = None,
    source: str | None = None,
) -> None:
    """Moves, trims or renames. What is not given stays. A running window's end can move, nothing else."""
    before = await _window(tx, window_id)
    require_version(row_version, before.row_version, before.name)
    new_start, new_end = start_at or before.start_at, end_at or before.end_at
    new_recorder = recorder_id or before.recorder_id
    _, now = await zone_and_now(tx)
    if before.status in ("starting", "running"):
        if (new_start, new_recorder) != (before.start_at, before.recorder_id):
            raise CommandRefused(
                f"{before.name} is recording: its start and its recorder can no longer change."
            )
        if new_end <= now:
            raise CommandRefused(f"{before.name} is recording: to end it now, use Stop.")
    elif before.status != "pending":
        raise CommandRefused(f"{before.name} is {before.status} and can no longer be edited.")
    elif new_end <= now:
        raise CommandRefused("A window that is over cannot be recorded.")
    check_span(new_start, new_end)
    await _recorder(tx, new_recorder)
    await refuse_collisions(tx, new_recorder, new_start, new_end, window_id)
    row = await _write(
        tx, SQL.edit, window_id, checked_name(name if name is not None else before.name), new_recorder, new_start,
        new_end, before.source if source is None else checked_source(source),
    )  # fmt: skip
    await tx.audit("window", window_id, before.name, before, build_window(row))


@command("Copy window")
async def copy_window(tx: Transaction, window_id: int, recorder_id: int, start_at: datetime) -> int:
    original = await _window(tx, window_id)
    end_at = start_at + (original.end_at - original.start_at)
    await _recorder(tx, recorder_id)
    await refuse_collisions(tx, recorder_id, start_at, end_at)
    row = await _write(
        tx,
        SQL.create,
        original.name,
        recorder_id,
        start_at,
        end_at,
        original.source,
        tx.actor.operator,
        False,
        False,
    )
    made = build_window(row)
    await tx.audit("window", made.id, made.name, None, made)
    return made.id


@command("Move windows")
async def move_windows(tx: Transaction, windows: Sequence[tuple[int, int | None]], by: timedelta) -> None:
    """Moves many by the same time, all or none. Each with the row version it was shown at."""
    ordered = [(await _window(tx, window_id), version) for window_id, version in windows]
    # Those in front first, in the direction of travel, so that they do not collide with each other.
    ordered.sort(key=lambda item: item[0].start_at, reverse=by > timedelta(0))
    for before, version in ordered:
        require_version(version, before.row_version, before.name)
        if before.status != "pending":
            raise CommandRefused(f"{before.name} is {before.status} and can no longer be moved.")
        start, end = before.start_at + by, before.end_at + by
        await refuse_collisions(tx, before.recorder_id, start, end, before.id)
        row = await _write(
            tx, SQL.edit, before.id, before.name, before.recorder_id, start, end, before.source
        )
        await tx.audit("window", before.id, before.name, before, build_window(row))


@command("Cancel window")
async def cancel_window(tx: Transaction, window_id: int, row_version: int | None = None) -> None:
    before = await _window(tx, window_id)
    require_version(row_version, before.row_version, before.name)
    if before.status not in ("pending", "starting", "running"):
        raise CommandRefused(f"{before.name} is {before.status} already.")
    row = await _write(tx, SQL.cancel, window_id)
    await tx.audit("window", window_id, before.name, before, build_window(row))


@command("Delete window")
async def delete_window(tx: Transaction, window_id: int, row_version: int | None = None) -> None:
    before = await _window(tx, window_id)
    require_version(row_version, before.row_version, before.name)
    if before.status != "pending":
        raise CommandRefused(f"{before.name} is {before.status}: what happened stays in the log. Only a window that "
                             "has not begun can be deleted.")  # fmt: skip
    await _write(tx, SQL.delete, window_id)
    await tx.audit("window", window_id, before.name, before, None)


@command("Extend window")
async def extend_window(tx: Transaction, window_id: int, by: timedelta) -> None:
    """Relative on purpose: two operators who each add five minutes add ten."""
    before = await _window(tx, window_id)
    if before.status not in ("pending", "starting", "running"):
        raise CommandRefused(f"{before.name} is {before.status} and can no longer be extended.")
    end = before.end_at + by
    check_span(before.start_at, end)
    await refuse_collisions(tx, before.recorder_id, before.start_at, end, window_id)
    row = await _write(
        tx, SQL.edit, window_id, before.name, before.recorder_id, before.start_at, end, before.source
    )
    await tx.audit("window", window_id, before.name, before, build_window(row))


@command("Start recorder")
async def start_now(
    tx: Transaction,
    recorder_id: int,
    name: str = "",
    length: timedelta | None = None,
    source: str | None = None,
) -> int:
    """Makes a window that is due now, so that the timeline and the log show it like any other."""
    recorder = await _recorder(tx, recorder_id, lock=True)
    _, now = await zone_and_now(tx)
    busy = await tx.connection.fetchrow(SQL.active_on, recorder_id)
    if busy is not None:
        raise CommandRefused(f"{recorder.name} is recording {busy['name']} already.")
    end = now + (length or OPEN_ENDED)
    following = await tx.connection.fetchval(SQL.next_on, recorder_id, now)
    if length is None and following is not None and following < end:
        end = following
    check_span(now, end)
    await refuse_collisions(tx, recorder_id, now, end)
    row = await _write(
        tx, SQL.create, checked_name(name or f"Manual {recorder.name}"), recorder_id, now, end,
        checked_source(source), tx.actor.operator, True, length is None,
    )  # fmt: skip
    made = build_window(row)
    await tx.audit("recorder", recorder_id, recorder.name, None, made)
    return made.id


@command("Stop recorder")
async def stop_now(tx: Transaction, recorder_id: int) -> None:
    recorder = await _recorder(tx, recorder_id)
    row = await tx.connection.fetchrow(SQL.active_on, recorder_id)
    if row is None:
        raise CommandRefused(f"{recorder.name} is not recording.")
    before = build_window(row)
    if before.status == "starting":
        after = await _write(tx, SQL.cancel, before.id)
    else:
        after = await _write(tx, SQL.ask_stop, before.id)
    await tx.audit("window", before.id, before.name, dict(row), dict(after))


@command("Switch recorder mode")
async def set_mode(tx: Transaction, recorder_id: int, mode: str) -> None:
    if mode not in ("auto", "manual"):
        raise CommandRefused("A recorder's mode is auto or manual.")
    before = await _recorder(tx, recorder_id, lock=True)
    if before.mode == mode:
        raise CommandRefused(f"{before.name} is in {mode} mode already.")
    row = await _write(tx, SQL.set_mode, recorder_id, mode)
    await tx.audit("recorder", recorder_id, before.name, before, build_recorder(row))
