"""Reads the audit log, newest first, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from core.db.database import Database
from core.db.queries import beside
from core.errors import CommandRefused
from core.model import builder

SQL = beside(__file__, "audit.sql")
LARGEST_PAGE = 1000  # a larger one would hold up a frame


@dataclass(frozen=True, slots=True)
class AuditRow:
    """Who did what, from where, and what it changed."""

    id: int
    at: datetime
    who: str
    station: str
    db_user: str
    action: str
    subject_kind: str
    subject_id: int | None
    subject_name: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    reason: str | None


build = builder(AuditRow)


async def page(database: Database, before_id: int | None, limit: int, text: str | None) -> list[AuditRow]:
    """Rows older than `before_id` (None: the newest), those that contain `text` when it is given."""
    wanted = (text or "").strip() or None
    pattern = None if wanted is None else f"%{_literal(wanted)}%"
    try:
        async with database.acquire() as connection:
            rows = await connection.fetch(SQL.page, before_id, min(limit, LARGEST_PAGE), pattern)
    except asyncpg.QueryCanceledError as error:
        raise CommandRefused("Searching the audit log took too long: search for a rarer word.") from error
    return [build(row) for row in rows]


async def since(database: Database, after_id: int, limit: int, text: str | None) -> list[AuditRow]:
    """Rows newer than `after_id`, newest first: what has been added since the last look."""
    wanted = (text or "").strip() or None
    pattern = None if wanted is None else f"%{_literal(wanted)}%"
    async with database.acquire() as connection:
        rows = await connection.fetch(SQL.since, after_id, min(limit, LARGEST_PAGE), pattern)
    return [build(row) for row in rows]


async def of_subject(database: Database, kind: str, subject_id: int, limit: int) -> list[AuditRow]:
    """What was done to one thing, newest first."""
    async with database.acquire() as connection:
        rows = await connection.fetch(SQL.of_subject, kind, subject_id, min(limit, LARGEST_PAGE))
    return [build(row) for row in rows]


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
