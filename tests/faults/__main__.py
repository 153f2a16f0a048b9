"""`make faults`: long fault injection. ARGS names parts and, with --seed, replays a failure.

make faults ARGS="recording --windows 2000 --seed 7"
make faults ARGS="jobs --plans 2000"
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
from pathlib import Path

import asyncpg

from core.db.database import Database
from core.db.migrate import migrate
from core.embedded.postgres import EmbeddedPostgres
from tests.faults import jobs_campaign
from tests.faults.recording_campaign import campaign

PARTS = ("recording", "jobs")
JOBS = 20


async def recording(url: str, windows: int, seed: int) -> bool:
    """Two thousand windows in rounds of three hundred, each round on a plant of its own."""
    admin = await asyncpg.connect(url)
    good, left, number = True, windows, 0
    while left > 0:
        number += 1
        name = f"faults_{number}"
        await admin.execute(f"CREATE DATABASE {name}")
        plant = url.replace("/postgres?", f"/{name}?")
        connection = await Database(plant, "faults").connect("faults")
        await migrate(connection)
        await connection.close()
        report = await campaign(plant, min(300, left), seed + number)
        print(report, flush=True)
        good = good and not report.problems
        left -= 300
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()
    return good


async def jobs(postgres: EmbeddedPostgres, url: str, plans: int, seed: int) -> bool:
    """Twenty jobs with their share of the plans, on one plant, whose database is restarted now and then."""

    def restart() -> None:
        postgres.stop()
        postgres.start()

    admin = await asyncpg.connect(url)
    await admin.execute("CREATE DATABASE faults_jobs")
    await admin.close()
    plant = url.replace("/postgres?", "/faults_jobs?")
    connection = await Database(plant, "faults").connect("faults")
    await migrate(connection)
    await connection.close()
    report = await jobs_campaign.campaign(plant, JOBS, -(-plans // JOBS), seed, restart)
    print(report, flush=True)
    return not report.problems


def main() -> int:
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of: {', '.join(PARTS)}")
    parser.add_argument("--windows", type=int, default=2000)
    parser.add_argument("--plans", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    chosen = parser.parse_args()
    if unknown := [part for part in chosen.parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]}; there are: {', '.join(PARTS)}")
    home = Path(tempfile.mkdtemp(prefix="airlock-faults-"))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(home)
    try:
        print(f"seed {chosen.seed}", flush=True)
        url = postgres.start().url
        good = True
        if "recording" in (chosen.parts or PARTS):
            good &= asyncio.run(recording(url, chosen.windows, chosen.seed))
        if "jobs" in (chosen.parts or PARTS):
            good &= asyncio.run(jobs(postgres, url, chosen.plans, chosen.seed))
    finally:
        postgres.stop()
        shutil.rmtree(home, ignore_errors=True)
    print("nothing was lost" if good else f"FAILED: replay with --seed {chosen.seed}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
