"""What the desktop's event loop costs, beside qasync alone and plain asyncio.

`python -m tests.bench.loop_bench` prints a table. Each loop is measured in a process of its own, so that none
inherits another's state, and one after the other, so that they do not take the processor from each other.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from tests.bench.table import Row, lines, percentile

if TYPE_CHECKING:
    from collections.abc import Callable

LOOPS = ("asyncio", "qasync", "ours")
TIMERS = 500
POSTS = 500


# What runs in the process of one loop


def loop_factory(kind: str) -> Callable[[], asyncio.AbstractEventLoop]:
    if kind == "asyncio":
        return asyncio.new_event_loop
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication

    from gui.loop import new_event_loop, qasync

    app = QApplication.instance() or QApplication([])
    return new_event_loop if kind == "ours" else lambda: qasync.QEventLoop(app)


async def burst(count: int = 20_000) -> float:
    """Microseconds of processor time for a `call_soon` and its callback, of many made at once."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    left = count

    def callback() -> None:
        nonlocal left
        left -= 1
        if not left:
            done.set_result(None)

    began = time.process_time()
    for _ in range(count):
        loop.call_soon(callback)
    await done
    return (time.process_time() - began) / count * 1e6


async def bursts() -> dict[str, float]:
    await burst()
    return {"us": statistics.median([await burst() for _ in range(9)])}


def repainting_window() -> Any:
    """A full-HD window that paints all of itself 60 times a second."""
    from PySide6.QtCore import Qt, QTimer
    from PySide6.QtGui import QColor, QPainter
    from PySide6.QtWidgets import QWidget

    class Window(QWidget):
        paints = 0

        def paintEvent(self, _event: object) -> None:
            self.paints += 1
            painter = QPainter(self)
            painter.fillRect(self.rect(), QColor.fromHsv(self.paints % 360, 200, 60))
            painter.end()

    window = Window()
    window.resize(1920, 1080)
    timer = QTimer(window)
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.timeout.connect(window.update)
    timer.start(1000 // 60)
    window.show()
    return window


async def timers(kind: str, longest: float) -> dict[str, float]:
    """Lateness in milliseconds of timers between 5 ms and 20 s, all waiting at the same time."""
    window = None if kind == "asyncio" else repainting_window()
    rng = random.Random(7)

    async def one(delay: float) -> float:
        due = time.monotonic() + delay
        await asyncio.sleep(delay)
        return (time.monotonic() - due) * 1000

    began = time.monotonic()
    late = await asyncio.gather(*(one(rng.uniform(0.005, longest)) for _ in range(TIMERS)))
    seconds = time.monotonic() - began
    fps = 0.0
    if window is not None:
        fps = window.paints / seconds
        window.close()
    return {
        "earliest": min(late),
        "p50": percentile(late, 0.5),
        "p99": percentile(late, 0.99),
        "latest": max(late),
        "fps": fps,
    }


async def meter() -> dict[str, float]:
    """Share of a processor, in per cent, that an idle loop takes while its lag is measured."""
    from gui.lag import LagMeter

    lag = LagMeter()
    lag.start()
    began, used = time.monotonic(), time.process_time()
    await asyncio.sleep(10)
    share = (time.process_time() - used) / (time.monotonic() - began) * 100
    lag.stop()
    return {"cpu": share}


async def posts() -> dict[str, float]:
    """Milliseconds until each of many simultaneous POSTs was answered by a server in another process."""
    import aiohttp

    server = await asyncio.to_thread(
        subprocess.Popen, [sys.executable, "-m", __spec__.name, "--serve"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(await asyncio.to_thread(server.stdout.readline))}/start"
        runs: list[dict[str, float]] = []
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def post(n: int) -> float:
                began = time.perf_counter()
                async with session.post(url, json={"window": n}) as response:
                    await response.read()
                    response.raise_for_status()
                return (time.perf_counter() - began) * 1000

            for _ in range(4):
                took = await asyncio.gather(*(post(n) for n in range(POSTS)))
                runs.append({"p50": percentile(took, 0.5), "p99": percentile(took, 0.99)})
    finally:
        server.terminate()
        await asyncio.to_thread(server.communicate)
    # The first run opens the connections; the others find them open, as the plant's clients do.
    warm = runs[1:]
    return {
        "first_p50": runs[0]["p50"],
        "first_p99": runs[0]["p99"],
        "p50": statistics.median(run["p50"] for run in warm),
        "p99": statistics.median(run["p99"] for run in warm),
    }


def serve() -> None:
    from aiohttp import web

    async def start(request: web.Request) -> web.Response:
        return web.json_response(await request.json())

    async def main() -> None:
        app = web.Application()
        app.router.add_post("/start", start)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=2 * POSTS).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(main())


def measure_here(part: str, kind: str, longest: float) -> dict[str, float]:
    with asyncio.Runner(loop_factory=loop_factory(kind)) as runner:
        match part:
            case "burst":
                return runner.run(bursts())
            case "timers":
                return runner.run(timers(kind, longest))
            case "meter":
                return runner.run(meter())
            case "posts":
                return runner.run(posts())
    raise ValueError(f"There is no measurement named {part}.")


# What the bench calls


def measure(part: str, longest: float, loops: tuple[str, ...] = LOOPS) -> dict[str, dict[str, float]]:
    found = {}
    for kind in loops:
        command = [sys.executable, "-m", __spec__.name, "--measure", part, kind, "--longest", str(longest)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
        found[kind] = json.loads(done.stdout)
    return found


def run(longest: float = 20.0) -> list[Row]:
    """All measurements: about a minute and a half, most of it waiting for the longest timer of each loop."""
    rows: list[Row] = []

    def add(
        found: dict[str, dict[str, float]],
        key: str,
        case: str,
        unit: str,
        bar: str = "",
        holds: Callable[[float, float], bool] | None = None,
        *,
        compare: bool = False,
        beside: tuple[str, ...] = LOOPS[:2],
    ) -> None:
        ours = found["ours"][key]
        ratio = ours / found["asyncio"][key] if compare else None
        ok = holds(ours, ratio or 0.0) if holds is not None else None
        rows.append(
            Row("loop", case, ours, unit, {kind: found[kind][key] for kind in beside}, ratio, bar, ok)
        )

    found = measure("burst", longest)
    bar = "at most 3 times asyncio"
    add(found, "us", "call_soon in a burst", "µs", bar, lambda _, ratio: ratio <= 3, compare=True)

    found = measure("timers", longest)
    name = f"{TIMERS} timers, repainting"
    add(found, "earliest", f"{name}: earliest", "ms", "never early", lambda ours, _: ours >= 0)
    add(found, "p50", f"{name}: late p50", "ms")
    add(found, "p99", f"{name}: late p99", "ms", "at most 5 ms", lambda ours, _: ours <= 5)
    add(found, "latest", f"{name}: late max", "ms")
    # Plain asyncio has no window: it is the best that this machine can do.
    add(found, "fps", f"{name}: paints", "1/s", "at least 50", lambda ours, _: ours >= 50, beside=("qasync",))

    found = measure("meter", longest, ("ours",))
    bar = "at most 0.3 %"
    add(found, "cpu", "idle, lag measured: processor", "%", bar, lambda ours, _: ours <= 0.3, beside=())

    found = measure("posts", longest)
    name = f"{POSTS} POSTs at once"
    add(found, "first_p50", f"{name}, connecting: p50", "ms", compare=True)
    add(found, "first_p99", f"{name}, connecting: p99", "ms", compare=True)
    add(found, "p50", f"{name}, connected: p50", "ms", compare=True)
    add(found, "p99", f"{name}, connected: p99", "ms", compare=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--longest", type=float, default=20.0, metavar="SECONDS", help="the longest timer")
    parser.add_argument("--measure", nargs=2, metavar=("PART", "LOOP"), help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    if options.measure:
        print(json.dumps(measure_here(*options.measure, options.longest)))
        return 0
    rows = run(options.longest)
    print("\n".join(lines(rows)))
    return 1 if any(row.ok is False for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
