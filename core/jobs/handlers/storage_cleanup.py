"""`storage_cleanup`: removes a node's recordings after their time, with what was made of them.

What must stay true: what grows, what is still to be pushed and what a playlist wants is never touched; a file goes
only together with its row.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from typing import Any

import asyncpg

from core.jobs.handlers.media import SQL, inside
from core.jobs.handlers.services import Services
from core.jobs.registry import JobFailed, RunContext

BATCH = 200
DRAFT_AGE = 86400.0  # seconds after which a draft that nobody finished is rubbish


async def storage_cleanup(context: RunContext) -> dict[str, Any]:
    services: Services = context.services
    days = context.arguments.get("keep_days")
    if not isinstance(days, int) or isinstance(days, bool) or days < 1:
        raise JobFailed(
            "keep_days must be a whole number of days, 1 or more.", code="bad_arguments", retry=False
        )
    removed = freed = 0
    problems: list[str] = []
    async with services.database.acquire() as connection:
        for row in await connection.fetch(SQL.old_assets, services.node, days, BATCH):
            try:
                async with connection.transaction():
                    path = await connection.fetchval(
                        SQL.drop_asset, context.lease.id, context.lease.token, row["id"]
                    )
                    if path is None:
                        continue
                    freed += await asyncio.to_thread(_remove, services, row["id"], path)
                    removed += 1
            except asyncpg.InsufficientPrivilegeError:
                raise JobFailed(
                    "This node's login may not remove assets: it needs the role engineer.", retry=False
                ) from None
            except (OSError, JobFailed) as error:
                problems.append(f"Asset {row['id']} stays: {getattr(error, 'strerror', None) or error}")
    await asyncio.to_thread(_sweep_drafts, services.media / "derived", time.time() - DRAFT_AGE)
    return {"removed": removed, "freed_bytes": freed, "problems": problems[:20]}


def _remove(services: Services, asset_id: int, path: str) -> int:
    size = 0
    if path:
        file = inside(services.media, path)
        if file.exists():
            size = file.stat().st_size
            file.unlink()
    shutil.rmtree(services.derived(asset_id), ignore_errors=True)
    return size


def _sweep_drafts(folder: Path, before: float) -> None:
    for draft in folder.glob("*/.*-*"):
        try:
            if draft.stat().st_mtime < before:
                draft.unlink()
        except OSError:
            continue  # somebody else was faster
