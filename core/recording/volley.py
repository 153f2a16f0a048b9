"""Windows that start at one instant go out together: one timer for all of them, and every request is on its
way before anything else is done about any of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import datetime
from typing import Generic, TypeVar

from core.clock import Clock

T = TypeVar("T")
# Seconds for which the processor is given up after a volley. A recorder on this machine is woken on the processor that
# woke it, and would wait there until what comes next, a frame perhaps, has been painted.
LET_THROUGH = 0.0003


class Volleys(Generic[T]):
    """`fire` is called once for each instant, at it, with all that wait for it."""

    def __init__(self, clock: Clock, fire: Callable[[list[T]], None]) -> None:
        self._clock = clock
        self._fire = fire
        self._waiting: dict[datetime, dict[asyncio.Future[None], T]] = {}
        self._timers: dict[datetime, asyncio.Task[None]] = {}

    async def wait(self, at: datetime, who: T) -> None:
        """Returns after the instant, when all that waited for it have been fired."""
        due: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        group = self._waiting.setdefault(at, {})
        group[due] = who
        if at not in self._timers:
            self._timers[at] = asyncio.create_task(self._at(at), name=f"volley {at:%H:%M:%S.%f}")
        try:
            await due
        finally:
            del group[due]
            if not group and self._waiting.get(at) is group:
                del self._waiting[at]
                self._timers.pop(at).cancel()

    async def _at(self, at: datetime) -> None:
        await self._clock.sleep_until(at, exactly=True)
        group = self._waiting.pop(at)
        del self._timers[at]
        try:
            self._fire(list(group.values()))
            time.sleep(LET_THROUGH)  # noqa: ASYNC251 - see there
        finally:
            for due in list(group):
                if not due.done():
                    due.set_result(None)
