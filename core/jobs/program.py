"""A worker as a process of its own: what runs here can neither hold up nor take down the agent that records.

It is told what it needs by arguments, secrets by the environment. Its standard input is held open by whoever started
it: when that closes, also because the other was killed, the worker leaves.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
import threading
import zoneinfo
from collections.abc import Sequence
from pathlib import Path

from core.db.database import Database
from core.errors import DatabaseLost
from core.jobs.handlers.media import lower
from core.jobs.handlers.services import Services
from core.jobs.shipped import shipped
from core.jobs.worker import Worker

log = logging.getLogger(__name__)
BATCH = 2  # of the batch queue at once: transcoding more at a time makes none of them ready sooner
LEAVING = 2.0  # an agent that is restarted must be back soon; what is handed back is done again
RETRY = 1.0
URL, SYNC_TOKEN = "AIRLOCK_DATABASE_URL", "AIRLOCK_SYNC_TOKEN"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="airlock worker", description="A worker for background jobs.")
    made.add_argument("--node", required=True)
    made.add_argument("--media", type=Path, required=True)
    made.add_argument("--ffmpeg", required=True)
    made.add_argument("--concurrency", type=int, default=10)
    return made


async def run(given: argparse.Namespace, url: str) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    _leave_with_parent(loop, stop)
    database = Database(url, f"jobs {given.node}")
    services = Services(database, given.node, given.media, given.ffmpeg, os.environ.get(SYNC_TOKEN, ""))
    worker = Worker(
        # With its number: the worker of an agent that was killed may still be leaving when the next one comes.
        database, f"{given.node} jobs {os.getpid()}", shipped(), services, node=given.node,
        concurrency=given.concurrency, per_queue={"batch": BATCH}, leaving=LEAVING,
    )  # fmt: skip
    try:
        while not stop.is_set():
            try:
                await database.open()
                break
            except DatabaseLost as error:
                log.info("%s", error)
                await asyncio.sleep(RETRY)
        await worker.run(stop)
    finally:
        await database.close()


def _leave_with_parent(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    def wait() -> None:
        while sys.stdin.buffer.read(1024):
            pass
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=wait, name="parent", daemon=True).start()


def main(arguments: Sequence[str] | None = None) -> int:
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    zoneinfo.reset_tzpath(to=())
    given = parser().parse_args(arguments)
    url = os.environ.get(URL, "")
    if not url:
        log.error("No plant is named: set %s.", URL)
        return 1
    lower(os.getpid())
    asyncio.run(run(given, url))
    return 0
