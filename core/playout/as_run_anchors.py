"""Where the pages of a long as-run log begin, so that a reader can jump to any of them.

Pages are read by key. Whoever scrolls from one to the next knows the key already; who drags the scroll bar into the
middle of a million rows does not, and asks here once.
"""

from __future__ import annotations

from datetime import datetime

from core.db.database import AnyConnection
from core.db.queries import beside
from core.playout.as_run_log import AsRunFilter

SQL = beside(__file__, "as_run_anchors.sql")

Key = tuple[datetime, int]


async def anchors(connection: AnyConnection, filter: AsRunFilter, before: Key, every: int) -> list[Key]:
    """The keys before which the second page, the third, and so on begin; the first begins before `before`."""
    found = await connection.fetch(SQL.anchors, *filter.arguments(), *before, every)
    return [(r["started_at"], r["id"]) for r in found]
