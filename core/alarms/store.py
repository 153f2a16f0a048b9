"""Every statement on alarms."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from core.alarms.model import Alarm, Condition
from core.db.database import AnyConnection
from core.db.queries import beside
from core.model import builder

SQL = beside(__file__, "queries.sql")
build = builder(Alarm)


async def raise_alarm(connection: AnyConnection, condition: Condition, *, repeat: bool = True) -> None:
    """Opens an alarm, or counts a repeat of it. With repeat=False an active one of the same priority
    is left alone: for conditions that are looked at again and again."""
    await connection.execute(
        SQL.raise_alarm,
        condition.key,
        condition.cause_key,
        condition.priority.word,
        condition.source_kind,
        condition.source_id,
        condition.source_name,
        condition.message,
        condition.effect,
        condition.action,
        repeat,
    )


async def clear_alarm(connection: AnyConnection, key: str) -> None:
    await connection.execute(SQL.clear_alarm, key)


async def clear_others(connection: AnyConnection, prefix: str, keep: Collection[str]) -> None:
    """Clears every active alarm of a family whose condition no longer holds."""
    await connection.execute(SQL.clear_others, prefix, list(keep))


async def record_past(connection: AnyConnection, condition: Condition, began: datetime) -> None:
    """Enters a condition that is over already, such as the time without a database."""
    async with connection.transaction():
        await raise_alarm(connection, condition)
        await connection.execute(SQL.set_past, condition.key, began)


async def get(connection: AnyConnection, alarm_id: int) -> Alarm | None:
    row = await connection.fetchrow(SQL.get, alarm_id)
    return None if row is None else build(row)


async def history(connection: AnyConnection, before: datetime | None, limit: int) -> list[Alarm]:
    return [build(r) for r in await connection.fetch(SQL.history, before, limit)]
