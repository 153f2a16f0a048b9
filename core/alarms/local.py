"""Alarms that a station raises by itself because the database cannot take them.

There is one cause, so there is one alarm: the database is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from core.alarms.model import Alarm, Condition, Priority, State
from core.clock import Clock

log = logging.getLogger(__name__)
KEY = "database:lost"
ACTION = (
    "Check the network to the database and whether its server runs. Airlock tries again by itself; "
    "Retry now does not wait."
)


def outage(station: str, seconds: float) -> Condition:
    """What the history says afterwards. One key for all stations: one cause, one alarm."""
    return Condition(
        key=KEY,
        priority=Priority.MEDIUM,
        source_kind="database",
        source_name=station,
        message=f"Database connection was lost for {seconds:.0f} s",
        effect="Running recordings and playout went on from their nodes.",
        action="Look for the reason in the database's and the network's logs.",
    )


class LocalAlarms:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lost: Alarm | None = None
        self._listeners: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def all(self) -> list[Alarm]:
        return [] if self._lost is None else [self._lost]

    def database_lost(self, address: str, as_of: datetime | None) -> None:
        if self._lost is not None:
            return
        since = as_of or self._clock.now()
        self._lost = Alarm(
            id=-1,
            key=KEY,
            cause_key=None,
            priority=Priority.CRITICAL.word,
            source_kind="database",
            source_id=None,
            source_name="Database",
            message="Database connection lost",
            effect="The schedule is locked on this station. Running recordings and playout continue from "
            f"their nodes. {address} last answered at {since:%H:%M:%S} UTC.",
            action=ACTION,
            count=1,
            raised_at=since,
            last_raised_at=since,
            cleared_at=None,
            acked_at=None,
            acked_by=None,
            shelved_until=None,
            shelved_by=None,
            shelve_reason=None,
            state=State.ACTIVE_UNACKED,
            row_version=1,
        )
        self._tell()

    def database_back(self) -> datetime | None:
        """Ends the alarm; returns since when the database was gone, if it was."""
        lost, self._lost = self._lost, None
        if lost is None:
            return None
        self._tell()
        return lost.raised_at

    def acknowledge(self, operator: str) -> None:
        if self._lost is not None and self._lost.unacked:
            self._lost = replace(
                self._lost, acked_at=self._clock.now(), acked_by=operator, state=State.ACTIVE_ACKED
            )
            self._tell()

    def _tell(self) -> None:
        for listener in list(self._listeners):
            try:
                listener()
            except Exception:
                # One broken view must not keep the others from hearing.
                log.exception("a listener of the local alarms failed")
