"""Who looks after an embedded plant whose last window was closed while it was at work.

Recordings and channels go on without anybody, but somebody must stop a recording at its end and put a channel that
dies back on air. The window leaves a headless station behind for that. It goes by itself: when the work is done, or
when another station is there to lead.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path

from core.agent import process
from core.clock import steady
from core.read_model import ReadModel
from core.station import Station

log = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parents[2]
NAME = "CARETAKER"
LOOK = 0.5
IDLE = 5.0  # seconds without work before it goes: windows follow one another closely
UNDER_WAY = ("starting", "running", "stopping")


def leave_behind(home: Path) -> None:
    """Starts it apart from this program. Blocks for about a millisecond."""
    argv = [sys.executable, str(ROOT / "main.py"), "scheduler", "--until-idle", "--station", NAME]
    (home / "logs").mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "AIRLOCK_HOME": str(home)}
    process.spawn(argv, home / "logs" / "caretaker.log", environment=environment, folder=ROOT).let_go()
    log.info("a station without a window looks after the plant until its work is done")


def at_work(model: ReadModel) -> bool:
    return any(w.status in UNDER_WAY for w in model.windows.values()) or any(
        c.status in UNDER_WAY and not c.demo for c in model.channels.values()
    )


def relieved(model: ReadModel, me: str) -> bool:
    """Whether another station that could lead is there. Of two caretakers the later one goes: if each took the other
    for its relief, both would."""
    return any(
        s.name != me
        and s.status == "online"
        and s.role != "viewer"
        and not (s.name.startswith(NAME) and _order(s.name) > _order(me))
        for s in model.stations.values()
    )


def _order(name: str) -> tuple[int, str]:
    return len(name), name  # CARETAKER, CARETAKER-2, … CARETAKER-10


async def until_not_needed(station: Station) -> None:
    """A plant whose database does not answer keeps it waiting: nobody knows what runs there."""
    busy = steady()
    while steady() - busy < IDLE:
        await asyncio.sleep(LOOK)
        if not station.feed.state.live:
            busy = steady()
        elif relieved(station.model, station.name):
            return
        elif at_work(station.model):
            busy = steady()
