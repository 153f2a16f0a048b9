"""Cost stays flat: a plant with a long history and a full plan is as punctual as an empty one.

A million windows that are over and a hundred thousand to come, on two hundred recorders, against none: start
lateness alone and for a hundred at one instant, and how long the leader's pass and its sweep take.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta

import asyncpg

from core.clock import DatabaseClock
from core.db.database import Database
from core.lanes import LaneContext
from core.leadership import Lead
from core.recording.lane import Term
from core.recording.operations import Operations
from core.recording.recorder_client import RecorderClient
from core.recording.watch import Watch
from tests.bench.arena import Arena, Window, open_arena
from tests.bench.peers.contest import TOKEN
from tests.bench.start_lateness import HEADLESS
from tests.bench.table import Row, percentile

PART = "flat_cost"
PAST, FUTURE, RECORDERS = 1_000_000, 100_000, 200
PASSES = 200
LIMIT = 1.5
LEAD = {"empty": 8.0, "full": 25.0}  # seconds for the station to load its picture and sweep once more

# Triggers are off: they would announce every row. Hours before yesterday and after tomorrow, so that nothing of it
# is due, and one after the other on each recorder.
FILL = """
SET session_replication_role = replica;
INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, status, started_at, stopped_at, session_id)
SELECT 'Past', r.id, t, t + interval '50 minutes', 'completed', t, t + interval '50 minutes', 'old-' || n
FROM generate_series(0, {past} - 1) n
JOIN recorders r ON r.name = 'rec-' || n % {recorders},
LATERAL (SELECT now() - interval '1 day' - (1 + n / {recorders}) * interval '1 hour' AS t) at;
INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at)
SELECT 'Coming', r.id, t, t + interval '50 minutes'
FROM generate_series(0, {future} - 1) n
JOIN recorders r ON r.name = 'rec-' || n % {recorders},
LATERAL (SELECT now() + interval '1 day' + (n / {recorders}) * interval '1 hour' AS t) at;
INSERT INTO assets (display_name, path, status, recorder_id, schedule_id, session_id)
SELECT name, '', 'ready', recorder_id, id, session_id FROM recorder_schedules WHERE status = 'completed';
SET session_replication_role = DEFAULT;
"""


async def fill(url: str, past: int = PAST, future: int = FUTURE, recorders: int = RECORDERS) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(FILL.format(past=past, future=future, recorders=recorders))
    await connection.execute("VACUUM ANALYZE")
    await connection.execute("CHECKPOINT")
    await connection.close()


def schedule() -> dict[str, list[Window]]:
    chance = random.Random(7)
    cases: dict[str, list[Window]] = {"alone": [], "100 at once": []}
    at = 0.0
    for number in range(40):
        cases["alone"].append(Window(at, number, 0.12))
        at += chance.uniform(0.25, 0.35)
    at += 1.0
    for _ in range(10):
        cases["100 at once"] += [Window(at, number, 0.35) for number in range(100)]
        at += 0.8
    return cases


async def lateness(arena: Arena, url: str, lead: float) -> dict[str, list[float]]:
    cases = schedule()
    windows = [window for case in cases.values() for window in case]
    measured = iter(await arena.contest(HEADLESS.module, ["headless"], windows, lead, url))
    return {name: [next(measured) * 1000 for _ in case] for name, case in cases.items()}


@asynccontextmanager
async def lane(url: str) -> AsyncIterator[tuple[Term, Watch, DatabaseClock]]:
    """The lane's own parts by themselves, as a leader has them, with nothing else going on."""
    database = Database(url, "bench")
    connection = await database.connect("bench")
    epoch = await connection.fetchval(
        "INSERT INTO leadership (station, trusted_until, backend_pid) VALUES ('bench', now(), 0) RETURNING epoch"
    )
    clock = DatabaseClock()

    async def ask() -> datetime:
        answer: datetime = await connection.fetchval("SELECT clock_timestamp()")
        return answer

    await clock.sample(ask)
    pool = await database.open_pool("leader", 8, {"airlock.epoch": str(epoch)})
    lead = Lead(epoch, clock.now(), pool, float("inf"), None)
    context = LaneContext(lead, clock, lambda _: lambda: None)
    client = RecorderClient(TOKEN)
    operations = Operations(lead, clock, client, "bench")
    watch = Watch(context, client, operations, timedelta(minutes=120))
    yield Term(context, operations, watch, timedelta(hours=1)), watch, clock
    await client.close()
    await pool.close()
    await connection.close()


async def passes(urls: dict[str, str]) -> dict[str, dict[str, list[float]]]:
    """How long a pass and a sweep take in each plant, in milliseconds: by turns, so that all share the noise."""
    found: dict[str, dict[str, list[float]]] = {kind: {"pass": [], "sweep": []} for kind in urls}
    async with AsyncExitStack() as stack:
        lanes = {kind: await stack.enter_async_context(lane(url)) for kind, url in urls.items()}
        for turn in range(PASSES + 10):
            for kind, (term, watch, clock) in lanes.items():
                began = time.perf_counter()
                await term._pass()
                passed = time.perf_counter()
                watch.sweep(clock.now())
                await asyncio.gather(*watch._tasks.values())
                if turn >= 10:  # the first ones prepare their statements
                    found[kind]["pass"].append((passed - began) * 1000)
                    found[kind]["sweep"].append((time.perf_counter() - passed) * 1000)
    return found


async def measure() -> list[Row]:
    async with open_arena() as arena:
        urls = {kind: await arena.plant(RECORDERS) for kind in ("empty", "full")}
        began = time.monotonic()
        await fill(urls["full"])
        print(f"filled in {time.monotonic() - began:.0f} s", flush=True)
        found = await passes(urls)
        for kind, url in urls.items():
            found[kind] |= await lateness(arena, url, LEAD[kind])
            for name, values in found[kind].items():
                p50, p99 = percentile(values, 0.5), percentile(values, 0.99)
                print(
                    f"{kind:6} {name:12} p50 {p50:7.2f}  p99 {p99:7.2f}  max {max(values):7.2f}", flush=True
                )
    rows = []
    for name in found["empty"]:
        for word, share in (("p50", 0.5), ("p99", 0.99)):
            empty, full = (percentile(found[kind][name], share) for kind in ("empty", "full"))
            held = word == "p50" or name in ("alone", "100 at once")
            bar = f"≤ {LIMIT} × empty" if held else ""
            ok = full <= LIMIT * empty if held else None
            rows.append(
                Row(PART, f"{name}, {word}", full, "ms", {"empty plant": empty}, full / empty, bar, ok)
            )
    return rows


def run() -> list[Row]:
    return asyncio.run(measure())
