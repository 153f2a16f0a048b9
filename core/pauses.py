"""When the garbage collector may hold up everything, and when it may not.

A full collection looks at every object there is: with a plan of two weeks for two hundred recorders that is
more than half a second, and by itself it comes in the middle of a busy moment. So no full collection happens by
itself while a station runs, leader or not: a follower's window would stutter just as a leader's starts would. One
is made each minute when nothing is about to start; when that took long, all that survived it is set aside and not
looked at again. Almost everything is freed without a collection anyway.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from datetime import datetime, timedelta

from core.clock import steady
from core.read_model import ReadModel

NEVER = 1_000_000_000
EVERY = 60.0  # seconds between two collections
OVERDUE = 600.0  # seconds after which one is made even in a busy moment
LONG = 0.010  # seconds that are too long for the next one
LOOK = 5.0  # seconds between two looks whether one is due
QUIET = timedelta(seconds=1)  # nothing may be due so soon when a pause is to do no harm


def quiet(model: ReadModel, now: datetime) -> bool:
    """Whether no window is being started or stopped, or is about to be, by anybody: the picture tells."""
    soon = now + QUIET
    for window in model.windows.values():
        if window.status in ("starting", "stopping"):
            return False
        if window.status == "pending" and now - QUIET < window.start_at <= soon:
            return False
        if window.status == "running" and window.end_at <= soon:
            return False
    return True


class Collector:
    def __init__(self) -> None:
        young, middle, _ = gc.get_threshold()
        gc.set_threshold(young, middle, NEVER)
        self._last = steady()
        self._settled = False

    async def run(self, model: ReadModel, now: Callable[[], datetime]) -> None:
        """For as long as the station runs."""
        while True:
            await asyncio.sleep(LOOK)
            if not self._settled or steady() - self._last >= EVERY:
                self.rest(quiet(model, now()))

    def rest(self, quiet: bool) -> None:
        """To be called every few seconds, with whether a pause would do no harm now."""
        waited = steady() - self._last
        if not self._settled:
            # What was loaded at the start stays: looking through it once would take the longest of all.
            gc.freeze()
            self._settled = True
        elif waited >= OVERDUE or (quiet and waited >= EVERY):
            began = steady()
            gc.collect()
            self._last = steady()
            if self._last - began > LONG:
                gc.freeze()
