"""What playout is about: channels and their playlists. Values only, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Channel:
    id: int
    name: str
    title: str
    output_type: str
    output_url: str
    node_id: int | None
    sidecar_url: str | None
    status: str
    generation: int
    placed_at: datetime | None
    last_heartbeat_at: datetime | None
    heartbeat_ms: float | None
    misses: int
    restart_count: int
    looping: bool
    error_message: str | None
    position: int
    demo: bool
    row_version: int

    @property
    def on_air(self) -> bool:
        return self.status == "running"


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
