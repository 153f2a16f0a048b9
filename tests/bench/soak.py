"""A window on a busy plant: 200 recorders recording and 50 channels at one heartbeat a second, at full HD.

`python -m tests.bench.soak [--seconds 600]`. The plant's life comes from a process of its own, which writes what
the leader and the agents would. First the window is left alone for its processor time and its memory, then gaps of
its event loop are measured: the timer that finds them wakes 250 times a second, which would be in the figure.
Beside it a bare process measures how long this machine keeps such a timer waiting anyway.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.arena import ROOT, open_arena
from tests.bench.table import Row, lines, percentile

SECONDS = 60.0
SETTLE = 12.0  # until everything is loaded, painted and set aside by the collector
PERIOD = 0.004
RECORDERS, CHANNELS, NODES = 200, 50, 4

SEED = f"""
INSERT INTO nodes (name, base_url, status, last_heartbeat_at, volumes)
SELECT 'node-' || n, 'http://127.0.0.1:9', 'online', now(), '[{{"path": "/media", "total": 4000, "free": 1500}}]'
FROM generate_series(1, {NODES}) n;
INSERT INTO recorders (name, node_id, external_id, source, status, position)
SELECT 'REC-' || n, 1 + n % {NODES}, 'r' || n, 'SDI ' || n, 'recording', n FROM generate_series(1, {RECORDERS}) n;
INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, status, started_at, session_id)
SELECT 'Feed ' || id, id, now() - interval '1 h', now() + interval '3 h', 'running', now() - interval '1 h', 's' || id
FROM recorders;
INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at)
SELECT 'Later ' || r.id || '.' || n, r.id, now() + n * interval '4 h', now() + n * interval '4 h' + interval '2 h'
FROM recorders r, generate_series(1, 20) n;
INSERT INTO assets (display_name, path, status, recorder_id, schedule_id, node_id, session_id, attempt)
SELECT name, '/media/' || id, 'live', recorder_id, id, 1, session_id, 1
FROM recorder_schedules WHERE status = 'running';
INSERT INTO playout_channels (name, title, output_type, output_url, node_id, status, position, last_heartbeat_at,
                              heartbeat_ms, wanted)
SELECT 'CH-' || n, 'Channel ' || n, 'udp', 'udp://127.0.0.1:' || (20000 + n), 1 + n % {NODES}, 'running', n, now(),
       10, 'running'
FROM generate_series(1, {CHANNELS}) n;
"""
BEAT = """
UPDATE assets SET size_bytes = size_bytes + 1250000, last_growth_at = now(), duration_s = coalesce(duration_s, 0) + 1
WHERE status = 'live';
UPDATE playout_channels SET last_heartbeat_at = clock_timestamp(), heartbeat_ms = 5 + random() * 20
WHERE status = 'running';
UPDATE nodes SET last_heartbeat_at = now();
"""


# The processes


async def life(url: str) -> None:
    """What the leader and the agents write, once a second, until nobody reads any more."""
    import asyncpg

    connection = await asyncpg.connect(url)
    due = time.monotonic()
    while not sys.stdin.closed:
        await connection.execute(BEAT)
        due += 1
        await asyncio.sleep(max(0.0, due - time.monotonic()))


def bare(seconds: float) -> dict[str, float]:
    gaps = []
    end = time.monotonic() + seconds
    last = time.monotonic()
    while last < end:
        time.sleep(PERIOD)
        now = time.monotonic()
        gaps.append((now - last - PERIOD) * 1000)
        last = now
    return {"p999": percentile(gaps, 0.999), "max": max(gaps)}


async def window(url: str, seconds: float, panel: str) -> dict[str, float]:
    import psutil
    from PySide6.QtCore import QSize, Qt, QTimer

    from core.station import Identity, Station
    from gui.app import open_window, shut_window
    from gui.preferences import Preferences

    station = Station(url, Identity("SOAK", "desktop", "Soak"))
    station.clock.beside_a_window()
    await station.start()
    with tempfile.TemporaryDirectory() as folder:
        opened = await open_window(station, Preferences(Path(folder), "soak"))
        opened.resize(QSize(1920, 1080))
        if opened.room is not None and panel in opened.room.panels.panels:
            opened.room.panels.reveal(panel)
        await asyncio.sleep(SETTLE)
        process = psutil.Process()
        gc.collect()
        memory, used, began = process.memory_info().rss, time.process_time(), time.monotonic()
        await asyncio.sleep(seconds / 2)
        share = (time.process_time() - used) / (time.monotonic() - began) * 100
        gc.collect()
        grown = (process.memory_info().rss - memory) / 1024**2
        gaps: list[float] = []
        last = time.monotonic()

        def tick() -> None:
            nonlocal last
            now = time.monotonic()
            gap = (now - last - PERIOD) * 1000
            last = now
            # A gap counts once for every tick that it swallowed, or a long one would weigh no more than a short one.
            gaps.append(max(0.0, gap))
            while gap > PERIOD * 1000:
                gap -= PERIOD * 1000
                gaps.append(gap)

        timer = QTimer()
        timer.setTimerType(Qt.TimerType.PreciseTimer)
        timer.timeout.connect(tick)
        timer.start(round(PERIOD * 1000))
        other = await asyncio.to_thread(
            subprocess.Popen,
            [sys.executable, "-m", __spec__.name, "--bare", str(seconds / 2)],
            stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        await asyncio.sleep(seconds / 2)
        timer.stop()
        said, _ = await asyncio.to_thread(other.communicate)
        shut_window(opened)
        await asyncio.sleep(0.1)
    await station.stop()
    machine = json.loads(said)
    return {
        "cpu": share,
        "grown": grown,
        "rss": memory / 1024**2,
        "p50": percentile(gaps, 0.5),
        "p99": percentile(gaps, 0.99),
        "p999": percentile(gaps, 0.999),
        "max": max(gaps),
        "machine_p999": machine["p999"],
        "machine_max": machine["max"],
    }


# What the bench calls


async def soak(seconds: float, panel: str, profile: str) -> dict[str, float]:
    import asyncpg

    async with open_arena() as arena:
        url = await arena.plant(0)
        connection = await asyncpg.connect(url)
        await connection.execute(SEED)
        await connection.close()
        living = await asyncio.create_subprocess_exec(
            sys.executable, "-m", __spec__.name, "--life", url, cwd=ROOT, stdin=asyncio.subprocess.PIPE
        )
        try:
            measured = await asyncio.create_subprocess_exec(
                sys.executable, *(["-m", "cProfile", "-o", profile] if profile else []),
                "-m", __spec__.name, "--window", url, "--seconds", str(seconds), "--panel", panel,
                cwd=ROOT, stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            said, _ = await asyncio.wait_for(measured.communicate(), seconds * 2 + 120)
        finally:
            living.kill()
            await living.wait()
    found: dict[str, float] = json.loads(said)
    return found


def run(seconds: float = SECONDS, panel: str = "alarms", profile: str = "") -> list[Row]:
    found = asyncio.run(soak(seconds, panel, profile))
    case = f"{RECORDERS} recorders, {CHANNELS} channels, {seconds:.0f} s"
    machine = {"bare timer": found["machine_p999"]}
    worst, grown = found["p999"], found["grown"]
    a_minute = grown / (seconds / 2) * 60
    bar, lasted = "< 5 MB in 10 min", f"MB in {seconds / 2:.0f} s"
    # Half a minute says little about growth: only a long run is judged.
    judged = grown < 5 if seconds >= 600 else None
    return [
        Row("soak", f"{case}: loop gap p50", found["p50"], "ms"),
        Row("soak", f"{case}: loop gap p99", found["p99"], "ms"),
        Row("soak", f"{case}: loop gap p99.9", worst, "ms", machine, None, "at most 16 ms", worst <= 16),
        Row("soak", f"{case}: loop gap max", found["max"], "ms", {"bare timer": found["machine_max"]}),
        Row("soak", f"{case}: processor", found["cpu"], "% of a core", {}, None, "at most 25 %", found["cpu"] <= 25),
        Row("soak", f"{case}: memory", found["rss"], "MB"),
        Row("soak", f"{case}: growth", grown, lasted, {"MB a minute": a_minute}, None, bar, judged),
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long, half for each figure")
    parser.add_argument("--panel", default="alarms", help="the panel in front")
    parser.add_argument("--profile", default="", metavar="FILE", help="write where the time goes")
    parser.add_argument("--window", metavar="URL", help=argparse.SUPPRESS)
    parser.add_argument("--life", metavar="URL", help=argparse.SUPPRESS)
    parser.add_argument("--bare", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.life:
        asyncio.run(life(options.life))
        return 0
    if options.bare:
        print(json.dumps(bare(options.bare)))
        return 0
    if options.window:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        from gui.app import prepare_application
        from gui.loop import new_event_loop

        prepare_application()
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            print(json.dumps(runner.run(window(options.window, options.seconds, options.panel))))
        return 0
    rows = run(options.seconds, options.panel, options.profile)
    print("\n".join(lines(rows)))
    return 1 if any(row.ok is False for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
