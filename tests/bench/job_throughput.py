"""Jobs per second with handlers that do nothing, and pickup: from just before the INSERT to the handler's start.

Everybody gets the same twenty thousand jobs, put in beforehand, then two hundred that come one by one; one
contestant after the other, each in a process of its own on the same database server, in its best configuration.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import asyncpg

from core.embedded.postgres import EmbeddedPostgres
from tests.bench.table import Row, percentile

PART = "job_throughput"
ROOT = Path(__file__).parents[2]
JOBS, PICKUPS = 20_000, 200
FASTER = 1.3
CONTESTANTS = {"Airlock": "airlock", "pgqueuer": "pgqueuer", "procrastinate": "procrastinate"}


async def contest(server: str, name: str, jobs: int) -> dict[str, object]:
    database = f"jobs_{name}"
    admin = await asyncpg.connect(server)
    await admin.execute(f"CREATE DATABASE {database}")
    await admin.execute("CHECKPOINT")
    await admin.close()
    url = server.replace("/postgres?", f"/{database}?")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.peers.job_runner", name, url, str(jobs), str(PICKUPS), cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await asyncio.wait_for(process.communicate(), 180)
    if process.returncode != 0:
        raise RuntimeError(f"{name} ended with {process.returncode}")
    found: dict[str, object] = json.loads(out.splitlines()[-1])
    return found


async def measure() -> list[Row]:
    home = Path(tempfile.mkdtemp(prefix="airlock-bench-"))
    os.chmod(home, 0o755)  # noqa: PTH101 - a moment, before anything is measured
    postgres = EmbeddedPostgres(home)
    running = await asyncio.to_thread(postgres.start)
    speed: dict[str, float] = {}
    pickup: dict[str, list[float]] = {}
    try:
        for shown, name in CONTESTANTS.items():
            # The slowest would take half a minute: a tenth of the jobs tells its speed as well.
            found = await contest(running.url, name, JOBS // 10 if name == "procrastinate" else JOBS)
            speed[shown], pickup[shown] = float(found["per_second"]), list(found["pickup_ms"])  # type: ignore[arg-type, call-overload]
            print(
                f"{shown:14} {speed[shown]:8.0f} jobs/s   pickup p50 {percentile(pickup[shown], 0.5):.2f} "
                f"p99 {percentile(pickup[shown], 0.99):.2f} ms",
                flush=True,
            )
    finally:
        await asyncio.to_thread(postgres.stop)
        shutil.rmtree(home, ignore_errors=True)
    return rows(speed, pickup)


def rows(speed: dict[str, float], pickup: dict[str, list[float]]) -> list[Row]:
    ours = speed.pop("Airlock")
    ratio = ours / speed["pgqueuer"]
    late = {name: percentile(values, 0.99) for name, values in pickup.items()}
    mine = late.pop("Airlock")
    best = min(late.values())
    return [
        Row(PART, f"{JOBS} jobs", ours, "jobs/s", speed, ratio, f"≥ {FASTER} × pgqueuer", ratio >= FASTER),
        Row(PART, "pickup, p99", mine, "ms", late, mine / best, "below both", mine < best),
    ]


def run() -> list[Row]:
    return asyncio.run(measure())
