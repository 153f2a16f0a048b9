"""`as_run_export`: the as-run log of the day before the plan, by the plant's own clock, a file for each channel."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from core.db.database import AnyConnection
from core.jobs.handlers.media import SQL, in_place
from core.jobs.handlers.services import Services
from core.jobs.registry import JobFailed, RunContext
from core.playout.as_run_log import FORMATS, AsRunFilter, export

ENDING = {"csv": "csv", "json": "json", "bxf": "xml"}


def day_of(plan_time: datetime | None, asked: object, zone: ZoneInfo) -> date:
    if isinstance(asked, str):
        try:
            return date.fromisoformat(asked)
        except ValueError:
            raise JobFailed(
                f"{asked[:40]} is no day: write it as 2026-03-01.", code="bad_arguments", retry=False
            ) from None
    planned = plan_time if plan_time is not None else datetime.now(UTC)
    return planned.astimezone(zone).date() - timedelta(days=1)


def span(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """From midnight to midnight on the wall: 23 or 25 hours on some days."""
    begins = datetime.combine(day, time.min, zone)
    ends = datetime.combine(day + timedelta(days=1), time.min, zone)
    return begins.astimezone(UTC), ends.astimezone(UTC)


def file_name(channel: str, channel_id: int, day: date, format: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9]+", "-", channel).strip("-") or "channel"
    return f"{day.isoformat()}-{plain[:60]}-{channel_id}.{ENDING[format]}"


async def as_run_export(context: RunContext) -> dict[str, Any]:
    services: Services = context.services
    format = context.arguments.get("format", "csv")
    if format not in FORMATS:
        raise JobFailed(f"As-run can be exported as {', '.join(FORMATS)}.", code="bad_arguments", retry=False)
    async with services.database.acquire() as connection:
        plant = await connection.fetchrow(SQL.plant)
        zone = ZoneInfo(plant["timezone"] if plant is not None else "UTC")
        day = day_of(context.lease.plan_time, context.arguments.get("day"), zone)
        channels = await connection.fetch(SQL.channels)
        rows = {}
        for done, channel in enumerate(channels):
            path = services.exports / file_name(channel["name"], channel["id"], day, format)
            since, until = span(day, zone)
            rows[path.name] = await _one(
                context, connection, path, AsRunFilter((channel["id"],), (), "", since, until), format
            )
            context.progress = (done + 1) / len(channels)
    return {"day": day.isoformat(), "folder": str(services.exports), "rows": dict(list(rows.items())[:100])}


async def _one(
    context: RunContext, connection: AnyConnection, path: Path, filter: AsRunFilter, format: str
) -> int:
    try:
        async with in_place(context, path) as draft:
            file = await asyncio.to_thread(draft.open, "w", encoding="utf-8", newline="")
            with file:
                return await export(connection, filter, format, file)
    except OSError as error:
        raise JobFailed(f"The export {path.name} cannot be written: {error.strerror or error}.") from error
