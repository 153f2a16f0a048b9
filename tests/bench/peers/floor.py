"""The floor: a timer per window and nothing else. It survives nothing; it is what the language can do."""

from __future__ import annotations

import asyncio
import time

from tests.bench.peers.contest import Starter, read_task, until_told


async def main() -> None:
    task = read_task()
    starter = Starter(task.recorder)
    loop = asyncio.get_running_loop()
    offset = loop.time() - time.time()
    running: set[asyncio.Task[None]] = set()

    def fire(window: int) -> None:
        started = loop.create_task(starter.start(window))
        running.add(started)
        started.add_done_callback(running.discard)

    for window, at in task.due:
        loop.call_at(at + offset, fire, window)
    await until_told()
    await starter.close()


if __name__ == "__main__":
    asyncio.run(main())
