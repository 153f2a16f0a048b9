"""How long the passes of the leader's lanes take: what /metrics and the diagnostics show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass
class Passes:
    count: int = 0
    seconds: float = 0.0  # of all together
    last_s: float | None = None
    last_at: datetime | None = None

    def note(self, seconds: float, at: datetime) -> None:
        self.count += 1
        self.seconds += seconds
        self.last_s, self.last_at = seconds, at


LANES: dict[str, Passes] = {}  # by lane: this process has one station


def of(lane: str) -> Passes:
    return LANES.setdefault(lane, Passes())
