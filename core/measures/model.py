"""Figures over time. Values only, no I/O: a ring that forgets the oldest, and what is said about it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil


class Ring:
    """The last so many points of one line: when, and how much. A missing value (NaN) is a gap in the line.

    It never holds more than twice what it keeps: the older half is cut off in one go, which is rare, so that
    a point costs next to nothing.
    """

    __slots__ = ("_at", "_kept", "_values")

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._at = array("d")
        self._values = array("d")

    def add(self, at: float, value: float) -> None:
        self._at.append(at)
        self._values.append(value)
        if len(self._at) >= 2 * self._kept:
            del self._at[: -self._kept]
            del self._values[: -self._kept]

    def since(self, begin: float) -> tuple[array[float], array[float]]:
        """The points from an instant on, oldest first."""
        first = max(0, len(self._at) - self._kept)
        while first < len(self._at) and self._at[first] < begin:
            first += 1
        return self._at[first:], self._values[first:]

    def __len__(self) -> int:
        return min(len(self._at), self._kept)

    @property
    def last(self) -> float | None:
        return self._values[-1] if self._values else None


@dataclass(frozen=True, slots=True)
class Spread:
    """How some values lie."""

    count: int
    p50: float
    p99: float
    worst: float


def spread(values: Sequence[float]) -> Spread | None:
    """Nearest ranks: values that were measured, never one between two. Gaps do not count."""
    known = sorted(v for v in values if v == v)
    if not known:
        return None

    def rank(share: float) -> float:
        return known[max(0, ceil(share * len(known)) - 1)]

    return Spread(len(known), rank(0.5), rank(0.99), known[-1])
