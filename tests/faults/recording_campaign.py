"""Nothing starts twice, nothing is lost: recordings under fire.

Three real schedulers (`main.py scheduler`) drive a recorder that counts and misbehaves: it acts and then
stalls, acts and drops the connection, refuses, answers garbage. Meanwhile the leader is killed, paused
and cut off, and windows are cancelled, moved and extended. The checker shares no code with the core: it
reads the table, the recorder's own log, and knows only what was planned.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg

from tests.fakes import counting_recorder as fake

ROOT = Path(__file__).resolve().parents[2]
STATIONS = ("ALPHA", "BRAVO", "CHARLIE")
UNITS = 30
SETTLE = 5.0  # seconds after its end, and after somebody leads again, by which a window must be settled
TERMINAL = {"completed", "failed", "missed", "cancelled"}
MOODS = [fake.OBEY] * 10 + [fake.STALL, fake.DROP, fake.DROP, fake.REFUSE, fake.GARBAGE]


@dataclass
class Report:
    seed: int
    windows: int = 0
    states: dict[str, int] = field(default_factory=dict)
    disturbances: dict[str, int] = field(default_factory=dict)
    starts: int = 0
    worst_settle: float = 0.0
    problems: list[str] = field(default_factory=list)


class Scheduler:
    def __init__(self, url: str, name: str, folder: Path, token: str) -> None:
        self.name = name
        self._log = (folder / f"{name}.log").open("ab")
        self._environment = {**os.environ, "AIRLOCK_TOKEN": token, "AIRLOCK_HOME": str(folder / name)}
        self._url = url
        self.process: subprocess.Popen[bytes] | None = None
        self.paused = False

    def start(self) -> None:
        self.paused = False
        self.process = subprocess.Popen(
            [sys.executable, "main.py", "scheduler", "--database", self._url, "--station", self.name,
             "--tick-ms", "1000"],
            cwd=ROOT, stdout=self._log, stderr=self._log, env=self._environment,
        )  # fmt: skip

    def send(self, what: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(what)

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self._log.close()


class Campaign:
    def __init__(self, url: str, windows: int, seed: int, disturb_every: float) -> None:
        self._url = url
        self._count = windows
        self._random = random.Random(seed)
        self._disturb_every = disturb_every
        self.report = Report(seed)
        self._touched: set[int] = set()  # windows that were cancelled, moved or extended

    async def run(self) -> Report:
        with tempfile.TemporaryDirectory(prefix="airlock-faults-") as name:
            folder = Path(name)
            async with fake.CountingRecorder() as recorder:
                self._recorder = recorder
                recorder.mood = lambda unit, operation: self._random.choice(MOODS)
                self._connection = await asyncpg.create_pool(self._url, min_size=2, max_size=4)
                self._stations = [Scheduler(self._url, n, folder, recorder.token) for n in STATIONS]
                for station in self._stations:
                    station.start()
                try:
                    await self._wait_for_leader()
                    await self._lay_windows()
                    await self._under_fire()
                    await self._check()
                    if self.report.problems:
                        await self._explain()
                finally:
                    for station in self._stations:
                        station.end()
                    await self._connection.close()
        return self.report

    async def _wait_for_leader(self) -> None:
        for _ in range(400):
            if await self._leading():
                return
            await asyncio.sleep(0.05)
        raise TimeoutError("no station took the lead")

    async def _leading(self) -> bool:
        return bool(await self._connection.fetchval(
            "SELECT released_at IS NULL AND trusted_until > clock_timestamp() FROM leadership "
                "ORDER BY epoch DESC LIMIT 1"
        ))  # fmt: skip

    async def _lay_windows(self) -> None:
        """Windows of 1 to 4 seconds on each unit, some back to back, over as long as it takes."""
        now = datetime.now(UTC) + timedelta(seconds=1)
        each = -(-self._count // UNITS)
        self._last_end = now
        for number in range(UNITS):
            unit = await self._connection.fetchval(
                "INSERT INTO recorders (name, base_url, external_id, status) VALUES ($1, $2, $1, 'idle') RETURNING id",
                f"R{number}", self._recorder.url,
            )  # fmt: skip
            at = now + timedelta(seconds=self._random.random() * 3)
            for _ in range(each):
                length = timedelta(seconds=self._random.uniform(1, 4))
                await self._connection.execute(
                    "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) VALUES ($1, $2, $3, $4)",
                    f"W{number}", unit, at, at + length,
                )  # fmt: skip
                at += length + timedelta(seconds=self._random.choice([0.0, 0.0, 0.5, 1.5]))
                self.report.windows += 1
            self._last_end = max(self._last_end, at)

    async def _under_fire(self) -> None:
        done: defaultdict[str, int] = defaultdict(int)
        watcher = asyncio.create_task(self._watch_settling())
        while datetime.now(UTC) < self._last_end:
            await asyncio.sleep(self._disturb_every * self._random.uniform(0.5, 1.5))
            what = self._random.choices(
                [self._kill, self._pause, self._cut_off, self._leave, self._edit], [2, 1, 2, 1, 6]
            )[0]
            await what()
            done[what.__name__.strip("_")] += 1
            for station in self._stations:
                if station.process is not None and station.process.poll() is not None:
                    station.start()
        for station in self._stations:
            if station.paused:
                station.send(signal.SIGCONT)
        self.report.disturbances = dict(done)
        await watcher

    async def _leader(self) -> Scheduler | None:
        name = await self._connection.fetchval(
            "SELECT station FROM leadership WHERE released_at IS NULL ORDER BY epoch DESC LIMIT 1"
        )
        return next((s for s in self._stations if s.name == name), None)

    async def _kill(self) -> None:
        if leader := await self._leader():
            leader.send(signal.SIGKILL)
            assert leader.process is not None
            leader.process.wait()

    async def _leave(self) -> None:
        if (leader := await self._leader()) and not leader.paused:
            leader.send(signal.SIGTERM)

    async def _pause(self) -> None:
        leader = await self._leader()
        if leader is None or any(s.paused for s in self._stations):
            return
        leader.paused = True
        leader.send(signal.SIGSTOP)

        async def go_on() -> None:
            await asyncio.sleep(self._random.uniform(1, 8))
            if leader.paused and leader.process is not None and leader.process.poll() is None:
                leader.paused = False
                leader.send(signal.SIGCONT)

        self._resume = asyncio.create_task(go_on())

    async def _cut_off(self) -> None:
        await self._connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND application_name LIKE 'airlock %' AND random() < 0.5"
        )

    async def _edit(self) -> None:
        """An operator, or another system, changes something: by plain SQL."""
        rows = await self._connection.fetch(
            "SELECT id FROM recorder_schedules WHERE status IN ('pending', 'starting', 'running') "
            "AND start_at < clock_timestamp() + interval '2 s' ORDER BY random() LIMIT 1"
        )
        if not rows:
            return
        window = rows[0]["id"]
        change = self._random.choice(["cancel", "shorten", "later"])
        statement = {
            "cancel": "UPDATE recorder_schedules SET status = 'cancelled' WHERE id = $1 "
                      "AND status IN ('pending', 'starting', 'running')",
            "shorten": "UPDATE recorder_schedules SET end_at = end_at - interval '0.3 s' WHERE id = $1 "
                       "AND status IN ('pending', 'running') AND end_at - start_at > interval '1 s'",
            "later": "UPDATE recorder_schedules SET start_at = start_at + interval '0.4 s' WHERE id = $1 "
                     "AND status = 'pending' AND end_at - start_at > interval '1 s'",
        }[change]  # fmt: skip
        if (await self._connection.execute(statement, window)).endswith(" 1"):
            self._touched.add(window)

    async def _watch_settling(self) -> None:
        """Each window is settled within SETTLE of its end, or of the time somebody leads again."""
        led_since: float | None = time.monotonic()
        while True:
            led_since = led_since or time.monotonic() if await self._leading() else None
            late = await self._connection.fetchrow(
                "SELECT count(*) AS open, extract(epoch FROM clock_timestamp() - min(end_at)) AS late "
                "FROM recorder_schedules WHERE status IN ('pending', 'starting', 'running', 'stopping')"
            )
            if late["open"] == 0 and datetime.now(UTC) > self._last_end:
                return
            if led_since is not None and late["late"] is not None:
                settle = min(float(late["late"]), time.monotonic() - led_since)
                self.report.worst_settle = max(self.report.worst_settle, settle)
                if settle > SETTLE + 10:
                    self.report.problems.append(
                        f"{late['open']} windows are not settled {settle:.1f} s after their end"
                    )
                    return
            await asyncio.sleep(0.05)

    async def _check(self) -> None:
        await asyncio.sleep(1.0)  # a cancelled window may still be waiting for its recorder's word
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and any(  # noqa: ASYNC110 - the recorder has no event for it
            u.session for u in self._recorder.units.values()
        ):
            await asyncio.sleep(0.1)
        problems = self.report.problems
        if self.report.worst_settle > SETTLE:
            problems.append(f"a window was settled only {self.report.worst_settle:.1f} s after its end")
        for name, unit in self._recorder.units.items():
            if unit.session is not None:
                problems.append(f"{name} still records window {unit.window}")
        rows = {r["id"]: r for r in await self._connection.fetch("SELECT * FROM recorder_schedules")}
        starts: defaultdict[int, list[fake.Event]] = defaultdict(list)
        stops: defaultdict[int, list[fake.Event]] = defaultdict(list)
        for event in self._recorder.log:
            if event.what == "start" and event.window is not None:
                starts[event.window].append(event)
            if event.what == "stop" and event.window is not None:
                stops[event.window].append(event)
        self.report.starts = sum(len(s) for s in starts.values())
        for window, row in rows.items():
            status = row["status"]
            self.report.states[status] = self.report.states.get(status, 0) + 1
            if status not in TERMINAL:
                problems.append(f"window {window} is left {status}")
            begun, ended = starts[window], stops[window]
            if len(begun) > 1 and window not in self._touched:
                problems.append(f"window {window} was started {len(begun)} times")
            if len({e.key for e in begun}) != len(begun):
                problems.append(f"window {window} was started twice with one key")
            if status == "completed" and (not begun or not ended):
                problems.append(f"window {window} is completed without a start and a stop")
            if status == "missed" and begun:
                problems.append(f"window {window} is missed although it was recorded")
            if window not in self._touched:
                for event in begun:
                    if event.at < row["start_at"].timestamp() - 0.002:
                        problems.append(f"window {window} was started early")
                for event in ended:
                    if event.at < row["end_at"].timestamp() - 0.002:
                        problems.append(f"window {window} was stopped before its end")

    async def _explain(self) -> None:
        """What is known of each window that a problem names: its row, its attempts, the recorder's log."""
        for window in sorted({int(n) for p in self.report.problems for n in re.findall(r"window (\d+)", p)}):
            row = await self._connection.fetchrow("SELECT * FROM recorder_schedules WHERE id = $1", window)
            attempts = await self._connection.fetch(
                "SELECT at, attempt, operation, outcome, message FROM recorder_attempts "
                "WHERE schedule_id = $1 ORDER BY id",
                window,
            )
            sessions = {e.session for e in self._recorder.log if e.window == window and e.session}
            begin = row["start_at"].timestamp()
            print(f"window {window}: {row['status']} attempt {row['attempt']} {row['error_message']!r} "
                  f"lasts {(row['end_at'] - row['start_at']).total_seconds():.3f} s")  # fmt: skip
            for event in self._recorder.log:
                if event.window == window or event.session in sessions:
                    print(
                        f"  {event.at - begin:8.3f} {event.what} {(event.session or '')[:6]} {event.key or ''}"
                    )
            for a in attempts:
                print(
                    f"  {a['at'].timestamp() - begin:8.3f} {a['operation']} {a['attempt']} "
                    f"{a['outcome']}: {a['message']}"
                )


async def campaign(url: str, windows: int, seed: int, disturb_every: float = 1.2) -> Report:
    return await Campaign(url, windows, seed, disturb_every).run()
