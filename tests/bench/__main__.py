"""Runs the bench: `python -m tests.bench [part ...] [--json FILE]`. Without names, every part.

A part is a module with `run() -> list[Row]`. It starts and ends all that it needs by itself.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import psutil

from tests.bench.table import Row, as_json, lines

PARTS = {
    "start_lateness": "tests.bench.start_lateness",
    "flat_cost": "tests.bench.flat_cost",
    "handover": "tests.bench.handover_bench",
    "dark_time": "tests.bench.dark_time",
    "loop": "tests.bench.loop_bench",
    "as_run_scroll": "tests.bench.as_run_scroll",
    "cold_start": "tests.bench.cold_start",
    "timeline_frames": "tests.bench.timeline_frames",
    "cross_station_paint": "tests.bench.cross_station_paint",
    "job_throughput": "tests.bench.job_throughput",
    "soak": "tests.bench.soak",
}


def machine() -> dict[str, object]:
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1024**3),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def known() -> dict[str, str]:
    return {name: module for name, module in PARTS.items() if importlib.util.find_spec(module) is not None}


def measure(module: str) -> list[Row]:
    rows: list[Row] = importlib.import_module(module).run()
    return rows


def main() -> int:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    parts = known()
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of: {', '.join(parts)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.parts if name not in parts]:
        parser.error(f"there is no part {unknown[0]}; there are: {', '.join(parts)}")
    rows: list[Row] = []
    seconds: dict[str, float] = {}
    for name in chosen.parts or parts:
        print(f"-- {name}", flush=True)
        began = time.monotonic()
        rows += measure(parts[name])
        seconds[name] = round(time.monotonic() - began, 1)
    about = machine() | {"seconds": seconds}
    print()
    print("\n".join(lines(rows)))
    print(json.dumps(about))
    if chosen.json is not None:
        chosen.json.write_text(as_json(rows, about), encoding="utf-8")
    return 1 if any(row.ok is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
