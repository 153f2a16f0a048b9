"""Series: what their windows should be, and bringing the table in line with it.

The same code plans for the leader and inside an operator's command. It is idempotent: planning twice
changes nothing, an edited occurrence keeps its edit, and one that failed, was missed or cancelled
stays as it is without breaking the chain.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import asyncpg

from core.alarms import store as alarms
from core.alarms.model import Condition, Priority
from core.db.database import AnyConnection
from core.db.queries import beside
from core.lanes import LaneContext
from core.model import builder
from core.recording.model import Series
from core.recording.recurrence import Recurrence, between, daily, weekly
from core.recording.recurrence_errors import RecurrenceError

log = logging.getLogger(__name__)
SQL = beside(__file__, "series.sql")
build_series = builder(Series)

HORIZON = timedelta(days=14)
RENEW = timedelta(hours=1)
MOST = 5000  # windows planned ahead for one series; every minute for three and a half days


@dataclass(frozen=True)
class Collision:
    """An occurrence that cannot be, and the window that is in its way."""

    at: datetime
    window: int
    name: str
    start_at: datetime
    end_at: datetime
    recorder: str
    by: str = ""

    def sentence(self, zone: ZoneInfo) -> str:
        start, end = self.start_at.astimezone(zone), self.end_at.astimezone(zone)
        return f"{self.recorder} is taken by {self.name}, {start:%a %d %b %H:%M}–{end:%H:%M}"


def recurrence_of(series: Series) -> Recurrence:
    return Recurrence(
        series.cron, series.timezone, series.first_day, series.last_day, frozenset(series.skips)
    )


def occurrences(series: Series, now: datetime, until: datetime) -> list[datetime]:
    """The starts that should exist: also that of an occurrence which is under way right now."""
    if not series.enabled:
        return []
    after = now - series.duration - series.shift
    return [t + series.shift for t in between(recurrence_of(series), after, until - series.shift, MOST)]


def kind(cron: str) -> str:
    """What `recurrence` says of a series' windows, for those who read the table."""
    fields = cron.split()
    if len(fields) == 5 and fields[0].isdigit() and fields[1].isdigit() and fields[2:4] == ["*", "*"]:
        return "daily" if fields[4] == "*" else "weekly"
    return "cron"


async def plan(connection: AnyConnection, series: Series, now: datetime) -> list[Collision]:
    """Brings a series' future windows in line with it. Returns the occurrences that collide; nothing
    is written for those. The caller's transaction holds the series row."""
    until = now + HORIZON
    wanted = {t: t + series.duration for t in occurrences(series, now, until)}
    rows = await connection.fetch(SQL.planned, series.id, now - series.duration - timedelta(minutes=1))
    stale = [
        r["id"] for r in rows
        if r["status"] == "pending" and not r["edited"] and (
            wanted.get(r["plan_time"]) != r["end_at"]
            or (r["start_at"], r["name"], r["recorder_id"], r["source"])
            != (r["plan_time"], series.name, series.recorder_id, series.source)
        )
    ]  # fmt: skip
    if stale:
        await connection.execute(SQL.drop_windows, stale)
    kept = {r["plan_time"] for r in rows if r["id"] not in set(stale)}
    return await _add(connection, series, [t for t in wanted if t not in kept])


async def _add(connection: AnyConnection, series: Series, starts: list[datetime]) -> list[Collision]:
    if not starts:
        return []
    try:
        async with connection.transaction():
            await connection.execute(SQL.add_windows, *_occurrence(series, starts))
        return []
    except asyncpg.ExclusionViolationError:
        pass
    # Some collide: find out which, one by one.
    collided = []
    for start in starts:
        try:
            async with connection.transaction():
                await connection.execute(SQL.add_windows, *_occurrence(series, [start]))
        except asyncpg.ExclusionViolationError:
            found = await colliding(connection, series.recorder_id, start, start + series.duration, 0)
            collided.extend(found[:1] or [])
    return collided


def _occurrence(series: Series, starts: list[datetime]) -> tuple[object, ...]:
    made_by = f"series {series.id}"
    return (
        series.name, series.recorder_id, starts, series.duration, kind(series.cron), series.id, series.source,
        made_by, series.demo,
    )  # fmt: skip


async def colliding(
    connection: AnyConnection, recorder_id: int, start: datetime, end: datetime, except_window: int
) -> list[Collision]:
    rows = await connection.fetch(SQL.colliding, recorder_id, start, end, except_window)
    return [
        Collision(start, r["id"], r["name"], r["start_at"], r["end_at"], r["recorder_name"], r["made_by"])
        for r in rows
    ]


async def adopt(connection: AnyConnection) -> int:
    """Rows that other systems insert as daily or weekly, without a series, get one of their own."""
    rows = await connection.fetch(SQL.to_adopt)
    zone_name = str(await connection.fetchval(SQL.timezone))
    zone = ZoneInfo(zone_name)
    for row in rows:
        local = row["start_at"].astimezone(zone)
        shift = timedelta(seconds=local.second, microseconds=local.microsecond)
        at = (local - shift).time()
        made = (
            daily(at, zone_name) if row["recurrence"] == "daily" else weekly([local.weekday()], at, zone_name)
        )
        series_id = await connection.fetchval(
            SQL.adopt_series, row["name"], row["recorder_id"], made.cron, zone_name, shift,
            row["end_at"] - row["start_at"], local.date(), row["source"],
        )  # fmt: skip
        await connection.execute(SQL.adopt_window, row["id"], series_id)
    return len(rows)


def bad_series(series: Series, why: str) -> Condition:
    return Condition(
        f"series:{series.id}", Priority.HIGH, "series", series.name, f"The series cannot be planned: {why}",
        "No further windows are made for it; those that exist stay.", "Correct the series.", series.id,
    )  # fmt: skip


def collided(series: Series, window: int, sentence: str) -> Condition:
    return Condition(
        f"window:{window}:failed", Priority.HIGH, "series", series.name, f"An occurrence has no place: {sentence}",
        "That occurrence will not be recorded.", "Move one of the two, or use another recorder.", series.id,
    )  # fmt: skip


class SeriesLane:
    """Keeps every series planned ahead while this station leads."""

    name = "series"

    async def run(self, context: LaneContext) -> None:
        woken = asyncio.Event()
        unsubscribe = context.wake_ups(
            lambda t: woken.set() if t in ("recorder_series", "recorder_schedules") else None
        )
        try:
            while not context.stopping.is_set():
                woken.clear()
                await self._plan_all(context)
                await context.rest(RENEW.total_seconds(), woken)
                await context.rest(0.05)  # a burst of changes is one pass
        finally:
            unsubscribe()

    async def _plan_all(self, context: LaneContext) -> None:
        now = context.clock.now()
        async with context.lead.pool.acquire() as connection, connection.transaction():
            await adopt(connection)
            rows = await connection.fetch(SQL.to_plan, now + HORIZON - RENEW)
            for series in map(build_series, rows):
                await self._plan_one(connection, series, now)

    @staticmethod
    async def _plan_one(connection: AnyConnection, series: Series, now: datetime) -> None:
        try:
            found = await plan(connection, series, now)
        except RecurrenceError as error:
            # Looked at again when somebody changes it, not every hour.
            await connection.execute(
                SQL.set_planned, series.id, now + timedelta(days=36500), str(error)[:500]
            )
            await alarms.raise_alarm(connection, bad_series(series, str(error)))
            return
        await connection.execute(SQL.set_planned, series.id, now + HORIZON, None)
        await alarms.clear_alarm(connection, f"series:{series.id}")
        zone = ZoneInfo(series.timezone)
        for collision in found:
            sentence = collision.sentence(zone)
            window = await connection.fetchval(
                SQL.add_collided, series.name, series.recorder_id, collision.at, series.duration, kind(series.cron),
                series.id, series.source, f"series {series.id}", series.demo, f"Collision: {sentence}"[:500],
            )  # fmt: skip
            if window is not None:
                await alarms.raise_alarm(connection, collided(series, window, sentence))
