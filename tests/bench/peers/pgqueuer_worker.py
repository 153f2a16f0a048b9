"""PgQueuer: jobs with `execute_after`, one queue manager with large batches and its shortest nap."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import asyncpg
from pgqueuer import AsyncpgPoolDriver, Job, QueueManager
from pgqueuer.queries import Queries

from tests.bench.peers.contest import Starter, read_task, until_told

NAP = timedelta(milliseconds=2)  # 100 ms unless told: then a steady trickle waits half of that


async def main() -> None:
    task = read_task()
    starter = Starter(task.recorder)
    async with asyncpg.create_pool(
        task.database, min_size=4, max_size=8, server_settings={"jit": "off"}
    ) as pool:
        queries = Queries(AsyncpgPoolDriver(pool))
        await queries.install()
        manager = QueueManager(queries)
        manager.min_dequeue_poll_interval = NAP

        @manager.entrypoint("start")
        async def start(job: Job) -> None:
            assert job.payload is not None
            await starter.start(int(job.payload))

        now = datetime.now(UTC)
        await queries.enqueue(
            ["start"] * len(task.due),
            [str(window).encode() for window, _ in task.due],
            [0] * len(task.due),
            [at - now for _, at in task.at()],
        )
        # It counts from when the statement runs, which is later: everybody gets the same due times.
        await pool.execute(
            "UPDATE pgqueuer q SET execute_after = d.at "
            "FROM unnest($1::text[], $2::timestamptz[]) AS d (window_id, at) "
            "WHERE convert_from(q.payload, 'UTF8') = d.window_id",
            [str(window) for window, _ in task.due],
            [at for _, at in task.at()],
        )
        await pool.execute("VACUUM ANALYZE pgqueuer")
        worker = asyncio.create_task(manager.run(batch_size=500))
        await until_told()
        manager.shutdown.set()
        await asyncio.wait({worker}, timeout=3)
    await starter.close()


if __name__ == "__main__":
    asyncio.run(main())
