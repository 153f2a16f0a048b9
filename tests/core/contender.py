"""A station's leadership without the station: for tests of who leads, when, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from core.clock import DatabaseClock, steady
from core.db.database import Connection, Database, close_connection
from core.leadership import Lead, Leadership
from tests.patience import patiently

LOCK = "SELECT pg_advisory_lock(8210301)"
HOLDER = (
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 8210301 AND granted "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
WAITING = HOLDER.replace("granted", "NOT granted")


class Contender:
    def __init__(self, url: str, name: str) -> None:
        self.name = name
        self.database = Database(url, name)
        self.leadership = Leadership(self.database, DatabaseClock(), self._changed)
        self.changes: list[tuple[float, Lead | None]] = []

    def _changed(self, lead: Lead | None) -> None:
        self.changes.append((steady(), lead))

    async def __aenter__(self) -> Contender:
        await self.database.open()
        self.leadership.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.leadership.leave()
        await self.database.close()

    async def leads(self, within: float = 5.0) -> Lead:
        await self._until(lambda: self.leadership.lead is not None, within, "does not lead")
        assert self.leadership.lead is not None
        return self.leadership.lead

    async def lost(self, within: float = 5.0) -> None:
        await self._until(lambda: self.leadership.lead is None, within, "still leads")

    async def _until(self, holds: Callable[[], bool], within: float, otherwise: str) -> None:
        await patiently(holds, within, f"{self.name} {otherwise}: that it changes")


class Ghost:
    """A session that holds the lock and does nothing with it, or only what the test says."""

    def __init__(self, url: str, name: str = "GHOST") -> None:
        self._database = Database(url, name)
        self.name = name
        self.connection: Connection | None = None

    async def __aenter__(self) -> Connection:
        self.connection = await self._database.connect("lock")
        await self.connection.execute(LOCK)
        return self.connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.connection is not None
        await close_connection(self.connection)
