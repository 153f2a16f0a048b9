"""An alarm: its priorities, its states, and what one says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum


class Priority(IntEnum):
    """1 is the most urgent; the number stands inside the alarm's shape on screen."""

    CRITICAL = 1
    HIGH = 2
    MEDIUM = 3
    LOW = 4

    @property
    def word(self) -> str:
        return self.name.lower()

    @classmethod
    def of(cls, word: str) -> Priority:
        return cls[word.upper()]


class State(StrEnum):
    ACTIVE_UNACKED = "active_unacked"
    ACTIVE_ACKED = "active_acked"
    CLEARED_UNACKED = "cleared_unacked"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Alarm:
    """A row of `alarms`, or one that this station raised by itself while the database was away
    (those have negative ids)."""

    id: int
    key: str
    cause_key: str | None
    priority: str
    source_kind: str
    source_id: int | None
    source_name: str
    message: str
    effect: str
    action: str
    count: int
    raised_at: datetime
    last_raised_at: datetime
    cleared_at: datetime | None
    acked_at: datetime | None
    acked_by: str | None
    shelved_until: datetime | None
    shelved_by: str | None
    shelve_reason: str | None
    state: str
    row_version: int

    @property
    def rank(self) -> Priority:
        return Priority.of(self.priority)

    @property
    def active(self) -> bool:
        return self.cleared_at is None

    @property
    def unacked(self) -> bool:
        return self.acked_at is None

    @property
    def open(self) -> bool:
        return self.state != State.CLOSED

    def shelved(self, now: datetime) -> bool:
        return self.shelved_until is not None and self.shelved_until > now

    @property
    def local(self) -> bool:
        return self.id < 0


@dataclass(frozen=True, slots=True)
class Condition:
    """Something wrong, as the core finds it: the makings of an alarm."""

    key: str
    priority: Priority
    source_kind: str
    source_name: str
    message: str
    effect: str = ""
    action: str = ""
    source_id: int | None = None
    cause_key: str | None = None
