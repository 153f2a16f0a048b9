"""Writing as-run: what a probe or a journal reported becomes rows, in one transaction each, in order.

What must stay true: the events of a placement are entered only after those of every earlier one are complete
(`settled`). Nothing here says anything about a channel's health: a fault in writing is alarmed, and the events stay
with the sidecar until they can be entered.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import asyncpg

from core.alarms import store as alarms
from core.clock import Clock
from core.db.database import CONNECTION_ERRORS, AnyConnection, reason
from core.playout import as_run, conditions, rules, store
from core.playout.model import Channel, Event, Placement, Status
from core.playout.share import Share

log = logging.getLogger(__name__)
AT_ONCE = 3  # of playout's share of connections: heartbeats and orders must not wait for as-run
FENCED = "AL001"


class Logbook:
    def __init__(self, lead: Share, clock: Clock) -> None:
        self._lead = lead
        self._clock = clock
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._bound = asyncio.Semaphore(AT_ONCE)
        self._shift: dict[tuple[int, int], timedelta] = {}
        self._faulty: set[int] = set()
        self.seq: dict[tuple[int, int], int] = {}  # the last event in the log, by channel and generation
        self._mark: dict[tuple[int, int], str] = {}
        # When what it played was last known and in the log. A new leader has that from the database.
        self._seen: dict[tuple[int, int], datetime | None] = {}

    async def heard(self, channel: Channel, generation: int, status: Status, at: datetime) -> None:
        """Enters what an answer brought. Never raises but for cancellation."""
        mine = (channel.id, generation)
        self._shift[mine] = rules.clock_shift(self._shift.get(mine), status.clock, at)
        self._seen.setdefault(mine, channel.last_heartbeat_at if channel.generation == generation else None)
        if status.foreign:
            news = self._mark.get(mine) != as_run.mark_of(status)
        else:
            news = any(e.seq > self.seq.get(mine, 0) for e in status.events)
        if not news:
            self._seen[mine] = at
            return
        await self._enter(channel, generation, status, at)

    async def _enter(self, channel: Channel, generation: int, status: Status, at: datetime) -> None:
        mine = (channel.id, generation)
        try:
            async with self._locks[channel.id], self._bound, self._lead.acquire() as connection:
                async with connection.transaction():
                    found = await store.log_state(connection, *mine)
                    if found is None or found.settled or found.unsettled_before:
                        return
                    found = await self._close_strangers(connection, channel.id, generation, found, at)
                    found = replace(found, logged=replace(found.logged, last_seen=self._seen[mine]))
                    if status.foreign:
                        writing = as_run.observe(found.logged, status, at)
                    else:
                        writing = as_run.log_events(found.logged, status.events, at, self._shift[mine])
                    await store.write(connection, *mine, found.node_id, writing)
                    await self._clips(connection, channel, status.events, found.logged.seq)
                if channel.id in self._faulty:
                    await alarms.clear_alarm(connection, conditions.key(channel.id, "as_run"))
                    self._faulty.discard(channel.id)
            self.seq[mine], self._seen[mine] = writing.after.seq, at
            if status.foreign:
                self._mark[mine] = as_run.mark_of(status)
        except Exception as error:  # noqa: BLE001 - a healthy channel must not suffer; alarmed below
            await self._fault(channel, error)

    @staticmethod
    async def _close_strangers(
        connection: AnyConnection, channel_id: int, generation: int, found: store.LogState, at: datetime
    ) -> store.LogState:
        """A row that somebody else left open, such as another system, would be in the way for ever."""
        if found.logged.open is None or found.open_generation == generation:
            return found
        writing = as_run.settle(replace(found.logged, seq=0), (), None, at)
        if writing.close is not None:
            await connection.execute(store.SQL.close_row, channel_id, *writing.close)
        logged = replace(found.logged, open=None, tail=writing.after.tail)
        return replace(found, logged=logged, open_generation=None)

    @staticmethod
    async def _clips(
        connection: AnyConnection, channel: Channel, events: Iterable[Event], known: int
    ) -> None:
        for event in events:
            if event.seq > known and event.type == "failed":
                why = event.why or "the file cannot be read"
                await alarms.raise_alarm(
                    connection, conditions.clip_failed(channel, event.item_id, event.clip, why), repeat=False
                )
            elif event.seq > known and event.type == "start" and event.item_id is not None:
                await alarms.clear_alarm(connection, conditions.key(channel.id, f"clip:{event.item_id}"))

    async def settle(
        self, channel: Channel, placement: Placement, events: Iterable[Event], ended_at: datetime | None
    ) -> bool:
        """Completes a placement's part of the log: afterwards the next one's may be entered."""
        mine = (channel.id, placement.generation)
        now = self._clock.now()
        try:
            async with (
                self._locks[channel.id], self._bound, self._lead.acquire() as connection,
                connection.transaction(),
            ):  # fmt: skip
                found = await store.log_state(connection, *mine)
                if found is None or found.settled:
                    return True
                if found.unsettled_before:
                    return False
                seen = self._seen.get(mine) or found.logged.last_seen
                logged = replace(found.logged, last_seen=seen)
                if logged.open is not None and found.open_generation != placement.generation:
                    logged = replace(logged, open=None)
                shift = self._shift.get(mine, timedelta(0))
                if logged.mark is not None:
                    events = ()  # a sidecar without numbered events was logged by what was seen of it
                writing = as_run.settle(logged, events, ended_at, now, shift)
                await store.write(connection, *mine, found.node_id, writing)
                await connection.execute(store.SQL.settled, *mine)
        except Exception as error:  # noqa: BLE001 - alarmed; it is tried again
            await self._fault(channel, error)
            return False
        self.seq.pop(mine, None)
        self._shift.pop(mine, None)
        self._mark.pop(mine, None)
        self._seen.pop(mine, None)
        return True

    async def _fault(self, channel: Channel, error: Exception) -> None:
        if getattr(error, "sqlstate", None) == FENCED:
            return  # somebody else leads, and writes it
        log.error("as-run of %s could not be written", channel.name, exc_info=error)
        if channel.id in self._faulty:
            return
        try:
            async with asyncio.timeout(5), self._lead.acquire() as connection:
                await alarms.raise_alarm(connection, conditions.as_run_fault(channel, reason(error)))
            self._faulty.add(channel.id)
        except (asyncpg.PostgresError, *CONNECTION_ERRORS):
            log.warning("the as-run fault of %s could not be alarmed", channel.name)
