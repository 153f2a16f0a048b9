"""Jobs on a real database: a driven clock for the leader's lane, and workers with handlers of the test's own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from core.db.database import Connection, Database
from core.jobs.lane import Term
from core.jobs.registry import Handler, Registry
from core.jobs.worker import Worker
from core.lanes import LaneContext
from tests.patience import Patience

TICK = timedelta(seconds=5)


class Hands:
    """A worker under test and what it takes to end it."""

    def __init__(self, worker: Worker, stop: asyncio.Event, task: asyncio.Task[None]) -> None:
        self.worker, self.stop, self.task = worker, stop, task

    async def leave(self) -> None:
        self.stop.set()
        await self.task


class Driven:
    """The plant's clock as the lane sees it: the database's, moved by as much as the test likes."""

    def __init__(self, base: datetime) -> None:
        self.at = base

    def now(self) -> datetime:
        return self.at


@pytest.fixture
async def database(plant: str) -> AsyncIterator[Database]:
    made = Database(plant, "test")
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def clock(connection: Connection) -> Driven:
    return Driven(await connection.fetchval("SELECT clock_timestamp()"))


MakeTerm = Callable[..., Awaitable[Term]]


@pytest.fixture
async def make_term(database: Database, clock: Driven) -> AsyncIterator[MakeTerm]:
    """The lane's work, a pass at a time, by the driven clock and without an election."""
    pools = []

    async def make(registry: Registry | None = None, tick: timedelta = TICK) -> Term:
        pool = await database.open_pool("lane", 2)
        pools.append(pool)
        context = SimpleNamespace(clock=clock, lead=SimpleNamespace(pool=pool))
        return Term(cast(LaneContext, context), registry or Registry(), tick)

    yield make
    for pool in pools:
        pool.terminate()


Work = Callable[..., Hands]


@pytest.fixture
async def work(database: Database) -> AsyncIterator[Work]:
    """Starts a worker with the handlers given by name."""
    made: list[Hands] = []

    def start(name: str = "w1", *, node: str = "", concurrency: int = 10, **handlers: Handler | Any) -> Hands:
        per_queue = handlers.pop("per_queue", None)
        registry = Registry()
        for handler, body in handlers.items():
            registry.add(handler, body)
        worker = Worker(database, name, registry, node=node, concurrency=concurrency, per_queue=per_queue)
        stop = asyncio.Event()
        made.append(Hands(worker, stop, asyncio.create_task(worker.run(stop))))
        return made[-1]

    yield start
    for hands in made:
        hands.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await hands.task


Until = Callable[..., Awaitable[None]]


@pytest.fixture
async def until(connection: Connection) -> Until:
    """Waits until a question to the database has the answer wanted."""

    async def wait(question: str, wanted: object, *arguments: object, within: float = 20.0) -> None:
        patience = Patience(within)
        while (found := await connection.fetchval(question, *arguments)) != wanted:
            if patience.over():
                pytest.fail(f"{question} is {found!r}, not {wanted!r}")
            await asyncio.sleep(0.01)

    return wait


AddJob = Callable[..., Awaitable[int]]


@pytest.fixture
async def add_job(connection: Connection) -> AddJob:
    """A recurring job by plain SQL, as another system would enter it."""

    async def add(name: str = "nightly", cron: str = "*/10 * * * *", **columns: Any) -> int:
        columns = {"name": name, "cron": cron, "handler": "work", **columns}
        places = ", ".join(f"${n + 1}" for n in range(len(columns)))
        return int(
            await connection.fetchval(
                f"INSERT INTO cron_jobs ({', '.join(columns)}) VALUES ({places}) RETURNING id",
                *columns.values(),
            )
        )

    return add
