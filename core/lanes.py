"""Lanes: the leader's work, side by side, none behind another.

A lane runs while this station leads and is cancelled the instant it does not. A lane that fails is
a fault of ours: it is logged, alarmed and started again, and the other lanes go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import asyncpg

from core.alarms import store as alarms
from core.alarms.model import Condition, Priority
from core.clock import Clock, steady
from core.db.database import CONNECTION_ERRORS
from core.leadership import Lead

log = logging.getLogger(__name__)
FENCED = "AL001"
RESTART = (0.1, 0.5, 2.0, 5.0)
PATIENCE = 2  # lost connections in a row that are not worth an alarm: the lead is probably lost too
SETTLED = 60.0  # a lane that ran so long has recovered from its last failure


# Registers a callback for the names of tables that changed; returns what ends it.
WakeUps = Callable[[Callable[[str], None]], Callable[[], None]]


@dataclass
class LaneContext:
    lead: Lead
    clock: Clock
    wake_ups: WakeUps
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    over: bool = False  # the lead is lost: a lane that lives through its cancellation must not start again

    async def rest(self, seconds: float, woken: asyncio.Event | None = None) -> None:
        """Waits, but not when the station leaves or something happened."""
        waits = [asyncio.create_task(e.wait()) for e in (self.stopping, woken) if e is not None]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


class Lane(Protocol):
    @property
    def name(self) -> str: ...

    async def run(self, context: LaneContext) -> None: ...


class Lanes:
    """Runs the lanes of one term of leadership."""

    def __init__(self, lanes: Sequence[Lane], clock: Clock, wake_ups: WakeUps) -> None:
        self._lanes = lanes
        self._wake_ups = wake_ups
        self._clock = clock
        self._context: LaneContext | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._ending: set[asyncio.Task[None]] = set()  # cancelled, and held until they have ended
        self._draining = False

    def start(self, lead: Lead) -> None:
        if self._draining:  # the lead came, or came back, while this station is leaving
            return
        self._context = context = LaneContext(lead, self._clock, self._wake_ups)
        self._tasks = {asyncio.create_task(self._keep(lane, context), name=lane.name) for lane in self._lanes}

    def cut(self) -> None:
        """The lead is lost: nothing more may be done."""
        if self._context is not None:
            self._context.over = True
            self._context.stopping.set()
        for task in self._tasks:
            task.cancel()
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
        self._tasks = set()

    async def drain(self, limit: float) -> None:
        """Takes on nothing new, for good, and lets what is under way finish, up to a limit."""
        self._draining = True
        if self._context is not None:
            self._context.stopping.set()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=limit)
        self.cut()

    async def _keep(self, lane: Lane, context: LaneContext) -> None:
        failures = 0
        while not context.stopping.is_set():
            began = steady()
            try:
                await lane.run(context)
                return
            except Exception as error:  # noqa: BLE001 - told apart, logged and alarmed
                if context.over:
                    # Cancelled, but the cleaning up after it failed first. Most often the
                    # connection is gone; it must not hide that the lead is lost.
                    log.info("lane %s ended: %s", lane.name, error)
                    return
                if getattr(error, "sqlstate", None) == FENCED:
                    log.warning("lane %s: %s", lane.name, error)
                    return
                if steady() - began > SETTLED:
                    failures = 0
                if isinstance(error, CONNECTION_ERRORS) and failures < PATIENCE:
                    log.info("lane %s: %s", lane.name, error)
                else:
                    await self._report(lane, context, error)
            await asyncio.sleep(RESTART[min(failures, len(RESTART) - 1)])
            failures += 1

    @staticmethod
    async def _report(lane: Lane, context: LaneContext, error: Exception) -> None:
        log.error("lane %s failed", lane.name, exc_info=error)
        condition = Condition(
            key=f"lane:{lane.name}",
            priority=Priority.CRITICAL,
            source_kind="scheduler",
            source_name=lane.name,
            message=f"The scheduler's {lane.name} failed and is being restarted",
            effect="What it does may be late until it runs again.",
            action="If this repeats, let another station lead and send the log to your engineer.",
        )
        try:
            async with context.lead.pool.acquire(timeout=5) as connection:
                await alarms.raise_alarm(connection, condition)
        except (asyncpg.PostgresError, *CONNECTION_ERRORS):
            log.warning("the failure of lane %s could not be alarmed", lane.name)
