"""What a recorder is given: its definition, the order to start, and what all recorders of a node share."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.agent.session import SessionStore


@dataclass(frozen=True)
class Definition:
    """A recorder as the database has it."""

    id: int
    name: str
    external_id: str
    source: str
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StartOrder:
    key: str
    window: int | None = None
    attempt: int | None = None
    name: str = ""
    source: str | None = None
    planned_end: str | None = None


@dataclass(frozen=True)
class Workshop:
    """What all recorders of an agent share."""

    ffmpeg: str
    media: Path
    store: SessionStore
    spawner: Executor  # threads of its own: nothing else may stand before a start
    changed: Callable[[], None]
