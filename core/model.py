"""The rows of the plant that belong to no subject: the plant itself, its stations and its leader.

Frozen, plain values: they are read by rules and views alike and changed only by the database.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Row(Protocol):
    """A database row, or a dictionary in a test."""

    def __getitem__(self, name: str, /) -> Any: ...


SILENT_AFTER = timedelta(seconds=5)


def builder(cls: type[T]) -> Callable[[Row], T]:
    """A function that makes `cls` of a database row, taking the columns that it has fields for."""
    names = [f.name for f in fields(cls)]  # type: ignore[arg-type]
    pick = itemgetter(*names)

    def build(row: Row) -> T:
        return cls(*pick(row))

    return build


@dataclass(frozen=True, slots=True)
class Plant:
    id: int
    name: str
    timezone: str
    frame_rate: Decimal
    demo: bool
    row_version: int


@dataclass(frozen=True, slots=True)
class StationRow:
    id: int
    name: str
    kind: str
    host: str
    pid: int
    version: str
    operator: str
    role: str
    status: str
    started_at: datetime
    last_seen_at: datetime
    rtt_ms: float | None
    clock_offset_ms: float | None
    loop_lag_ms: float | None


@dataclass(frozen=True, slots=True)
class LeaderRow:
    epoch: int
    station: str
    acquired_at: datetime
    released_at: datetime | None
    trusted_until: datetime

    def leads_at(self, now: datetime) -> bool:
        """Whether this row's station may be believed to lead at `now`."""
        return self.released_at is None and self.trusted_until > now
