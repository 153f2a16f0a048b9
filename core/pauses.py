"""When the garbage collector may hold up everything, and when it may not.

A full collection looks at every object there is: with a plan of two weeks for two hundred recorders that is
more than half a second, and by itself it comes in the middle of a busy moment. So no full collection happens by
itself while this station leads. One is made each minute when nothing is about to start; when that took long,
all that survived it is set aside and not looked at again. Almost everything is freed without a collection anyway.
"""

from __future__ import annotations

import gc

from core.clock import steady

NEVER = 1_000_000_000
EVERY = 60.0  # seconds between two collections
OVERDUE = 600.0  # seconds after which one is made even in a busy moment
LONG = 0.010  # seconds that are too long for the next one


class Collector:
    def __init__(self) -> None:
        young, middle, _ = gc.get_threshold()
        gc.set_threshold(young, middle, NEVER)
        self._last = steady()
        self._settled = False

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
