"""What the jobs panel shows, read at one moment. Nothing here writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.db.database import AnyConnection, Database
from core.jobs import store
from core.jobs.model import CronJob, Run
from core.jobs.store import SQL, build_run

MOST_OPEN = 300
MOST_HISTORY = 300


@dataclass(frozen=True)
class Worker:
    name: str
    running: int
    concurrency: int
    last_seen_at: datetime


@dataclass(frozen=True)
class Recurring:
    job: CronJob
    last: Run | None


@dataclass(frozen=True)
class Picture:
    open: tuple[Run, ...] = ()  # what runs, then what waits, in the order in which it will be taken
    waiting: int = 0
    leases: int = 0
    recurring: tuple[Recurring, ...] = ()
    history: tuple[Run, ...] = ()
    workers: tuple[Worker, ...] = ()


async def read(database: Database) -> Picture:
    async with (
        database.acquire() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        return await _read(connection)


async def _read(connection: AnyConnection) -> Picture:
    counts = await store.waiting(connection)
    jobs = await store.jobs(connection)
    last = await store.last_runs(connection, [job.id for job in jobs])
    workers: Sequence[Any] = await connection.fetch(SQL.workers_here)
    leases = sum(n for (_, _, status), n in counts.items() if status == "running")
    return Picture(
        tuple(build_run(row) for row in await connection.fetch(SQL.open_runs, MOST_OPEN)),
        sum(counts.values()) - leases,
        leases,
        tuple(Recurring(job, last.get(job.id)) for job in jobs),
        tuple(build_run(row) for row in await connection.fetch(SQL.history, MOST_HISTORY)),
        tuple(Worker(w["name"], w["running"], w["concurrency"], w["last_seen_at"]) for w in workers),
    )
