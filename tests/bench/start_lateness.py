"""Start lateness: from `start_at` to the instant the start request reaches the recorder, in milliseconds.

Everybody gets the same due times, one contestant after the other on the same machine, database and recorder:
alone, a hundred at one instant, five hundred at one instant, and a steady trickle. The instants are taken by
the recorder's process, by the clock that the database of this machine has too; reading it costs well under a
microsecond, and the time the request spends between the contestant and the recorder counts as lateness.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass

import asyncpg

from tests.bench.arena import Arena, Window, open_arena
from tests.bench.table import Row, percentile

PART = "start_lateness"


@dataclass(frozen=True)
class Contestant:
    name: str
    module: str
    arguments: tuple[str, ...] = ()
    lead: float = 3.0  # seconds it is given to prepare itself
    durable: bool = True
    airlock: bool = False


FLOOR = Contestant("floor", "tests.bench.peers.floor", lead=2.5, durable=False)
HEADLESS = Contestant("headless", "tests.bench.peers.airlock", ("headless",), lead=6.0, airlock=True)
DESKTOP = Contestant("desktop", "tests.bench.peers.airlock", ("desktop",), lead=7.0, airlock=True)
PEERS = (
    Contestant("APScheduler memory", "tests.bench.peers.aps", ("memory",), durable=False),
    Contestant("APScheduler PostgreSQL", "tests.bench.peers.aps", ("postgresql",), lead=8.0),
    Contestant("procrastinate", "tests.bench.peers.procrastinate_worker", lead=5.0),
    Contestant("pgqueuer", "tests.bench.peers.pgqueuer_worker", lead=4.0),
    Contestant("tick of 1.5 s (a tenth)", "tests.bench.peers.tick", lead=4.0),
)
CASES = ("alone", "100 at once", "500 at once", "trickle")
COLD = ("first 100", "first 500")
LIMITS = {"alone": 6.0, "100 at once": 40.0, "500 at once": 140.0}  # ms at p99
DUE_ALREADY = 20.0


def schedule() -> dict[str, list[Window]]:
    """Every window ends before the next burst, so that Airlock's stops are in the run too.

    The first burst of its size meets recorders that nobody has spoken to for a while; it is told apart.
    """
    chance = random.Random(7)
    cases: dict[str, list[Window]] = {name: [] for name in (*CASES, *COLD)}
    at = 0.0
    for number in range(25):
        cases["alone"].append(Window(at, number, 0.12))
        at += chance.uniform(0.25, 0.35)
    at += 1.0
    for size, rounds, lasts, every in ((100, 4, 0.35, 0.8), (500, 3, 0.6, 1.6)):
        for turn in range(rounds + 1):
            name = f"{size} at once" if turn else f"first {size}"
            cases[name] += [Window(at, number, lasts) for number in range(size)]
            at += every
        at += 1.0
    for number, offset in enumerate(sorted(chance.uniform(0, 7) for _ in range(140))):
        cases["trickle"].append(Window(at + offset, number, 0.7))
    return cases


async def lateness(
    arena: Arena, contestant: Contestant, cases: dict[str, list[Window]]
) -> dict[str, list[float]]:
    windows = [window for case in cases.values() for window in case]
    plant = await arena.plant(500) if contestant.airlock else None
    measured = iter(
        await arena.contest(contestant.module, list(contestant.arguments), windows, contestant.lead, plant)
    )
    found = {name: [next(measured) * 1000 for _ in case] for name, case in cases.items()}
    for name, values in found.items():
        p50, p99 = percentile(values, 0.5), percentile(values, 0.99)
        print(
            f"{contestant.name:24} {name:12} p50 {p50:8.2f}  p99 {p99:8.2f}  max {max(values):8.2f}",
            flush=True,
        )
    return found


async def due_already(arena: Arena) -> list[float]:
    """Windows put in by plain SQL that are due already: from just before the INSERT to the recorder."""
    url = await arena.plant(50)
    await arena.arrivals()
    connection = await asyncpg.connect(url)
    inserted: dict[int, float] = {}
    async with arena.contestant("tests.bench.peers.airlock", ["headless"], url, []):
        await asyncio.sleep(1.0)
        for number in range(200):
            began = time.time()
            window = await connection.fetchval(
                "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) "
                "SELECT 'News', id, now() - interval '1 s', now() + interval '0.5 s' FROM recorders WHERE name = $1 "
                "RETURNING id",
                f"rec-{number % 50}",
            )
            inserted[window] = began
            await asyncio.sleep(0.03)
        await asyncio.sleep(1.0)
        arrived = dict(await arena.arrivals())
    await connection.close()
    return [(arrived[window] - at) * 1000 for window, at in inserted.items()]


async def measure() -> list[Row]:
    cases = schedule()
    found: dict[str, dict[str, list[float]]] = {}
    async with open_arena() as arena:
        for contestant in (FLOOR, HEADLESS, DESKTOP, *PEERS):
            found[contestant.name] = await lateness(arena, contestant, cases)
        already = await due_already(arena)
    return [*rows(found), due_row(already)]


def due_row(already: list[float]) -> Row:
    p99 = percentile(already, 0.99)
    return Row(
        PART, "due already when inserted, p99", p99, "ms", {"p50": percentile(already, 0.5), "max": max(already)},
        p99 / DUE_ALREADY, f"≤ {DUE_ALREADY:.0f} ms", p99 <= DUE_ALREADY,
    )  # fmt: skip


def rows(found: dict[str, dict[str, list[float]]]) -> list[Row]:
    made: list[Row] = []
    durable = [c.name for c in PEERS if c.durable]
    for case in CASES:
        for word, share in (("p50", 0.5), ("p99", 0.99)):
            at = {name: percentile(cases[case], share) for name, cases in found.items()}
            ours, floor, desk = at.pop(HEADLESS.name), at[FLOOR.name], at.pop(DESKTOP.name)
            best = min(at[name] for name in durable)
            limit = LIMITS.get(case, float("inf")) if word == "p99" else float("inf")
            bar = "≤ 2 × floor, ahead of every durable peer" + (f", ≤ {limit:.0f} ms" if limit < 1e9 else "")
            ok = ours <= 2 * floor and ours < best and ours <= limit
            made.append(Row(PART, f"{case}, {word}", ours, "ms", at, ours / floor, bar, ok))
            made.append(
                Row(PART, f"{case}, {word}, desktop", desk, "ms", {"headless": ours}, desk / ours,
                    "≤ 2 × headless", desk <= 2 * ours)
            )  # fmt: skip
        longest = {name: max(cases[case]) for name, cases in found.items()}
        made.append(Row(PART, f"{case}, max", longest.pop(HEADLESS.name), "ms", longest))
    for case in COLD:
        at = {name: percentile(cases[case], 0.99) for name, cases in found.items()}
        ours = at.pop(HEADLESS.name)
        made.append(Row(PART, f"{case}, p99", ours, "ms", at, ours / at[FLOOR.name]))
    for contestant in (HEADLESS, DESKTOP):
        first = min(value for case in found[contestant.name].values() for value in case)
        made.append(
            Row(PART, f"earliest, {contestant.name}", first, "ms", {}, None, "never early: ≥ 0", first >= 0)
        )
    return made


def run() -> list[Row]:
    return asyncio.run(measure())
