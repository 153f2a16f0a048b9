"""Where a hand's movement comes to rest: the grid of the wall clock, or a neighbour's edge. No Qt here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

GRIDS = {"off": 0, "10 s": 10, "1 min": 60, "5 min": 300, "15 min": 900, "30 min": 1800}
PULL_PX = 8.0  # a neighbour's edge wins over the grid from this near


@dataclass(frozen=True, slots=True)
class Snap:
    grid: int  # seconds; 0 is none
    zone: tzinfo
    pull: float  # seconds within which a neighbour's edge attracts
    free: bool = False  # the operator holds Shift: nothing attracts

    def to_grid(self, instant: float) -> float:
        if self.free or not self.grid:
            return float(round(instant))
        offset = datetime.fromtimestamp(instant, self.zone).utcoffset()
        shift = 0.0 if offset is None else offset.total_seconds()
        return round((instant + shift) / self.grid) * self.grid - shift

    def edge(self, instant: float, edges: Sequence[float]) -> float:
        """For one edge: the nearest neighbour's edge when it is near enough, else the grid."""
        if not self.free and edges:
            nearest = min(edges, key=lambda e: abs(e - instant))
            if abs(nearest - instant) <= self.pull:
                return nearest
        return self.to_grid(instant)

    def whole(self, start: float, end: float, edges: Sequence[float]) -> float:
        """For a window that is moved as a whole: its new start. Either of its ends may be attracted."""
        if not self.free and edges:
            to_start = min(edges, key=lambda e: abs(e - start))
            to_end = min(edges, key=lambda e: abs(e - end))
            by_start, by_end = abs(to_start - start), abs(to_end - end)
            if min(by_start, by_end) <= self.pull:
                return to_start if by_start <= by_end else to_end - (end - start)
        return self.to_grid(start)
