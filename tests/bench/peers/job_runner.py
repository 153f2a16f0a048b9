"""One contestant of the job bench: `job_runner NAME URL JOBS PICKUPS`. Prints its figures as one line of JSON."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

import asyncpg

BATCH = 500
Put = Callable[[list[float]], Awaitable[None]]


class Count:
    """What the handlers tell: how many have begun, and how long after they were put in."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.done = 0
        self.waits: list[float] = []
        self.all = asyncio.Event()

    def note(self, put_in_at: float) -> None:
        self.done += 1
        if put_in_at:
            self.waits.append((time.time() - put_in_at) * 1000)
        if self.done == self.wanted:
            self.all.set()


async def trickle(put: Put, count: Count, pickups: int) -> list[float]:
    count.done, count.wanted = 0, pickups
    count.all.clear()
    for _ in range(pickups):
        await put([time.time()])
        await asyncio.sleep(0.02)
    await asyncio.wait_for(count.all.wait(), 30)
    return count.waits


async def drained(connection: asyncpg.Connection, left: str) -> None:
    while await connection.fetchval(left):  # noqa: ASYNC110 - the database has no event for it
        await asyncio.sleep(0.002)


async def airlock(url: str, jobs: int, pickups: int) -> tuple[float, list[float]]:
    from core.db.database import Database
    from core.db.migrate import migrate
    from core.jobs import store
    from core.jobs.registry import Registry, RunContext
    from core.jobs.worker import Worker

    database = Database(url, "bench")
    connection = await database.connect("bench")
    await migrate(connection)
    count = Count(jobs)

    async def nothing(context: RunContext) -> None:
        count.note(context.arguments.get("at", 0))

    async def put(at: list[float]) -> None:
        await store.enqueue(connection, "nothing", [{"at": a} if a else {} for a in at])

    await put([0.0] * jobs)
    await connection.execute("VACUUM ANALYZE job_runs")
    registry = Registry()
    registry.add("nothing", nothing)
    stop = asyncio.Event()
    began = time.perf_counter()
    worker = asyncio.create_task(Worker(database, "bench", registry, concurrency=BATCH).run(stop))
    await count.all.wait()
    await drained(
        connection, "SELECT EXISTS (SELECT 1 FROM job_runs WHERE status = 'running' AND stale_at IS NOT NULL)"
    )
    seconds = time.perf_counter() - began
    assert await connection.fetchval("SELECT count(*) FROM job_runs WHERE status = 'completed'") == jobs
    waits = await trickle(put, count, pickups)
    stop.set()
    await worker
    await connection.close()
    return jobs / seconds, waits


async def pgqueuer(url: str, jobs: int, pickups: int) -> tuple[float, list[float]]:
    from pgqueuer import AsyncpgPoolDriver, Job, QueueManager
    from pgqueuer.queries import Queries

    async with asyncpg.create_pool(url, min_size=4, max_size=8, server_settings={"jit": "off"}) as pool:
        queries = Queries(AsyncpgPoolDriver(pool))
        await queries.install()
        count = Count(jobs)

        async def put(at: list[float]) -> None:
            await queries.enqueue(["nothing"] * len(at), [str(a).encode() for a in at], [0] * len(at))

        for _ in range(jobs // 1000):
            await put([0.0] * 1000)
        await pool.execute("VACUUM ANALYZE pgqueuer")
        manager = QueueManager(queries)
        manager.min_dequeue_poll_interval = timedelta(milliseconds=2)

        @manager.entrypoint("nothing")
        async def nothing(job: Job) -> None:
            count.note(float(job.payload or b"0"))

        began = time.perf_counter()
        worker = asyncio.create_task(manager.run(batch_size=BATCH))
        await count.all.wait()
        async with pool.acquire() as connection:
            await drained(connection, "SELECT EXISTS (SELECT 1 FROM pgqueuer)")
        seconds = time.perf_counter() - began
        waits = await trickle(put, count, pickups)
        manager.shutdown.set()
        await asyncio.wait({worker}, timeout=3)
    return jobs / seconds, waits


async def procrastinate(url: str, jobs: int, pickups: int) -> tuple[float, list[float]]:
    import procrastinate as peer

    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    connector = peer.PsycopgConnector(conninfo=url, kwargs={"options": "-c jit=off"}, min_size=4, max_size=16)
    app = peer.App(connector=connector)
    count = Count(jobs)

    @app.task(name="nothing")
    async def nothing(at: float) -> None:
        count.note(at)

    async def put(at: list[float]) -> None:
        await nothing.batch_defer_async(*({"at": a} for a in at))

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await put([0.0] * jobs)
        began = time.perf_counter()
        worker = asyncio.create_task(
            app.run_worker_async(
                concurrency=16, fetch_job_polling_interval=0.02, listen_notify=True,
                install_signal_handlers=False, delete_jobs="always",
            )
        )  # fmt: skip
        await count.all.wait()
        seconds = time.perf_counter() - began
        waits = await trickle(put, count, pickups)
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
    return jobs / seconds, waits


def main() -> None:
    name, url, jobs, pickups = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    contestant = {"airlock": airlock, "pgqueuer": pgqueuer, "procrastinate": procrastinate}[name]
    speed, waits = asyncio.run(contestant(url, jobs, pickups))
    print(json.dumps({"per_second": speed, "pickup_ms": waits}))


if __name__ == "__main__":
    main()
