"""procrastinate: deferred jobs with `schedule_at`, one asynchronous worker.

Jobs that become due announce nothing, so the worker finds them by polling; it polls as often as it bears.
"""

from __future__ import annotations

import asyncio
import logging
from itertools import groupby

import procrastinate

from tests.bench.peers.contest import Starter, read_task, until_told

POLL = 0.02


async def main() -> None:
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    task = read_task()
    starter = Starter(task.recorder)
    app = procrastinate.App(
        connector=procrastinate.PsycopgConnector(
            conninfo=task.database, kwargs={"options": "-c jit=off"}, min_size=4, max_size=16
        )
    )

    @app.task(name="start")
    async def start(window: int) -> None:
        await starter.start(window)

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for at, group in groupby(task.at(), key=lambda pair: pair[1]):
            await start.configure(schedule_at=at).batch_defer_async(
                *({"window": window} for window, _ in group)
            )
        worker = asyncio.create_task(
            app.run_worker_async(
                concurrency=600,
                fetch_job_polling_interval=POLL,
                listen_notify=True,
                install_signal_handlers=False,
                delete_jobs="always",
            )
        )
        await until_told()
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
    await starter.close()


if __name__ == "__main__":
    asyncio.run(main())
