"""The one figure that the picture does not hold: how many jobs wait."""

from __future__ import annotations

from core.db.database import Database
from core.db.queries import beside

SQL = beside(__file__, "queries.sql")


async def queue_depth(database: Database) -> dict[str, int]:
    """By queue; empty while the plant has no runs at all."""
    async with database.acquire() as connection:
        return {row["queue"]: row["waiting"] for row in await connection.fetch(SQL.queue_depth)}
