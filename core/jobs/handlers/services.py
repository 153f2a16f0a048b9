"""What a worker's handlers work with on their node."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.db.database import Database


@dataclass(frozen=True)
class Services:
    database: Database
    node: str
    media: Path  # recordings are here; nothing outside is read or written
    ffmpeg: str
    sync_token: str = ""  # what the system that assets are pushed to asks for

    @property
    def exports(self) -> Path:
        return self.media / "as-run"

    def derived(self, asset_id: int) -> Path:
        """What is made of a recording: its proxy and its pictures."""
        return self.media / "derived" / str(asset_id)

    def __repr__(self) -> str:
        return f"Services(node={self.node!r})"  # secrets must not reach a log by way of a traceback
