"""The jobs lane: what the leader does for background work. It carries out nothing itself.

A pass makes runs of plans that are due, promotes what waited for its time, and settles what its worker no longer
looks after; it happens at the instant the next of these is due, on NOTIFY, and at every tick as the safety net. A
tick also shows what no worker can take, cancels what no program knows, and lets old runs go, a batch at a time.
"""

from __future__ import annotations

import asyncio
import logging
import random
from datetime import datetime, timedelta

import asyncpg

from core import passes
from core.alarms import store as alarms
from core.alarms.model import Condition, Priority
from core.db.database import AnyConnection
from core.jobs import rules, store
from core.jobs.model import CronJob, Definition
from core.jobs.registry import Registry
from core.jobs.store import SQL, build_expired, build_job
from core.lanes import LaneContext
from core.recording.recurrence_errors import RecurrenceError

log = logging.getLogger(__name__)
TABLES = frozenset({"cron_jobs", "job_runs", "job_workers"})
BATCH = 500
SYNC = timedelta(minutes=1)
PURGE = timedelta(minutes=1)
# Between two passes: a thousand retries that fall due one after another, or runs that end all the time, are few passes.
PACE = timedelta(milliseconds=50)


def wrong_job(job: CronJob, why: str) -> Condition:
    return Condition(
        f"cron:{job.name}", Priority.MEDIUM, "job", job.name, f"The job is disabled: {why}"[:500],
        "It does not run until it is corrected. Other jobs go on.", "Correct its expression or its time zone.", job.id,
    )  # fmt: skip


class JobsLane:
    name = "jobs"

    def __init__(self, registry: Registry, tick: timedelta) -> None:
        self._registry = registry
        self._tick = tick

    async def run(self, context: LaneContext) -> None:
        term = Term(context, self._registry, self._tick)
        woken = asyncio.Event()

        def changed(table: str) -> None:
            if table in TABLES:
                woken.set()
            if table == "job_workers":
                term.workers_changed = True

        unsubscribe = context.wake_ups(changed)
        try:
            while not context.stopping.is_set():
                woken.clear()
                due = await term.run_pass()
                await self._wait(context, due, woken)
        finally:
            unsubscribe()

    @staticmethod
    async def _wait(context: LaneContext, due: datetime, woken: asyncio.Event) -> None:
        sleeper = asyncio.create_task(context.clock.sleep_until(due))
        waits = [sleeper, asyncio.create_task(woken.wait()), asyncio.create_task(context.stopping.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if not sleeper.done():
            await context.rest(PACE.total_seconds())


class Term:
    """The lane's work during one term of leadership."""

    def __init__(self, context: LaneContext, registry: Registry, tick: timedelta) -> None:
        self._context = context
        self._registry = registry
        self._tick = tick
        self._chance = random.Random()
        self._last_sync: datetime | None = None
        self._last_purge: datetime | None = None
        self._last_tick: datetime | None = None
        self.workers_changed = True

    async def run_pass(self) -> datetime:
        """Returns when the next is due."""
        began = asyncio.get_running_loop().time()
        now = self._context.clock.now()
        async with self._context.lead.pool.acquire() as connection:
            if self._last_sync is None or now - self._last_sync >= SYNC:
                await self._sync(connection)
                self._last_sync = now
            full = await self._plan(connection, now)
            if await connection.fetchval(SQL.anything_to_promote, now):
                full |= len(await connection.fetch(SQL.promote, now, BATCH)) == BATCH
            full |= await self._rescue(connection, now)
            if self.workers_changed or self._last_tick is None or now - self._last_tick >= self._tick:
                self.workers_changed = False
                await self._match_workers(connection)
                self._last_tick = now
            full |= await self._purge(connection, now)
            due = await connection.fetchval(SQL.next_due)
        passes.of("jobs").note(asyncio.get_running_loop().time() - began, now)
        latest = self._last_tick + self._tick
        if full:
            return now
        return latest if due is None else max(min(latest, due), now + PACE)

    async def _sync(self, connection: AnyConnection) -> None:
        """Enters the jobs that code defines and the table does not have. Nothing is removed or overwritten."""
        known = {row["name"] for row in await connection.fetch(SQL.known_jobs)}
        for definition in self._registry.definitions:
            if definition.name not in known:
                try:
                    await connection.execute(SQL.sync, *_columns(definition))
                except asyncpg.InsufficientPrivilegeError:
                    # An operator's station leads; an engineer's, or the one that made the plant, enters them.
                    log.info(
                        "the job %s is not in the table and this login may not enter it", definition.name
                    )

    async def _plan(self, connection: AnyConnection, now: datetime) -> bool:
        """Makes runs of what is due. Says whether some job has more than a pass takes."""
        more = False
        for job in [build_job(row) for row in await connection.fetch(SQL.due_jobs, now)]:
            try:
                found = rules.plans(job, now)
            except RecurrenceError as error:
                async with connection.transaction():
                    if await connection.fetchval(SQL.disable_bad, job.id, job.row_version, str(error)[:500]):
                        await alarms.raise_alarm(connection, wrong_job(job, str(error)))
                continue
            await connection.fetch(
                SQL.plan, job.id, job.row_version, job.last_plan_at, found.last, found.next, found.due, found.missed
            )  # fmt: skip
            if job.next_plan_at is None:
                await alarms.clear_alarm(connection, f"cron:{job.name}")
            if found.missed:
                log.info("%s: %d plans were missed; the latest is run", job.name, found.missed)
            more |= found.next is not None and found.next <= now
        return more

    async def _rescue(self, connection: AnyConnection, now: datetime) -> bool:
        expired = [build_expired(row) for row in await connection.fetch(SQL.expired, now, BATCH)]
        verdicts = [
            ((run.id, run.lease_token), verdict)
            for run in expired
            if (verdict := rules.rescue(run, now, self._chance.random())) is not None
        ]
        if verdicts:
            settled = await store.fail(connection, verdicts, now)
            log.warning("%d runs were no longer looked after", len(settled))
        return len(expired) == BATCH

    async def _match_workers(self, connection: AnyConnection) -> None:
        rows = await connection.fetch(SQL.workers, rules.SEEN_WITHIN, rules.FORGOTTEN_AFTER)
        pairs = [(h, row["node_id"]) for row in rows if row["available"] for h in row["handlers"]]
        names, nodes = [p[0] for p in pairs], [p[1] for p in pairs]
        found = await connection.fetchrow(SQL.anything_to_show, names, nodes)
        if found is not None and found["queued"]:
            await connection.execute(SQL.show_queued, names, nodes)
        if found is not None and found["pending"]:
            await connection.execute(SQL.show_pending, names, nodes)
        if pairs:  # without any worker nobody can tell what the programs of this plant know
            known = {h for row in rows if row["remembered"] for h in row["handlers"]}
            known |= set(self._registry.handlers)
            if await connection.fetchval(SQL.anything_unknown, list(known), rules.FORGOTTEN_AFTER):
                await connection.execute(SQL.cancel_unknown, list(known), rules.FORGOTTEN_AFTER)

    async def _purge(self, connection: AnyConnection, now: datetime) -> bool:
        if self._last_purge is not None and now - self._last_purge < PURGE:
            return False
        full = False
        for status, keep in (
            ("completed", rules.KEEP_COMPLETED),
            ("failed", rules.KEEP_OTHERS),
            ("cancelled", rules.KEEP_OTHERS),
        ):
            said = await connection.execute(SQL.purge, status, now - keep, BATCH)
            full |= said == f"DELETE {BATCH}"
        await connection.execute(SQL.purge_workers)
        if not full:
            self._last_purge = now
        return full


def _columns(d: Definition) -> tuple[object, ...]:
    return (
        d.name, d.cron, d.timezone, d.handler, dict(d.arguments), d.scope, d.queue, d.priority, d.max_attempts,
        d.time_limit, d.stale_timeout, d.stale_reentry, d.catch_up, d.overlap, d.enabled,
    )  # fmt: skip
