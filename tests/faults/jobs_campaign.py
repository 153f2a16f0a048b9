"""Each plan has one run, each run one end, and nobody works on it beside anybody else: jobs under fire.

Three real schedulers and six real workers. Jobs come with plans that were missed, all to be made up, while leaders and
workers are killed, paused and cut off, and the database is restarted. The checker reads tables of its own.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from tests.faults.recording_campaign import STATIONS, Scheduler

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = Path(__file__).with_name("jobs_campaign.sql")
WORKERS = 6
SETTLE = 240.0  # seconds after the fire within which all must be over: the longest pause between attempts, and work
ADD = """
INSERT INTO cron_jobs (name, cron, handler, catch_up, overlap, max_attempts, stale_timeout, time_limit, last_plan_at)
VALUES ($1, '* * * * *', 'leave_traces', 'every', 'queue', 25, '2 s', '20 s',
    date_trunc('minute', now()) - $2 * interval '1 min')
"""
# From the first to the last: every minute since it was entered has a plan, and none twice.
PLANS = """
SELECT j.name, count(r.id) AS runs, count(DISTINCT r.plan_time) AS plans,
    (extract(epoch FROM max(r.plan_time) - min(r.plan_time)) / 60)::int + 1 AS minutes
FROM cron_jobs j LEFT JOIN job_runs r ON r.job_id = j.id WHERE j.handler = 'leave_traces' GROUP BY j.name
"""


@dataclass
class Report:
    seed: int
    plans: int = 0
    states: dict[str, int] = field(default_factory=dict)
    disturbances: dict[str, int] = field(default_factory=dict)
    attempts: int = 0
    leases_lost: int = 0
    epochs: int = 0
    settled_s: float = 0.0
    problems: list[str] = field(default_factory=list)


class Hand:
    """A worker process."""

    def __init__(self, url: str, name: str, folder: Path) -> None:
        self._url, self.name = url, name
        self._log = (folder / f"{name}.log").open("ab")
        self.paused = False
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.paused = False
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.job_worker", self._url, self.name],
            cwd=ROOT, stdout=self._log, stderr=self._log, env=dict(os.environ),
        )  # fmt: skip

    def send(self, what: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(what)

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self._log.close()


Anybody = Hand | Scheduler


class Campaign:
    def __init__(
        self, url: str, jobs: int, plans: int, seed: int, restart: Callable[[], None] | None, every: float
    ) -> None:
        self._url, self._jobs, self._plans = url, jobs, plans
        self._random = random.Random(seed)
        self._restart, self._every = restart, every
        self._count: Counter[str] = Counter()
        self.report = Report(seed)

    async def run(self) -> Report:
        with tempfile.TemporaryDirectory(prefix="airlock-faults-") as name:
            folder = Path(name)
            await self._ask(SCHEMA.read_text(encoding="utf-8"))
            self._stations = [Scheduler(self._url, n, folder, "token") for n in STATIONS]
            self._hands = [Hand(self._url, f"hand-{n}", folder) for n in range(WORKERS)]
            everybody: list[Anybody] = [*self._stations, *self._hands]
            for one in everybody:
                one.start()
            try:
                await self._under_fire(everybody)
                await self._settle()
                await self._check()
            finally:
                for one in everybody:
                    if one.paused:
                        one.send(signal.SIGCONT)
                    one.end()
        self.report.disturbances = dict(self._count)
        return self.report

    async def _ask(self, statement: str, *arguments: object) -> list[asyncpg.Record]:
        """The checker's own connection, as often as it takes: the database may be restarting."""
        for _ in range(200):
            try:
                connection = await asyncpg.connect(self._url, timeout=5)
                try:
                    if not arguments and ";" in statement:
                        await connection.execute(statement)
                        return []
                    return list(await connection.fetch(statement, *arguments))
                finally:
                    await connection.close(timeout=2)
            except (OSError, asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError, TimeoutError):
                await asyncio.sleep(0.1)
        raise RuntimeError("the database does not come back")

    # -- the fire ----------------------------------------------------------------------------------

    async def _under_fire(self, everybody: list[Anybody]) -> None:
        waking: set[asyncio.Task[None]] = set()
        for number in range(self._jobs):
            await self._ask(ADD, f"job {number:02d}", self._plans)
            for _ in range(2):
                await asyncio.sleep(self._random.uniform(0.3, 1.0) * self._every)
                task = await self._disturb(everybody)
                if task is not None:
                    waking.add(task)
                    task.add_done_callback(waking.discard)
        await asyncio.gather(*waking)
        for one in everybody:
            assert one.process is not None
            if one.process.poll() is not None:
                one.start()

    async def _disturb(self, everybody: list[Anybody]) -> asyncio.Task[None] | None:
        kinds = [
            "kill hand",
            "pause hand",
            "cut hand",
            "kill leader",
            "pause leader",
            "cut all",
            "leave hand",
        ]
        if self._restart is not None:
            kinds.append("restart database")
        kind = self._random.choice(kinds)
        awake = [h for h in self._hands if not h.paused]
        hand = self._random.choice(awake) if awake else None
        leader = await self._leader()
        if kind == "restart database" and self._restart is not None:
            await asyncio.to_thread(self._restart)
        elif kind == "cut all":
            await self._cut("airlock%")
        elif kind == "cut hand" and hand is not None:
            await self._cut(f"airlock % {hand.name}")
        elif kind.endswith("leader") and leader is None:
            return None
        else:
            victim = leader if kind.endswith("leader") else hand
            if victim is None:
                return None
            self._count[kind] += 1
            return await self._hit(kind.split()[0], victim)
        self._count[kind] += 1
        return None

    async def _hit(self, how: str, victim: Anybody) -> asyncio.Task[None] | None:
        assert victim.process is not None
        if how == "pause":
            victim.paused = True
            victim.send(signal.SIGSTOP)
            return asyncio.create_task(self._wake(victim, self._random.uniform(0.5, 8.0)))
        victim.send(signal.SIGKILL if how == "kill" else signal.SIGTERM)
        await asyncio.to_thread(victim.process.wait)
        victim.start()
        return None

    @staticmethod
    async def _wake(victim: Anybody, after: float) -> None:
        await asyncio.sleep(after)
        victim.send(signal.SIGCONT)
        victim.paused = False

    async def _cut(self, name: str) -> None:
        await self._ask(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE $1", name
        )

    async def _leader(self) -> Scheduler | None:
        rows = await self._ask(
            "SELECT station FROM leadership WHERE released_at IS NULL ORDER BY epoch DESC LIMIT 1"
        )
        awake = {s.name: s for s in self._stations if not s.paused}
        return awake.get(rows[0]["station"]) if rows else None

    # -- after it ----------------------------------------------------------------------------------

    async def _settle(self) -> None:
        """Until all that was missed is made up; then no more plans, and until the last run is over."""
        began = time.monotonic()
        while time.monotonic() - began < SETTLE:
            late = (
                "SELECT count(*) AS n FROM cron_jobs WHERE enabled AND coalesce(next_plan_at, now()) <= now()"
            )
            if (await self._ask(late))[0]["n"] == 0:
                break
            await asyncio.sleep(0.2)
        await self._ask("UPDATE cron_jobs SET enabled = false WHERE $1", True)
        while time.monotonic() - began < SETTLE:
            rows = await self._ask(
                "SELECT count(*) AS n FROM job_runs WHERE status NOT IN ('completed', 'failed', 'cancelled')"
            )
            # Nobody waits here for the pauses between attempts.
            await self._ask("UPDATE job_runs SET run_at = now() WHERE status = 'retryable' AND $1", True)
            if rows[0]["n"] == 0:
                self.report.settled_s = round(time.monotonic() - began, 1)
                return
            await asyncio.sleep(0.3)
        self.report.problems.append(f"after {SETTLE:.0f} s {rows[0]['n']} runs are not over")

    async def _check(self) -> None:
        wrong = self.report.problems
        for row in await self._ask(PLANS):
            self.report.plans += row["plans"]
            if not row["runs"] == row["plans"] == row["minutes"] or row["plans"] < self._plans:
                wrong.append(
                    f"{row['name']}: {row['runs']} runs of {row['plans']} plans in {row['minutes']} minutes"
                )
        runs = {
            r["id"]: r for r in await self._ask("SELECT id, job_name, status, attempt, errors FROM job_runs")
        }
        self.report.states = dict(Counter(r["status"] for r in runs.values()))
        self.report.attempts = sum(r["attempt"] for r in runs.values())
        endings = Counter(r["run_id"] for r in await self._ask("SELECT run_id FROM endings"))
        wrong += [f"run {run} ended {endings[run]} times" for run in runs if endings[run] != 1]
        traces = await self._ask("SELECT run_id, token, step FROM traces ORDER BY id")
        self.report.leases_lost = len({(t["run_id"], t["token"]) for t in traces}) - len(
            {t["run_id"] for t in traces}
        )
        wrong += self._two_at_a_time(
            [(runs[t["run_id"]]["job_name"], t["run_id"], t["token"]) for t in traces]
        )
        steps: dict[int, set[int]] = defaultdict(set)
        for trace in traces:
            steps[trace["run_id"]].add(trace["step"])
        wrong += [
            f"run {run} is completed without its work"
            for run, row in runs.items()
            if row["status"] == "completed" and steps[run] != set(range(4))
        ]
        self.report.epochs = len(await self._ask("SELECT epoch FROM leadership"))

    @staticmethod
    def _two_at_a_time(traces: list[tuple[str, int, object]]) -> list[str]:
        """Of one job, the traces of a lease stand together: whoever came after it came for good."""
        found, last, over = [], {}, set()
        for job, run, token in traces:
            holder = (run, token)
            if last.get(job) != holder:
                if holder in over:
                    found.append(f"run {run} of {job} was held by two at the same time")
                if job in last:
                    over.add(last[job])
                last[job] = holder
        return found


async def campaign(
    url: str,
    jobs: int = 20,
    plans: int = 100,
    seed: int = 1,
    restart: Callable[[], None] | None = None,
    every: float = 1.0,
) -> Report:
    return await Campaign(url, jobs, plans, seed, restart, every).run()
