"""Asking every channel on air how it is, once a second, all at the same time.

What must stay true: each probe has its own task and its own limit, shorter than the interval; one that hangs delays
nobody, and the round waits for none. Misses count in a row, per generation, in the memory of the leader that saw
them: a new leader begins at zero, so that its predecessor's absence is never taken for a channel's.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import asyncpg

from core.clock import Clock, steady
from core.db.database import CONNECTION_ERRORS
from core.playout import rules
from core.playout.logbook import Logbook
from core.playout.model import Channel, Miss, Status
from core.playout.share import Share
from core.playout.sidecar_client import SidecarClient
from core.playout.store import SQL
from core.recording.batch import Batch

log = logging.getLogger(__name__)
LIMIT = 0.9  # of the interval
GATHER = 0.02  # seconds that the outcomes of a round wait for each other, to be one statement
KEEP = 10_000  # latenesses remembered, for measurements

Mine = tuple[int, int]  # a channel and a generation of it


@dataclass(frozen=True, slots=True)
class Beat:
    id: int
    generation: int
    at: datetime | None
    ms: float | None
    misses: int


class Probes:
    def __init__(
        self,
        lead: Share,
        clock: Clock,
        client: SidecarClient,
        logbook: Logbook,
        interval: timedelta,
        answered: Callable[[Channel, Status], None],
        in_trouble: Callable[[], None],
    ) -> None:
        self._lead = lead
        self._clock = clock
        self._client = client
        self._logbook = logbook
        self._interval = interval
        self._answered = answered
        self._in_trouble = in_trouble
        self._beats: Batch[Beat] = Batch(self._write, lambda b: b.id, GATHER)
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._logging: set[asyncio.Task[None]] = set()
        self.channels: dict[int, Channel] = {}  # those on air, kept by the lane
        self.misses: dict[Mine, int] = {}
        self.late: deque[float] = deque(maxlen=KEEP)

    async def run(self) -> None:
        due = self._clock.now()
        while True:
            for channel in list(self.channels.values()):
                # The one under way ends within its limit; at the next round this channel is asked again.
                if channel.id not in self._under_way:
                    task = asyncio.create_task(self._probe(channel, due), name=f"probe {channel.name}")
                    self._under_way[channel.id] = task
                    task.add_done_callback(partial(self._ended, channel.id))
            due += self._interval
            # After a pause of the whole process: no volley of what was missed.
            due = max(due, self._clock.now())
            await self._clock.sleep_until(due)

    def close(self) -> list[asyncio.Task[None]]:
        tasks = [*self._under_way.values(), *self._logging]
        for task in tasks:
            task.cancel()
        return tasks

    def _ended(self, channel_id: int, task: asyncio.Task[None]) -> None:
        self._under_way.pop(channel_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s failed", task.get_name(), exc_info=error)

    async def _probe(self, channel: Channel, due: datetime) -> None:
        mine, limit = (channel.id, channel.generation), self._interval.total_seconds() * LIMIT
        self.late.append((self._clock.now() - due).total_seconds())
        after, asked = self._logbook.seq.get(mine, channel.event_seq), steady()
        answer = rules.check_answer(
            await self._client.status(channel.sidecar_url or "", after, channel.generation, limit),
            channel.generation,
        )
        heard, took = self._clock.now(), (steady() - asked) * 1000
        before = self.misses.get(mine, 0)
        self.misses[mine] = misses = rules.count_miss(before, answer)
        if isinstance(answer, Miss):
            log.info("%s: probe missed (%d): %s", channel.name, misses, answer.why)
            if misses >= rules.MISSES:
                self._in_trouble()
            self._keep(self._beat(Beat(*mine, None, None, misses)))
            return
        self._keep(self._beat(Beat(*mine, heard, took, 0)))
        # Beside: a database that is slow to take as-run must not look like a sidecar that is.
        self._keep(self._logbook.heard(channel, channel.generation, answer, heard))
        self._answered(channel, answer)

    def _keep(self, work: object) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)  # type: ignore[arg-type]
        self._logging.add(task)
        task.add_done_callback(self._logging.discard)

    async def _beat(self, beat: Beat) -> None:
        try:
            await self._beats.put(beat)
        except (asyncpg.PostgresError, *CONNECTION_ERRORS) as error:
            log.info("heartbeats could not be written: %s", error)

    async def _write(self, beats: list[Beat]) -> set[int]:
        newest = {(b.id, b.generation): b for b in beats}.values()
        columns = zip(*((b.id, b.generation, b.at, b.ms, b.misses) for b in newest), strict=True)
        async with self._lead.acquire() as connection:
            return {r["id"] for r in await connection.fetch(SQL.beats, *(list(c) for c in columns))}

    def forget(self, current: set[Mine]) -> None:
        """Drops what is known of generations that are over."""
        self.misses = {k: v for k, v in self.misses.items() if k in current}
