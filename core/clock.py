"""The database clock, which is the only clock of a plant.

A station never asks its own wall clock what time it is. It estimates how far its steady counter is
from the database's clock and reads that. Each question to the database gives a sample: the answer
was made somewhere between asking and hearing, so half the round trip bounds its error. The sample
with the smallest error wins; old samples lose weight, because counters drift.

What must stay true: `sleep_until` never returns early by this clock, and a workstation whose wall
clock is wrong, stepped or suspended changes nothing.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

DRIFT = 50e-6  # how far two ordinary quartz clocks may run apart, in seconds per second
KEEP = 120.0  # seconds that a sample is remembered
# Event loops sleep in whole milliseconds. Whoever must be exact does not give up the loop for the last one; where
# a window is painted, for as long as a turn of callbacks and the painting of a frame after it take (6 ms and 5 ms):
# begun any later, they would be in the way.
AWAKE = 0.0012
AWAKE_BESIDE_A_WINDOW = 0.011
# Seconds by which a sleeping thread may be late: not slept but counted down. A process that paints has used up its
# turn on the processor and is woken only after the others' turns, which are about three milliseconds.
SPUN = 0.0002
SPUN_BESIDE_A_WINDOW = 0.0015
RECHECK = 1.0  # a sleeper looks at the clock at least this often: the estimate may have moved

# The steady counter must go on while the machine is suspended, or a leader that slept would go on
# trusting itself when it wakes. No one function does so everywhere.
if sys.platform == "win32":
    steady = time.perf_counter  # time.monotonic moves in steps of 16 ms there
elif sys.platform == "darwin":

    def steady() -> float:
        return time.clock_gettime(time.CLOCK_MONOTONIC)

elif hasattr(time, "CLOCK_BOOTTIME"):

    def steady() -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

else:
    steady = time.monotonic

Ask = Callable[[], Awaitable[datetime]]


class Clock(Protocol):
    """What the core needs of a clock. Tests drive one of their own."""

    def now(self) -> datetime: ...

    async def sleep_until(self, instant: datetime, *, exactly: bool = False) -> None: ...


@dataclass(frozen=True)
class Sample:
    at: float  # by the steady counter, in the middle of the round trip
    offset: float  # database epoch seconds minus the steady counter
    error: float  # half the round trip

    def error_at(self, at: float) -> float:
        return self.error + abs(at - self.at) * DRIFT


class DatabaseClock:
    """The estimate, and waiting by it."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque()
        self._best: Sample | None = None
        self.round_trip: float | None = None
        self.awake = AWAKE
        self.spun = SPUN

    def beside_a_window(self) -> None:
        """This process paints: see AWAKE and SPUN."""
        self.awake, self.spun = AWAKE_BESIDE_A_WINDOW, SPUN_BESIDE_A_WINDOW

    @property
    def known(self) -> bool:
        return self._best is not None

    def add(self, asked: float, answer: datetime, heard: float) -> None:
        """Takes one answer of the database, with the steady counter before and after."""
        middle = (asked + heard) / 2
        sample = Sample(middle, answer.timestamp() - middle, max((heard - asked) / 2, 1e-6))
        self.round_trip = heard - asked
        if self._best is not None and not self._agree(sample, self._best):
            # The database's clock was stepped, or it is another machine now: what we knew is void.
            self._samples.clear()
        self._samples.append(sample)
        while self._samples and self._samples[0].at < middle - KEEP:
            self._samples.popleft()
        self._best = min(self._samples, key=lambda s: s.error_at(heard))

    @staticmethod
    def _agree(new: Sample, old: Sample) -> bool:
        return abs(new.offset - old.offset) <= new.error + old.error_at(new.at) + 0.001

    async def sample(self, ask: Ask) -> None:
        asked = steady()
        answer = await ask()
        self.add(asked, answer, steady())

    def timestamp(self) -> float:
        """Now, in seconds since the epoch, by the database."""
        best = self._best
        return time.time() if best is None else steady() + best.offset

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.timestamp(), UTC)

    @property
    def uncertainty(self) -> float | None:
        """By how many seconds `now` may be wrong."""
        return None if self._best is None else self._best.error_at(steady())

    @property
    def workstation_offset(self) -> float:
        """How far this machine's own wall clock is ahead of the database, in seconds."""
        return 0.0 if self._best is None else time.time() - self.timestamp()

    async def sleep_until(self, instant: datetime, *, exactly: bool = False) -> None:
        """Returns at that instant or after it. `exactly`: holds the loop for the last stretch, to be on time."""
        # Waking never means due: timers fire early, and the estimate moves while we sleep.
        target = instant.timestamp()
        awake = self.awake if exactly else 0.0
        while True:
            left = target - self.timestamp()
            if left <= 0:
                return
            if left <= awake:
                time.sleep(max(0.0, left - self.spun))  # noqa: ASYNC251 - not given up: see AWAKE
            else:
                await asyncio.sleep(left - awake if left <= RECHECK else min(left - RECHECK / 2, RECHECK))


class DrivenClock:
    """A clock that moves only when told: for tests, where waiting would be silly."""

    def __init__(self, start: datetime) -> None:
        self._now = start
        self._sleepers: list[tuple[datetime, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._now

    async def sleep_until(self, instant: datetime, *, exactly: bool = False) -> None:
        if instant <= self._now:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((instant, waiting))
        await waiting

    async def advance(self, by: timedelta) -> None:
        """Moves time on, stopping at each sleeper so that they wake in order."""
        goal = self._now + by
        while due := [s for s in self._sleepers if s[0] <= goal]:
            instant = min(due, key=lambda s: s[0])[0]
            self._now = max(self._now, instant)
            for sleeper in [s for s in self._sleepers if s[0] <= self._now]:
                self._sleepers.remove(sleeper)
                if not sleeper[1].done():
                    sleeper[1].set_result(None)
            for _ in range(20):
                await asyncio.sleep(0)
        self._now = goal
