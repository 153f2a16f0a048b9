"""Forces handovers of the lead between real stations on a real database, and proves what happened.

Three headless stations are separate processes. One after another the leader is sent away, killed,
paused, cut off, or loses its database. After each the time is taken until an epoch exists that
acts, and whoever died is started again.

The proof is asked of the database afterwards, in SQL that knows nothing of the program: no write
of an epoch is later than the beginning of the next, and none of the two interleave.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any

import asyncpg

from core.db.database import CONNECTION_ERRORS, Connection, Database, close_connection
from core.db.migrate import migrate
from core.db.queries import beside
from core.embedded.postgres import EmbeddedPostgres
from core.errors import AirlockError

SQL = beside(__file__, "handover.sql")
ROOT = Path(__file__).resolve().parents[2]
NAMES = ("ALPHA", "BRAVO", "CHARLIE")


class Kind(StrEnum):
    CLEAN_EXIT = "clean exit"
    KILL = "kill -9"
    PAUSE = "paused"
    LOCK_ENDED = "lock session ended"
    ALL_ENDED = "all sessions ended"
    RESTART_FAST = "database restarted"
    RESTART_CRASH = "database crashed"


BARS = {
    Kind.CLEAN_EXIT: 0.2,
    Kind.KILL: 1.0,
    Kind.PAUSE: 6.0,
    Kind.LOCK_ENDED: 1.0,
    Kind.ALL_ENDED: 1.0,
    Kind.RESTART_FAST: 2.0,
    Kind.RESTART_CRASH: 2.0,
}


@dataclass(frozen=True)
class Handover:
    kind: Kind
    old: int
    new: int
    seconds: float  # until the new epoch's first write, by the database's clock


@dataclass
class Proof:
    beacons: int = 0
    epochs: int = 0
    refused_awake: int = 0  # writes of a continued ex-leader, all refused
    refused: int = 0  # of everybody
    overlap: dict[int, float] = field(default_factory=dict)  # seconds by which acts of two epochs overlapped
    problems: list[str] = field(default_factory=list)


@contextmanager
def folder_for_a_plant() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="airlock-handover-"))
    folder.chmod(0o755)  # the database runs as a user of its own when we are root
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class HarnessError(Exception):
    """The plant under test did not do what the next step needs."""


class StationProcess:
    def __init__(self, url: str, name: str, folder: Path) -> None:
        self.name = name
        self.notes_file = folder / f"{name}.notes"
        self._url = url
        self._log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "tests.faults.station_process"]
            # In a session of its own: when a shell that started us in the background ends, the system
            # continues whatever is stopped in its process groups, and a paused leader would wake.
            self._process = subprocess.Popen(
                [*command, self._url, self.name, str(self.notes_file)],
                cwd=ROOT, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def send(self, what: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(what)

    async def ended(self) -> int:
        assert self._process is not None
        return await asyncio.to_thread(self._process.wait, 15)

    def end(self) -> None:
        if self.alive:
            assert self._process is not None
            self._process.kill()
            self._process.wait()

    def last_words(self) -> list[str]:
        return self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:]

    def notes(self) -> list[dict[str, Any]]:
        if not self.notes_file.exists():
            return []
        return [json.loads(line) for line in self.notes_file.read_text(encoding="utf-8").splitlines()]


class Plant:
    """The database, the three stations, and the hand that breaks them."""

    def __init__(self, folder: Path, seed: int, stations: int = 3) -> None:
        self._folder = folder
        self._random = random.Random(seed)
        self._postgres = EmbeddedPostgres(folder / "plant")
        self._names = NAMES[:stations]
        self.stations: dict[str, StationProcess] = {}
        self.url = ""
        self._paused: set[int] = set()

    async def open(self) -> None:
        running = await asyncio.to_thread(self._postgres.start)
        self.url = running.url
        connection = await Database(self.url, "harness").connect("harness")
        # No durability against a power cut is needed; without it a crash is as quick as a restart.
        await connection.execute("ALTER SYSTEM SET fsync = off")
        await connection.execute("SELECT pg_reload_conf()")
        await migrate(connection)
        await connection.execute(SQL.make_beacons)
        await connection.close()
        for name in self._names:
            self.stations[name] = StationProcess(self.url, name, self._folder)
            self.stations[name].start()
        await self.settle()

    async def close(self) -> None:
        for station in self.stations.values():
            station.end()
        await asyncio.to_thread(self._postgres.stop)

    async def ask(self, statement: str, *arguments: object) -> list[asyncpg.Record]:
        """One question on a connection of its own: the database may go at any moment."""
        connection: Connection = await Database(self.url, "harness").connect("harness")
        try:
            return await connection.fetch(statement, *arguments)
        finally:
            await close_connection(connection)

    async def until(self, what: str, holds: Callable[[], Awaitable[Any]], within: float) -> Any:
        deadline = time.monotonic() + within
        while True:
            try:
                if found := await holds():
                    return found
            except (AirlockError, asyncpg.PostgresError, *CONNECTION_ERRORS):
                pass  # the database is away: that is what we are here for
            if time.monotonic() > deadline:
                raise HarnessError(f"{what} did not happen within {within} s")
            await asyncio.sleep(0.01)

    async def settle(self, followers: int | None = None) -> None:
        """Waits until one leads and acts, and the others stand in the queue."""
        wanted = len(self._names) - 1 if followers is None else followers
        for station in self.stations.values():
            if not station.alive:  # it was starting when the database went, and said so
                station.start()

        async def settled() -> bool:
            (row,) = await self.ask(SQL.settled)
            return bool(row["acts"]) and row["waiting"] >= wanted

        await self.until("one leader and its followers", settled, 15)

    async def force(self, kind: Kind) -> Handover:
        """One handover; raises HarnessError when nobody takes over."""
        (leader,) = await self.ask(SQL.leader)
        epoch: int = leader["epoch"]
        station = self.stations[leader["station"]]
        began = time.time()
        if kind is Kind.CLEAN_EXIT:
            station.send(signal.SIGTERM)
        elif kind is Kind.KILL:
            station.send(signal.SIGKILL)
        elif kind is Kind.PAUSE:
            station.send(signal.SIGSTOP)
        elif kind is Kind.LOCK_ENDED:
            await self.ask(SQL.end_lock_session)
        elif kind is Kind.ALL_ENDED:
            await self.ask(SQL.end_all_sessions, leader["station"])
        else:
            began = await self._restart("fast" if kind is Kind.RESTART_FAST else "immediate")

        async def succeeded() -> asyncpg.Record | None:
            rows = await self.ask(SQL.first_beacon_after, epoch)
            return rows[0] if rows else None

        first = await self.until(f"a leader after {kind}", succeeded, 20)
        if kind is Kind.PAUSE:
            await self._continue(station, epoch)
        elif kind is Kind.CLEAN_EXIT:
            if (code := await station.ended()) != 0:
                raise HarnessError(f"{station.name} left with exit code {code}")
            station.start()
        elif kind is Kind.KILL:
            await station.ended()
            station.start()
        return Handover(kind, epoch, first["epoch"], first["at"].timestamp() - began)

    async def _restart(self, mode: str) -> float:
        def restart() -> None:
            data = str(self._postgres.data)
            self._postgres._run("pg_ctl", "-w", "-t", "30", "-m", mode, "-D", data, "stop")
            self._postgres.start()

        await asyncio.to_thread(restart)
        return self._database_returned()

    def _database_returned(self) -> float:
        """When the server last said that it is ready, by its own log: not when we noticed."""
        lines = self._postgres.log.read_text(encoding="utf-8", errors="replace").splitlines()
        ready = [line for line in lines if "database system is ready to accept connections" in line]
        said = datetime.strptime(ready[-1][:23], "%Y-%m-%d %H:%M:%S.%f")
        return said.replace(tzinfo=UTC).timestamp()

    async def _continue(self, station: StationProcess, epoch: int) -> None:
        """Wakes the paused leader, which must try to write and be refused."""
        await asyncio.sleep(self._random.uniform(0, 0.5))
        self._paused.add(epoch)
        station.send(signal.SIGCONT)

        async def refused() -> bool:
            return any(n["what"] == "relic" and n["epoch"] == epoch for n in station.notes())

        await self.until(f"an attempt of the continued {station.name}", refused, 5)

    async def run(self, rounds: int, told: Callable[[Handover], None] = lambda _: None) -> list[Handover]:
        """So many handovers of all kinds, in an order that the seed decides."""
        kinds = [kind for _ in range(rounds // len(Kind) + 1) for kind in Kind][:rounds]
        self._random.shuffle(kinds)
        done = []
        for kind in kinds:
            # Every phase of the leader's second must be hit, and not every round with all of them there.
            await self.settle(self._random.choice((None, None, 1)))
            await asyncio.sleep(self._random.uniform(0, 1.1))
            try:
                done.append(await self.force(kind))
            except HarnessError as error:
                error.add_note(await self.describe())
                raise
            told(done[-1])
        await self.settle()
        return done

    async def describe(self) -> str:
        """What the database and the stations were doing: for whoever has to find out why."""
        rows = [*await self.ask(SQL.sessions), *await self.ask(SQL.locks), *await self.ask(SQL.terms)]
        lines = [str(dict(row)) for row in rows]
        for station in self.stations.values():
            lines += [f"-- {station.name}, {'alive' if station.alive else 'dead'}", *station.last_words()]
        return "\n".join(lines)

    async def prove(self) -> Proof:
        (counted,) = await self.ask(SQL.count)
        proof = Proof(beacons=counted["beacons"], epochs=counted["epochs"])
        for row in await self.ask(SQL.violations):
            proof.problems.append(f"{row['what']}: epoch {row['epoch']}, {row['detail']}")
        notes = [note for station in self.stations.values() for note in station.notes()]
        for note in notes:
            if note["outcome"] != "AL001":
                proof.problems.append(f"refused for another reason than the fence: {note}")
        proof.refused = len(notes)
        awake = [n for n in notes if n["what"] == "relic" and n["epoch"] in self._paused]
        proof.refused_awake = len(awake)
        for epoch in self._paused - {n["epoch"] for n in awake}:
            proof.problems.append(f"the continued leader of epoch {epoch} was not seen to try")
        await self._compare_acts(proof, notes)
        return proof

    async def _compare_acts(self, proof: Proof, notes: list[dict[str, Any]]) -> None:
        """When each epoch decided to act, refused or not, by the machine's own counter."""
        rows = await self.ask(SQL.acts)
        refused = {n["epoch"]: n["act"] for n in notes if n["what"] == "beacon"}
        for earlier, later in pairwise(rows):
            last = max(earlier["last"], refused.get(earlier["epoch"], 0.0))
            if last >= later["first"]:
                proof.overlap[earlier["epoch"]] = last - later["first"]
