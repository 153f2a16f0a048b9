"""`make faults`: long fault injection. ARGS names parts and, with --seed, replays a failure.

make faults ARGS="recording --windows 2000 --seed 7"
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
from tests.faults.recording_campaign import campaign


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


def main() -> int:
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("parts", nargs="*", default=["recording"], choices=["recording"])
    parser.add_argument("--windows", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    chosen = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="airlock-faults-"))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(home)
    try:
        print(f"seed {chosen.seed}", flush=True)
        good = asyncio.run(recording(postgres.start().url, chosen.windows, chosen.seed))
    finally:
        postgres.stop()
        shutil.rmtree(home, ignore_errors=True)
    print("nothing was lost" if good else f"FAILED: replay with --seed {chosen.seed}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
