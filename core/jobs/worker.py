"""A worker: takes runs in queue order, carries them out, and says how they ended.

What must stay true: a result is written only under the lease it was won with; a handler whose lease is gone, or
whose time is over, is cancelled, also by a worker that cannot reach the database and so cannot know whether it still
holds it; no more run at once than the limits say, and none of them waits for another. A worker that leaves takes no
more, finishes what it can, and hands back the rest.

Few round trips: runs are taken and finished in batches, on two connections, so that the next batch is taken while
the last is being written.
"""

from __future__ import annotations

import asyncio
import logging
import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from core.alarms import store as alarms
from core.clock import steady
from core.db.database import CONNECTION_ERRORS, Connection, Database, close_connection, reason
from core.errors import AirlockError
from core.jobs import rules, store
from core.jobs.model import QUEUES, Lease, RunStatus
from core.jobs.registry import Handler, JobFailed, Registry, RunContext
from core.jobs.rules import Verdict
from core.jobs.store import SQL

log = logging.getLogger(__name__)
CHANNEL = "airlock_jobs"
LOOK = 5.0  # seconds between two looks that nobody asked for: the safety net
BEAT = 1.0
WATCH = 0.1
RETRY = (0.1, 0.25, 0.5, 1.0)
CLASH = "runs_one_at_a_time"
LEAVING = 10.0  # seconds in which a worker that leaves lets its handlers finish


@dataclass(slots=True, eq=False)
class InHand:
    lease: Lease
    context: RunContext
    ends: float  # by the steady counter, like all times here
    held_until: (
        float  # before the database calls the lease stale: counted from before it was asked to renew it
    )
    task: asyncio.Task[None] | None = None
    lost: bool = False
    late: bool = False


@dataclass
class Counters:
    """Since the worker began; /metrics shows them."""

    claimed: int = 0
    completed: int = 0
    failed: int = 0
    retried: int = 0
    refused: int = 0  # results that came after the lease was gone
    durations: dict[str, float] = field(default_factory=dict)


class Worker:
    def __init__(
        self,
        database: Database,
        name: str,
        registry: Registry,
        services: Any = None,
        *,
        node: str = "",
        concurrency: int = 10,
        per_queue: Mapping[str, int] | None = None,
        leaving: float | None = None,
    ) -> None:
        self._database = database
        self.name = name
        self._node = node
        self._handlers: dict[str, Handler] = registry.handlers
        self._services = services
        self._concurrency = concurrency
        self._per_queue = {
            queue: min((per_queue or {}).get(queue, concurrency), concurrency) for queue in QUEUES
        }
        self._leave_within = LEAVING if leaving is None else leaving
        self.counters = Counters()
        self._in_hand: set[InHand] = set()
        self._running = dict.fromkeys(QUEUES, 0)
        self._done: list[tuple[Lease, str | None]] = []
        self._failed: list[tuple[Lease, Verdict]] = []
        self._being_written = 0
        self._woken = asyncio.Event()
        self._to_write = asyncio.Event()
        self._beat_now = asyncio.Event()
        self._leaving = False
        self._node_id: int | None = None
        self._chance = random.Random()

    @property
    def running(self) -> int:
        return len(self._in_hand)

    @property
    def _unwritten(self) -> int:
        return len(self._done) + len(self._failed) + self._being_written

    async def run(self, stop: asyncio.Event) -> None:
        """Works until told to stop; a lost database is waited for."""
        ending = asyncio.create_task(stop.wait())
        watching = asyncio.create_task(self._watch(), name="watch leases")
        session: asyncio.Task[None] | None = None
        failures = 0
        try:
            while not stop.is_set():
                began = steady()
                session = asyncio.create_task(self._session(ending))
                await asyncio.wait({session})
                if (error := session.exception()) is None:
                    break
                if not isinstance(error, (AirlockError, asyncpg.PostgresError, *CONNECTION_ERRORS)):
                    log.error("worker %s failed and goes on", self.name, exc_info=error)
                else:
                    log.info("worker %s: %s", self.name, reason(error))
                failures = 0 if steady() - began > 10 else failures + 1
                await asyncio.wait({ending}, timeout=RETRY[min(failures, len(RETRY) - 1)])
        finally:
            for task in (ending, watching, session):
                if task is not None:
                    task.cancel()
            if session is not None:
                await asyncio.gather(session, return_exceptions=True)
            for held in list(self._in_hand):
                held.lost = True
                if held.task is not None:
                    held.task.cancel()
            await asyncio.gather(
                *(h.task for h in self._in_hand if h.task is not None), return_exceptions=True
            )

    async def _session(self, ending: asyncio.Task[bool]) -> None:
        """As long as the connections hold. Handlers outlive it: their leases are looked at again by the next."""
        taking = await self._database.connect("worker")
        writing: Connection | None = None
        parts: list[asyncio.Task[None]] = []
        try:
            writing = await self._database.connect("worker")
            await taking.add_listener(CHANNEL, self._heard)
            self._node_id = await taking.fetchval(
                SQL.worker_online, self.name, self._node, list(self._handlers), self._concurrency
            )
            self._woken.set()
            self._beat_now.set()
            self._to_write.set()
            guard = asyncio.Lock()
            parts = [
                asyncio.create_task(self._take(taking), name="take runs"),
                asyncio.create_task(self._write(writing, guard), name="write outcomes"),
                asyncio.create_task(self._beat(writing, guard), name="heartbeat"),
            ]
            await asyncio.wait({*parts, ending}, return_when=asyncio.FIRST_COMPLETED)
            for part in parts:
                if part.done():
                    part.result()
            # What it is taking at this moment is let in: a claim that was cut off would be held by nobody.
            self._leaving = True
            self._woken.set()
            await parts[0]
            await self._leave(writing, guard)
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
            for connection in (taking, writing):
                if connection is not None:
                    await close_connection(connection)

    def _heard(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        if payload == "drop":
            self._beat_now.set()
        else:
            self._woken.set()

    # -- taking ----------------------------------------------------------------------------------

    async def _take(self, connection: Connection) -> None:
        claim = await connection.prepare(SQL.claim)
        handlers = list(self._handlers)
        while not self._leaving:
            self._woken.clear()
            room = self._concurrency - len(self._in_hand)
            if room > 0 and self._unwritten <= 2 * self._concurrency:
                wanted = [self._per_queue[q] - self._running[q] for q in QUEUES]
                token = uuid.uuid4()
                asked = steady()
                try:
                    rows = await claim.fetch(token, self.name, self._node_id, handlers, room, *wanted)
                except asyncpg.UniqueViolationError as error:
                    if error.constraint_name != CLASH:
                        raise
                    await asyncio.sleep(self._chance.uniform(0, 0.02))
                    self._woken.set()
                    continue
                self._begin(rows, token, asked)
                # Runs that exclude each other take the places of others in the choice: there may be more to take.
                if len(rows) == room or any(row[14] for row in rows):
                    await asyncio.sleep(0)
                    continue
            await self._sleep(connection, handlers)

    async def _sleep(self, connection: Connection, handlers: list[str]) -> None:
        """Until somebody says that there may be something to take, or the safety net finds it."""
        while True:
            try:
                async with asyncio.timeout(LOOK):
                    await self._woken.wait()
                return
            except TimeoutError:
                if await connection.fetchval(SQL.anything_to_take, handlers, self._node_id):
                    return

    def _begin(self, rows: list[asyncpg.Record], token: uuid.UUID, asked: float) -> None:
        now = steady()
        self.counters.claimed += len(rows)
        if len(rows) > 1:
            rows.sort(key=lambda r: (r[13], r[0]))  # an UPDATE gives them back in any order
        for row in rows:
            lease = Lease(*row[:13], token)  # type: ignore[call-arg]
            held = InHand(
                lease, RunContext(lease, self._services), now + lease.limit_s, asked + lease.stale_s
            )
            self._in_hand.add(held)
            self._running[lease.queue] += 1
            held.task = asyncio.create_task(self._carry_out(held))

    # -- carrying out ----------------------------------------------------------------------------

    async def _carry_out(self, held: InHand) -> None:
        lease = held.lease
        try:
            result = await self._handlers[lease.handler](held.context)
            text = rules.result_text(result) if result is not None else None
            if not held.lost:
                self._done.append((lease, text))
        except asyncio.CancelledError:
            if held.late and not held.lost:
                self._fail(lease, rules.DEADLINE, f"It took longer than the {lease.limit_s:.0f} s it may.")
            elif not held.lost:
                # Cancelled by something of its own.
                self._fail(lease, rules.HANDLER_ERROR, "It was interrupted.")
        except JobFailed as error:
            self._fail(lease, error.code, str(error), error.retry)
        except AirlockError as error:
            self._fail(lease, rules.HANDLER_ERROR, str(error))
        except ValueError as error:
            log.warning("run %d of %s", lease.id, lease.job_name, exc_info=error)
            self._fail(lease, rules.HANDLER_ERROR, str(error) or "ValueError")
        except Exception as error:
            log.exception("run %d of %s failed", lease.id, lease.job_name)
            self._fail(lease, rules.HANDLER_ERROR, f"{type(error).__name__}: {error}")
        finally:
            self._in_hand.discard(held)
            self._running[lease.queue] -= 1
            self._to_write.set()
            self._woken.set()

    def _fail(self, lease: Lease, code: str, message: str, retry: bool = True) -> None:
        verdict = rules.after_failure(
            code, message, lease.attempt, lease.max_attempts, self._chance.random(), retry
        )
        self._failed.append((lease, verdict))

    # -- writing ---------------------------------------------------------------------------------

    async def _write(self, connection: Connection, guard: asyncio.Lock) -> None:
        while True:
            await self._to_write.wait()
            self._to_write.clear()
            async with guard:
                await self._flush(connection)

    async def _flush(self, connection: Connection) -> None:
        """Writes all outcomes there are. What could not be written, because the connection broke, stays for the
        next session; the token decides whether it still counts."""
        while self._done or self._failed:
            done, self._done = self._done, []
            failed, self._failed = self._failed, []
            self._being_written = len(done) + len(failed)
            try:
                await self._write_batch(connection, done, failed)
            except BaseException:
                self._done[:0], self._failed[:0] = done, failed
                raise
            finally:
                self._being_written = 0
            self._woken.set()

    async def _write_batch(
        self,
        connection: Connection,
        done: list[tuple[Lease, str | None]],
        failed: list[tuple[Lease, Verdict]],
    ) -> None:
        plain = [lease for lease, text in done if text is None]
        spoken = [(lease, text) for lease, text in done if text is not None]
        written = 0
        if plain:
            rows = await connection.fetch(
                SQL.complete_plain, [lease.id for lease in plain], [lease.token for lease in plain]
            )
            written += len(rows)
        if spoken:
            rows = await connection.fetch(
                SQL.complete,
                [lease.id for lease, _ in spoken],
                [lease.token for lease, _ in spoken],
                [text for _, text in spoken],
            )
            written += len(rows)
        self.counters.completed += written
        if failed:
            kept = await store.fail(connection, [((lease.id, lease.token), v) for lease, v in failed])
            for lease, verdict in failed:
                if lease.id in kept:
                    ended = verdict.status == RunStatus.FAILED
                    self.counters.failed += ended
                    self.counters.retried += not ended
            written += len(kept)
        for lease, _ in done:
            if lease.priority == "high":
                await alarms.clear_alarm(connection, store.alarm_key(lease.job_name, lease.scope_id))
        if refused := len(done) + len(failed) - written:
            self.counters.refused += refused
            log.warning("%s: %d results came after their leases were gone", self.name, refused)

    # -- holding ---------------------------------------------------------------------------------

    async def _beat(self, connection: Connection, guard: asyncio.Lock) -> None:
        """Renews the leases, says how far the handlers are, and ends those that may not go on."""
        while True:
            try:
                async with asyncio.timeout(BEAT):
                    await self._beat_now.wait()
            except TimeoutError:
                pass
            self._beat_now.clear()
            async with guard:
                held = list(self._in_hand)
                if held:
                    await self._renew(connection, held)
                node_id = await connection.fetchval(SQL.worker_seen, self.name, len(held))
                if node_id is None or node_id != self._node_id:
                    # Somebody cleaned the list, or our node has come into it since.
                    self._node_id = await connection.fetchval(
                        SQL.worker_online, self.name, self._node, list(self._handlers), self._concurrency
                    )

    async def _renew(self, connection: Connection, held: list[InHand]) -> None:
        asked = steady()
        rows = await connection.fetch(
            SQL.heartbeat,
            [h.lease.id for h in held],
            [h.lease.token for h in held],
            [None if h.context.progress is None else min(max(h.context.progress, 0.0), 1.0) for h in held],
        )
        mine = {row["id"] for row in rows}
        for one in held:
            if one.lease.id in mine:
                one.held_until = asked + one.lease.stale_s
            elif one in self._in_hand:
                self._drop(one, "was taken away")

    def _drop(self, held: InHand, why: str) -> None:
        """Ends a handler that may not go on; what it says no longer counts."""
        held.lost = True
        log.info("run %d of %s %s", held.lease.id, held.lease.job_name, why)
        if held.task is not None:
            held.task.cancel()

    async def _watch(self) -> None:
        """Needs no database: ends what took too long, and what somebody else may hold by now."""
        while True:
            now = steady()
            for held in [h for h in self._in_hand if not h.lost and h.task is not None]:
                if held.held_until <= now:
                    self._drop(held, "could not be renewed in time")
                elif held.ends <= now and not held.late:
                    held.late = True
                    assert held.task is not None
                    held.task.cancel()
            await asyncio.sleep(WATCH)

    # -- leaving ---------------------------------------------------------------------------------

    async def _leave(self, connection: Connection, guard: asyncio.Lock) -> None:
        tasks = [h.task for h in self._in_hand if h.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=self._leave_within)
        left = list(self._in_hand)
        async with guard:
            await self._flush(connection)
            if left:
                for held in left:
                    held.lost = True
                    if held.task is not None:
                        held.task.cancel()
                await asyncio.gather(*(h.task for h in left if h.task is not None), return_exceptions=True)
                await connection.fetch(
                    SQL.hand_back, [h.lease.id for h in left], [h.lease.token for h in left]
                )
            await connection.execute(SQL.worker_left, self.name)
