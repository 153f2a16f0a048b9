"""A real headless station with two passengers that make its leadership visible.

The beacon is a lane like any other: while the station leads it writes a row every few milliseconds,
and asks `lead.trusted()` before each, as every lane of the product does.

The relic is what a paused leader wakes up with: a connection born with an epoch, kept after the
epoch is over, that writes without asking anybody. Only the database can stop it.

Both note what the database refused in a file of their own, since refusals leave nothing in a table.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from pathlib import Path

import asyncpg

from core.clock import steady
from core.db.database import CONNECTION_ERRORS, Connection, Database, close_connection
from core.errors import AirlockError
from core.lanes import LaneContext
from core.leadership import Lead
from core.station import Identity, Station

log = logging.getLogger(__name__)
INSERT = "INSERT INTO beacons (epoch, kind, pid, act) VALUES ($1, $2, $3, $4)"
EVERY = 0.005
LOOK = 0.02
ASLEEP = 1.0  # a gap in the event loop as long as this means that the process was stopped
INSIST = 3.0  # seconds for which a relic tries after its epoch was lost


class Notes:
    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", buffering=1)

    def add(self, what: str, epoch: int, act: float, outcome: str) -> None:
        self._file.write(json.dumps({"what": what, "epoch": epoch, "act": act, "outcome": outcome}) + "\n")


class Beacon:
    name = "beacon"

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    async def run(self, context: LaneContext) -> None:
        lead = context.lead
        while not context.stopping.is_set():
            async with lead.pool.acquire() as connection:
                act = steady()
                if lead.trusted():
                    try:
                        await connection.execute(INSERT, lead.epoch, "beacon", os.getpid(), act)
                    except CONNECTION_ERRORS:
                        raise
                    except asyncpg.PostgresError as error:
                        self._notes.add("beacon", lead.epoch, act, error.sqlstate or "")
                        raise
            await asyncio.sleep(EVERY)


class Relic:
    def __init__(self, database: Database, notes: Notes) -> None:
        self._database = database
        self._notes = notes
        self._kept: dict[int, Connection] = {}
        self._one_at_a_time = asyncio.Lock()
        self._leading: int | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def lead_changed(self, lead: Lead | None) -> None:
        if lead is not None:
            self._leading = lead.epoch
            self._spawn(self._keep(lead.epoch))
        elif self._leading is not None:
            epoch, self._leading = self._leading, None
            self._spawn(self._insist(epoch))

    def _spawn(self, coroutine: object) -> None:
        task = asyncio.ensure_future(coroutine)  # type: ignore[call-overload]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep(self, epoch: int) -> None:
        try:
            self._kept[epoch] = await self._database.connect("relic", {"airlock.epoch": str(epoch)})
        except AirlockError as error:
            log.info("no relic of epoch %d: %s", epoch, error)

    async def watch(self) -> None:
        """Writes at once when the process wakes from having been stopped."""
        last = steady()
        while True:
            await asyncio.sleep(LOOK)
            asleep = steady() - last
            if asleep > ASLEEP:
                log.info("woke after %.1f s", asleep)
                for epoch in list(self._kept):
                    await self._write(epoch)
            last = steady()

    async def _insist(self, epoch: int) -> None:
        """Goes on writing after the loss, until refused: then there is no doubt left."""
        until = steady() + INSIST
        while steady() < until:
            if await self._write(epoch) is not None:
                break
            await asyncio.sleep(LOOK)
        if epoch in self._kept:
            await close_connection(self._kept.pop(epoch))

    async def _write(self, epoch: int) -> str | None:
        async with self._one_at_a_time:
            if epoch not in self._kept:
                return "gone"
            act = steady()
            try:
                await self._kept[epoch].execute(INSERT, epoch, "relic", os.getpid(), act)
            except CONNECTION_ERRORS:
                return "gone"
            except asyncpg.PostgresError as error:
                self._notes.add("relic", epoch, act, error.sqlstate or "")
                return error.sqlstate
            return None


async def run(url: str, name: str, notes: Notes) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    station = Station(url, Identity(name, "headless", "harness"), extra_lanes=[Beacon(notes)])
    relic = Relic(station.database, notes)
    station.on_lead(relic.lead_changed)
    watching = asyncio.create_task(relic.watch())
    await station.start()
    await stop.wait()
    watching.cancel()
    await station.stop()


def main() -> None:
    url, name, notes = sys.argv[1:4]
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    asyncio.run(run(url, name, Notes(Path(notes))))


if __name__ == "__main__":
    main()
