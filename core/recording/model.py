"""What recording is about: nodes, recorders, windows, series, recordings. Values only, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any


class WindowStatus(StrEnum):
    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    COMPLETED = "completed"
    FAILED = "failed"
    MISSED = "missed"
    CANCELLED = "cancelled"

    @property
    def active(self) -> bool:
        return self in ACTIVE


ACTIVE = frozenset({WindowStatus.PENDING, WindowStatus.STARTING, WindowStatus.RUNNING, WindowStatus.STOPPING})


@dataclass(frozen=True, slots=True)
class Node:
    id: int
    name: str
    base_url: str
    capabilities: list[str]
    status: str
    last_heartbeat_at: datetime | None
    signed_off_at: datetime | None
    version: str
    volumes: list[dict[str, Any]]
    error_message: str | None
    demo: bool
    row_version: int


@dataclass(frozen=True, slots=True)
class Recorder:
    id: int
    name: str
    node_id: int | None
    base_url: str | None
    external_id: str
    source: str
    settings: dict[str, Any]
    status: str
    mode: str
    current_session_id: str | None
    signal: dict[str, Any]
    error_message: str | None
    position: int
    demo: bool
    row_version: int


@dataclass(frozen=True, slots=True)
class Series:
    id: int
    name: str
    recorder_id: int
    cron: str
    timezone: str
    shift: timedelta
    duration: timedelta
    first_day: date | None
    last_day: date | None
    skips: list[date]
    source: str | None
    enabled: bool
    planned_until: datetime | None
    error_message: str | None
    demo: bool
    row_version: int


@dataclass(frozen=True, slots=True)
class Window:
    id: int
    name: str
    recorder_id: int
    start_at: datetime
    end_at: datetime
    open_ended: bool
    recurrence: str
    series_id: int | None
    plan_time: datetime | None
    edited: bool
    status: str
    attempt: int
    session_id: str | None
    by_hand: bool
    started_at: datetime | None
    stopped_at: datetime | None
    last_asset_id: int | None
    error_message: str | None
    source: str | None
    made_by: str
    demo: bool
    row_version: int


@dataclass(frozen=True, slots=True)
class Asset:
    id: int
    display_name: str
    path: str
    status: str
    recorder_id: int | None
    schedule_id: int | None
    node_id: int | None
    session_id: str | None
    attempt: int | None
    container: str | None
    size_bytes: int
    duration_s: float | None
    last_growth_at: datetime | None
    error_message: str | None
    created_at: datetime
