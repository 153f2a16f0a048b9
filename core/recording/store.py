"""The statements on windows, given types. The SQL itself is in queries.sql."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from core.db.queries import beside
from core.model import builder
from core.recording.recorder_client import Address

SQL = beside(__file__, "queries.sql")


@dataclass(frozen=True, slots=True)
class Claim:
    """A window as the lane holds it: what it is, where its recorder is, and the token that owns it."""

    id: int
    name: str
    recorder_id: int
    start_at: datetime
    end_at: datetime
    status: str
    attempt: int
    claim_token: UUID
    session_id: str | None
    source: str | None
    session_started_at: datetime | None
    stop_since: datetime | None
    by_hand: bool
    stop_asked_at: datetime | None
    recorder_name: str
    external_id: str
    mode: str
    base_url: str | None
    node_id: int | None

    @property
    def address(self) -> Address:
        return Address(self.base_url or "", self.external_id)


build_claim = builder(Claim)
