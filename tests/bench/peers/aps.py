"""APScheduler 3 on its asyncio scheduler and executor. `memory` or `postgresql` says where its jobs are kept."""

from __future__ import annotations

import asyncio
import sys

from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from tests.bench.peers.contest import Starter, read_task, until_told

starter: Starter


async def start(window: int) -> None:  # a job kept in a database is found again by its name
    await starter.start(window)


async def main() -> None:
    global starter
    task = read_task()
    starter = Starter(task.recorder)
    if sys.argv[1] == "memory":
        store = MemoryJobStore()
    else:
        store = SQLAlchemyJobStore(
            task.database.replace("postgresql://", "postgresql+psycopg://"),
            engine_options={"connect_args": {"options": "-c jit=off"}},
        )
    scheduler = AsyncIOScheduler(jobstores={"default": store}, job_defaults={"misfire_grace_time": None})
    for window, at in task.at():
        scheduler.add_job("tests.bench.peers.aps:start", "date", run_date=at, args=[window], id=str(window))
    scheduler.start()
    await until_told()
    scheduler.shutdown(wait=False)
    await starter.close()


if __name__ == "__main__":
    sys.modules["tests.bench.peers.aps"] = sys.modules["__main__"]
    asyncio.run(main())
