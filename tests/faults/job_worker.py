"""A real worker whose one handler leaves its traces under its lease: `job_worker URL NAME`.

Each trace is written only while the database says that the run is still this lease's. A trace that is refused ends
the handler: somebody else holds the run.
"""

from __future__ import annotations

import asyncio
import logging
import random
import signal
import sys

from core.db.database import Database
from core.errors import DatabaseLost
from core.jobs.registry import JobFailed, Registry, RunContext
from core.jobs.worker import Worker

TRACE = """
WITH mine AS (SELECT id FROM job_runs WHERE id = $1 AND lease_token = $2 FOR UPDATE)
INSERT INTO traces (run_id, token, worker, step) SELECT id, $2, $3, $4 FROM mine RETURNING id
"""
STEPS = 4


async def main(url: str, name: str) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    database = Database(url, name)

    async def leave_traces(context: RunContext) -> dict[str, int]:
        for step in range(STEPS):
            async with database.acquire() as connection:
                if not await connection.fetchval(TRACE, context.lease.id, context.lease.token, name, step):
                    raise JobFailed("The lease is gone.", code="lost")
            context.progress = (step + 1) / STEPS
            await asyncio.sleep(random.uniform(0, 0.06))
        if random.random() < 0.05:
            raise JobFailed("It failed by chance.")
        return {"steps": STEPS}

    registry = Registry()
    registry.add("leave_traces", leave_traces)
    while True:
        try:
            await database.open()
            break
        except DatabaseLost:
            await asyncio.sleep(0.2)
    await Worker(database, name, registry, concurrency=6).run(stop)
    await database.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    asyncio.run(main(sys.argv[1], sys.argv[2]))
