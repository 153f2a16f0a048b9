"""The source design: every tick, claim what is due and start one after the other.

Its tick is 15 s. Here it is a tenth of that, so that a short run has enough ticks in it; its lateness is
therefore about a tenth of what plants see with it.
"""

from __future__ import annotations

import asyncio

import asyncpg

from tests.bench.peers.contest import Starter, read_task, until_told

TICK = 1.5


async def main() -> None:
    task = read_task()
    starter = Starter(task.recorder)
    connection = await asyncpg.connect(task.database)
    await connection.execute(
        "CREATE TABLE windows (id bigint PRIMARY KEY, start_at timestamptz, status text)"
    )
    await connection.executemany("INSERT INTO windows VALUES ($1, $2, 'pending')", task.at())
    await connection.execute("CREATE INDEX ON windows (start_at) WHERE status = 'pending'")

    async def tick() -> None:
        while True:
            due = await connection.fetch(
                "UPDATE windows SET status = 'starting' WHERE id IN (SELECT id FROM windows WHERE status = 'pending' "
                "AND start_at <= clock_timestamp() FOR UPDATE SKIP LOCKED) RETURNING id"
            )
            for row in due:
                await starter.start(row["id"])
                await connection.execute("UPDATE windows SET status = 'running' WHERE id = $1", row["id"])
            await asyncio.sleep(TICK)

    ticking = asyncio.create_task(tick())
    await until_told()
    ticking.cancel()
    await starter.close()


if __name__ == "__main__":
    asyncio.run(main())
