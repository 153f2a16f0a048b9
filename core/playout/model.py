"""What playout is about: channels, playlists, placements, and what went to air. Values only, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

OUTPUTS = ("srt", "udp", "rtmp", "hls", "file", "decklink")
RESULTS = ("played", "interrupted", "skipped", "failed", "unknown")
SLATE = "Slate"


@dataclass(frozen=True, slots=True)
class Channel:
    id: int
    name: str
    title: str
    output_type: str
    output_url: str
    settings: dict[str, Any]
    node_id: int | None
    sidecar_url: str | None
    wanted: str
    status: str
    generation: int
    placed_at: datetime | None
    last_heartbeat_at: datetime | None
    heartbeat_ms: float | None
    misses: int
    restart_count: int
    event_seq: int
    looping: bool
    playlist_version: int
    skip_requested: int
    skip_done: int
    failover_asked: bool
    failover_to: int | None
    dead_generation: int | None
    dead_at: datetime | None
    dead_reason: str | None
    error_message: str | None
    position: int
    demo: bool
    row_version: int

    @property
    def on_air(self) -> bool:
        return self.status == "running"

    @property
    def dead(self) -> bool:
        """Whether its node's agent has said that the current sidecar ended unasked."""
        return self.dead_generation is not None and self.dead_generation >= self.generation > 0


@dataclass(frozen=True, slots=True)
class Item:
    id: int
    channel_id: int
    position: int
    asset_id: int | None
    clip_name: str
    path: str
    in_s: float
    duration_s: float | None
    row_version: int


@dataclass(frozen=True, slots=True)
class AsRunRow:
    id: int
    channel_id: int
    asset_id: int | None
    item_id: int | None
    clip_name: str | None
    started_at: datetime
    ended_at: datetime | None
    duration_s: float | None
    result: str
    node_id: int | None
    generation: int | None
    event_seq: int | None
    chain_no: int | None
    row_hash: str | None


@dataclass(frozen=True, slots=True)
class Placement:
    channel_id: int
    generation: int
    node_id: int | None
    agent_url: str | None
    sidecar_url: str | None
    reason: str  # start, failover, asked or adopted
    placed_at: datetime
    last_seen_at: datetime | None
    event_seq: int
    item_offset: float
    mark: str | None
    settled_at: datetime | None
    released_at: datetime | None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a sidecar did on air, numbered from 1 without gaps in its generation."""

    seq: int
    type: str  # start, end or failed
    at: datetime
    item_id: int | None
    asset_id: int | None
    clip: str
    result: str | None = None
    offset_s: float = 0.0
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """A sidecar's answer to a probe. A foreign one has no events, no generation and no clock."""

    item_id: int | None
    clip: str | None
    started_at: datetime | None
    generation: int | None = None
    seq: int | None = None
    events: tuple[Event, ...] = ()
    clock: datetime | None = None
    on_air: bool = True
    playlist_version: int | None = None
    problems: tuple[str, ...] = ()
    runs_dry_in_s: float | None = None

    @property
    def foreign(self) -> bool:
        return self.seq is None


@dataclass(frozen=True, slots=True)
class Miss:
    """A probe that was not answered, or not by the sidecar that was asked for."""

    why: str


@dataclass(frozen=True, slots=True)
class Journal:
    """What a node's agent has kept of a sidecar's events."""

    generation: int
    running: bool
    ended_at: datetime | None
    events: tuple[Event, ...]
