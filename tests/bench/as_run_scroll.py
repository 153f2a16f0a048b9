"""The as-run log of a plant that has run for years: a million rows open and scroll as a hundred do.

The real window on a real database. A frame is due every sixtieth of a second; what counts is how late it is painted,
with everything that the window does meanwhile: fetching and building pages included.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg

from core.station import Identity, Station
from tests.bench.arena import open_arena
from tests.bench.table import Row, percentile

PART = "as_run_scroll"
MILLION, HUNDRED, CHANNELS = 1_000_000, 100, 20
FRAME = 1 / 60
FRAMES = 300
ROW = 28
OPEN_LIMIT, FRAME_LIMIT = 100.0, 16.0

# Triggers are off, and the overlap is not checked: what is measured is reading. Clips of 30 s, one after the other.
FILL = """
ALTER TABLE playout_as_run DROP CONSTRAINT as_run_no_overlap;
SET session_replication_role = replica;
INSERT INTO playout_channels (name, output_type, output_url, position)
SELECT 'CH-' || n, 'udp', 'udp://127.0.0.1:9', n FROM generate_series(1, {channels}) n;
INSERT INTO playout_as_run (channel_id, clip_name, started_at, ended_at, duration_s, result, chain_no, row_hash)
SELECT 1 + n % {channels}, 'Spot ' || n, t, t + interval '30 s', 30,
       CASE WHEN n % 50 = 0 THEN 'skipped' ELSE 'played' END, 1 + n / {channels}, md5(n::text)
FROM generate_series(0, {rows} - 1) n,
LATERAL (SELECT now() - interval '1 min' - (({rows} - n) / {channels} * 30 + n % {channels}) * interval '1 s' AS t) at;
SET session_replication_role = DEFAULT;
"""


async def fill(url: str, rows: int) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(FILL.format(rows=rows, channels=CHANNELS))
    await connection.execute("VACUUM ANALYZE playout_as_run")
    await connection.close()


async def holds(condition: Callable[[], object], within: float = 30.0) -> float:
    """How many milliseconds it took until a condition held."""
    began = time.perf_counter()
    while not condition():
        if time.perf_counter() - began > within:
            raise RuntimeError("the as-run log did not come")
        await asyncio.sleep(0)
    return (time.perf_counter() - began) * 1000


def places(kind: str, highest: int) -> Iterator[int]:
    """Where the scroll bar stands at each frame."""
    chance = random.Random(7)
    start = highest // 3
    for n in range(FRAMES):
        if kind == "wheel":
            yield min(highest, n * 3 * ROW)
        elif kind == "page down":
            yield min(highest, start + n // 2 * 10 * ROW)  # as fast as a key repeats
        else:
            yield chance.randrange(highest + 1)


async def scroll(panel, kind: str) -> list[float]:  # type: ignore[no-untyped-def]
    from PySide6.QtCore import QCoreApplication, QEvent

    bar, window = panel.table.verticalScrollBar(), panel.window()
    late: list[float] = []
    due = time.perf_counter() + FRAME
    for at in places(kind, bar.maximum()):
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        bar.setValue(at)
        # What the scrolling uncovered, and what else waits to be painted: the frame as the screen would get it.
        QCoreApplication.sendPostedEvents(window, int(QEvent.Type.UpdateRequest.value))
        now = time.perf_counter()
        late.append((now - due) * 1000)
        due = max(due + FRAME, now)
    return late


async def one(url: str, rows: int) -> dict[str, list[float]]:
    from gui.app import open_window, shut_window
    from gui.preferences import Preferences

    station = Station(url, Identity("BENCH", "desktop", "bench"))
    await station.start()
    found: dict[str, list[float]] = {"open": [], "length known": []}
    with TemporaryDirectory() as folder:
        window = await open_window(station, Preferences(Path(folder), "bench"))
        try:
            window.resize(1920, 1080)
            assert window.room is not None
            panel = window.room.as_run
            await holds(lambda: panel.model.rowCount() == rows)
            for _ in range(10):
                panel.model.start([], 0)
                began = time.perf_counter()
                panel.apply()
                await holds(lambda: panel.model.rowCount() > 0)
                panel.table.viewport().repaint()
                found["open"].append((time.perf_counter() - began) * 1000)
                await holds(lambda: panel.model.rowCount() == rows)
                found["length known"].append((time.perf_counter() - began) * 1000)
                await holds(lambda: not panel.reader.busy)
            for kind in ("wheel", "page down", "drag"):
                panel.follow()
                found[kind] = await scroll(panel, kind)
                await holds(lambda: not panel.reader.busy)
        finally:
            shut_window(window)
            await asyncio.sleep(0.05)
            await station.stop()
    return found


async def measure() -> list[Row]:
    async with open_arena() as arena:
        found: dict[int, dict[str, list[float]]] = {}
        for rows in (HUNDRED, MILLION):
            url = await arena.plant(1)
            began = time.monotonic()
            await fill(url, rows)
            print(f"{rows:,} rows filled in {time.monotonic() - began:.0f} s", flush=True)
            found[rows] = await one(url, rows)
    made = []
    for name, values in found[MILLION].items():
        for word, share in (("p50", 0.5), ("p99", 0.99)):
            ours, few = percentile(values, share), percentile(found[HUNDRED][name], share)
            held = name != "length known" and word == "p99"
            limit = OPEN_LIMIT if name == "open" else FRAME_LIMIT
            made.append(
                Row(PART, f"{name}, {word}", ours, "ms", {"100 rows": few}, None, f"≤ {limit:.0f} ms" if held else "",
                    ours <= limit if held else None)
            )  # fmt: skip
    return made


def run() -> list[Row]:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from gui.app import prepare_application
    from gui.loop import new_event_loop

    prepare_application("dark")
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(measure())
