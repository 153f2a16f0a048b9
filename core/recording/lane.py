"""The recording lane: what is due becomes an operation at exactly its time.

A pass reads what the database wants done within the next seconds and brings the operations in hand in
line with it: new ones are begun, those whose window was changed are dropped while they only wait.
Passes happen at deadlines, on NOTIFY, and at every tick as the safety net; two never overlap.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta

from core import passes
from core.alarms import store as alarms
from core.db.database import AnyConnection
from core.lanes import LaneContext
from core.recording import conditions, rules
from core.recording.operations import Operation, Operations
from core.recording.recorder_client import RecorderClient
from core.recording.store import SQL, Claim, build_claim
from core.recording.watch import Watch

log = logging.getLogger(__name__)
# What a window that was left on the way still needs.
SETTLED_BY = {"pending": "start", "starting": "start", "stopping": "stop", "cancelled": "cancel"}
TABLES = frozenset({"recorder_schedules", "recorders", "nodes"})


class RecordingLane:
    name = "recording"

    def __init__(self, client: RecorderClient, tick: timedelta, live_asset_timeout: timedelta) -> None:
        self._client = client
        self._tick = tick
        self._live_asset_timeout = live_asset_timeout

    async def run(self, context: LaneContext) -> None:
        async with context.lead.pool.acquire() as connection:
            plant = str(await connection.fetchval(SQL.plant_uuid))
        operations = Operations(context.lead, context.clock, self._client, plant)
        watch = Watch(context, self._client, operations, self._live_asset_timeout)
        try:
            await Term(context, operations, watch, self._tick).run()
        finally:
            await self._client.close()
            await asyncio.sleep(0)  # lines that were cut off close in the loop's next turn


class Term:
    """The lane's work during one term of leadership."""

    def __init__(self, context: LaneContext, operations: Operations, watch: Watch, tick: timedelta) -> None:
        self._context = context
        self._clock = context.clock
        self._operations = operations
        self._watch = watch
        self._tick = tick
        self._woken = asyncio.Event()
        self._last_sweep: datetime | None = None
        self._ended_meanwhile: set[int] = set()

    async def run(self) -> None:
        unsubscribe = self._context.wake_ups(self._wake)
        try:
            while not self._context.stopping.is_set():
                self._woken.clear()
                next_due = await self._pass()
                await self._wait(next_due)
            await self._finish()
        finally:
            unsubscribe()
            ending = self._watch.close()
            for operation in list(self._operations.in_hand.values()):
                if operation.task is not None:
                    operation.task.cancel()
                    ending.append(operation.task)
            # They give back the lines they hold; only then can the client hang up everywhere.
            await asyncio.gather(*ending, return_exceptions=True)

    def _wake(self, table: str) -> None:
        if table in TABLES:
            self._woken.set()

    async def _wait(self, next_due: datetime) -> None:
        """Until the next instant that matters, or until somebody changed something."""
        sleeper = asyncio.create_task(self._clock.sleep_until(next_due))
        woken = asyncio.create_task(self._woken.wait())
        stopping = asyncio.create_task(self._context.stopping.wait())
        try:
            await asyncio.wait({sleeper, woken, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sleeper, woken, stopping):
                task.cancel()

    async def _finish(self) -> None:
        """Leaving: operations that only wait are the next leader's; those under way may finish."""
        for operation in list(self._operations.in_hand.values()):
            if not operation.acting and operation.task is not None:
                operation.task.cancel()
        while acting := [o.task for o in self._operations.in_hand.values() if o.task is not None]:
            await asyncio.wait(acting)

    async def _pass(self) -> datetime:
        now = self._clock.now()
        horizon = now + rules.ARM_AHEAD
        in_hand = self._operations.in_hand
        self._ended_meanwhile.clear()
        async with self._context.lead.pool.acquire() as connection:
            await self._drop_changed(connection)
            unsettled = [build_claim(r) for r in await connection.fetch(SQL.unsettled, now)]
            stopping = [build_claim(r) for r in await connection.fetch(SQL.stopping_soon, horizon)]
            armed = [build_claim(r) for r in await connection.fetch(SQL.arm, now, horizon, list(in_hand))]
            # Stops come first on their recorders; what is due already waits for nothing else.
            self._begin_stops(stopping)
            for claim in unsettled:
                self._begin(SETTLED_BY[claim.status], claim)
            for claim in armed:
                self._begin("start", claim)
            await self._miss(connection, now)
            next_due = await connection.fetchval(SQL.next_due, horizon, now)
        if self._last_sweep is None or now - self._last_sweep >= self._tick:
            self._last_sweep = now
            self._watch.sweep(now)
        elif self._woken.is_set() or armed:
            self._watch.look(now)
        passes.of("recording").note((self._clock.now() - now).total_seconds(), now)
        latest = now + self._tick
        return latest if next_due is None else min(latest, max(next_due - rules.ARM_AHEAD, now))

    @staticmethod
    async def _miss(connection: AnyConnection, now: datetime) -> None:
        async with connection.transaction():
            for row in await connection.fetch(SQL.miss, now):
                condition = conditions.missed(
                    row["id"], row["name"], row["recorder_id"], row["recorder_name"], row["mode"] == "manual"
                )
                await alarms.raise_alarm(connection, condition)

    async def _drop_changed(self, connection: AnyConnection) -> None:
        """Lets go of armed windows that are no longer as they were armed."""
        waiting = [o for o in self._operations.in_hand.values() if o.kind == "start" and not o.acting]
        if not waiting:
            return
        rows = await connection.fetch(
            SQL.still_mine, [o.claim.id for o in waiting], [o.claim.claim_token for o in waiting]
        )
        mine = {r["id"] for r in rows}
        for operation in waiting:
            if operation.claim.id not in mine and not operation.acting:
                self._drop(operation)

    def _begin_stops(self, stopping: list[Claim]) -> None:
        wanted = {c.id: c for c in stopping}
        for operation in list(self._operations.in_hand.values()):
            if operation.kind == "stop" and not operation.acting:
                now_wanted = wanted.get(operation.claim.id)
                if now_wanted is None or (now_wanted.end_at, now_wanted.stop_asked_at) != (
                    operation.claim.end_at,
                    operation.claim.stop_asked_at,
                ):
                    self._drop(operation)
        for claim in stopping:
            self._begin("stop", claim)

    def _drop(self, operation: Operation) -> None:
        self._operations.in_hand.pop(operation.claim.id, None)
        if operation.task is not None:
            operation.task.cancel()

    def _begin(self, kind: str, claim: Claim) -> None:
        # What ended while this pass was reading may have been read before it ended: the next pass tells.
        if claim.id in self._operations.in_hand or claim.id in self._ended_meanwhile:
            return
        operation = Operation(kind, claim)
        self._operations.in_hand[claim.id] = operation
        work = {
            "start": self._operations.start,
            "stop": self._operations.stop,
            "cancel": self._operations.cancel,
        }
        operation.task = asyncio.create_task(work[kind](operation), name=f"{kind} {claim.name}")
        operation.task.add_done_callback(lambda task: self._ended(operation, task))

    def _ended(self, operation: Operation, task: asyncio.Task[None]) -> None:
        operation.first_try.set()
        self._ended_meanwhile.add(operation.claim.id)
        if self._operations.in_hand.get(operation.claim.id) is operation:
            del self._operations.in_hand[operation.claim.id]
        if not task.cancelled() and (error := task.exception()) is not None:
            # The next pass takes it up again from what the database says.
            log.error("%s of %s failed", operation.kind, operation.claim.name, exc_info=error)
        self._woken.set()
