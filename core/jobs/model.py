"""What background work is about: recurring jobs and their runs. Values only, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID


class RunStatus(StrEnum):
    SCHEDULED = "scheduled"
    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    RETRYABLE = "retryable"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self in OVER


OVER = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED})
QUEUES = ("live", "default", "batch")
PRIORITIES = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class CronJob:
    """A row of `cron_jobs`."""

    id: int
    name: str
    cron: str
    timezone: str
    handler: str
    arguments: dict[str, Any]
    scope: str
    queue: str
    priority: str
    max_attempts: int
    time_limit: timedelta
    stale_timeout: timedelta
    stale_reentry: bool
    catch_up: str
    overlap: str
    enabled: bool
    error_message: str | None
    next_plan_at: datetime | None
    last_plan_at: datetime | None
    created_at: datetime
    row_version: int


@dataclass(frozen=True, slots=True)
class Run:
    """A row of `job_runs`, as people see it."""

    id: int
    job_id: int | None
    job_name: str
    handler: str
    arguments: dict[str, Any]
    scope_kind: str
    scope_id: str
    node_id: int | None
    plan_time: datetime | None
    missed: int
    exclusive: bool
    queue: str
    priority: str
    status: str
    attempt: int
    max_attempts: int
    run_at: datetime
    worker: str | None
    heartbeat_at: datetime | None
    deadline_at: datetime | None
    progress: float | None
    errors: list[dict[str, Any]]
    error_code: str | None
    result: Any
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Lease:
    """A run in a worker's hand. Whoever holds the token, and only until it is taken away, may finish it."""

    id: int
    job_name: str
    handler: str
    arguments: dict[str, Any]
    scope_kind: str
    scope_id: str
    plan_time: datetime | None
    queue: str
    priority: str
    attempt: int
    max_attempts: int
    limit_s: float
    stale_s: float
    token: UUID


@dataclass(frozen=True, slots=True)
class Expired:
    """A running run whose worker has been silent for too long, or whose time is over."""

    id: int
    job_name: str
    scope_id: str
    priority: str
    attempt: int
    max_attempts: int
    stale_reentry: bool
    stale_at: datetime
    deadline_at: datetime
    lease_token: UUID
    worker: str | None


@dataclass(frozen=True)
class Definition:
    """A recurring job as code defines it. It is entered when missing and never overwritten: from then on the
    row in `cron_jobs` is what counts, and an engineer may change it."""

    name: str
    cron: str
    handler: str
    timezone: str | None = None  # None: the plant's
    arguments: Mapping[str, Any] = field(default_factory=dict)
    scope: str = "plant"
    queue: str = "default"
    priority: str = "medium"
    max_attempts: int = 3
    time_limit: timedelta = timedelta(minutes=10)
    stale_timeout: timedelta = timedelta(minutes=1)
    stale_reentry: bool = True
    catch_up: str = "latest"
    overlap: str = "skip"
    enabled: bool = True
