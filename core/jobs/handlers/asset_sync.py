"""`asset_sync`: tells another system over HTTP what was recorded.

What must stay true: at most 25 are under way, each is tried 8 times at most with growing pauses, and one that the
other system has accepted is never sent again. A worker that dies between the acceptance and our note of it sends the
same `Idempotency-Key` again, by which the other side knows it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import asyncpg

from core.alarms import store as alarms
from core.alarms.model import Condition, Priority
from core.errors import DatabaseLost
from core.jobs.handlers.media import SQL
from core.jobs.handlers.services import Services
from core.jobs.registry import JobFailed, RunContext

log = logging.getLogger(__name__)
AT_ONCE = 25
ATTEMPTS = 8
LIMIT = 10.0  # seconds for one push
FIRST_PAUSE = timedelta(seconds=15)
LONGEST_PAUSE = timedelta(hours=1)
NOTE_AGAIN = (
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
)  # a success is written down even when the database is away for a moment
FACTS = (
    "id", "display_name", "path", "size_bytes", "duration_s", "container", "recorder_id", "schedule_id", "created_at",
)  # fmt: skip


class Push:
    def __init__(self, context: RunContext, url: str, key: str, http: aiohttp.ClientSession) -> None:
        self._context, self._url, self._key, self._http = context, url, key, http
        self._services: Services = context.services
        self.sent = self.failed = 0

    async def take(self, room: int) -> list[asyncpg.Record]:
        lease = self._context.lease
        async with self._services.database.acquire() as connection:
            return list(
                await connection.fetch(
                    SQL.take_to_sync, lease.id, lease.token, room, ATTEMPTS, FIRST_PAUSE, LONGEST_PAUSE
                )
            )

    async def one(self, asset: asyncpg.Record) -> None:
        why = await self._send(asset)
        if why is None:
            self.sent += 1
            await self._note(SQL.synced, asset["id"])
            return
        self.failed += 1
        log.info("asset %d, attempt %d: %s", asset["id"], asset["sync_attempts"], why)
        await self._note(SQL.sync_failed, asset["id"], why)
        if asset["sync_attempts"] >= ATTEMPTS:
            await self._give_up(asset, why)

    async def _send(self, asset: asyncpg.Record) -> str | None:
        """None, or why not in one sentence."""
        facts = {name: asset[name] for name in FACTS} | {"meta": asset["meta"]}
        body = json.dumps(facts, default=str)
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": f"{self._key}-asset-{asset['id']}",
            "x-airlock-attempt": str(asset["sync_attempts"]),
        }
        if self._services.sync_token:
            headers["Authorization"] = f"Bearer {self._services.sync_token}"
        try:
            # Not PUT: the client would repeat that by itself, uncounted, when the connection is dropped.
            async with self._http.post(
                self._url, data=body, headers=headers, allow_redirects=False
            ) as answer:
                await answer.content.read(64 * 1024)
                return None if 200 <= answer.status < 300 else f"The other system answered {answer.status}."
        except TimeoutError:
            return f"The other system did not answer within {LIMIT:.0f} s."
        except (aiohttp.ClientError, OSError):
            return "The other system could not be reached, or dropped the connection."

    async def _note(self, statement: str, *arguments: object) -> None:
        for pause in (*NOTE_AGAIN, None):
            try:
                async with self._services.database.acquire() as connection:
                    await connection.execute(statement, *arguments)
                return
            except (DatabaseLost, asyncpg.PostgresError):
                if pause is None:
                    raise
                await asyncio.sleep(pause)

    async def _give_up(self, asset: asyncpg.Record, why: str) -> None:
        condition = Condition(
            f"sync:{asset['id']}", Priority.LOW, "asset", asset["display_name"],
            f"{asset['display_name']} could not be pushed after {ATTEMPTS} attempts: {why}"[:500],
            "The other system does not know of it.", "Correct the cause, then set its sync_attempts to 0.", asset["id"],
        )  # fmt: skip
        async with self._services.database.acquire() as connection:
            await alarms.raise_alarm(connection, condition)


def checked(url: object) -> str:
    if not isinstance(url, str) or not url:
        raise JobFailed(
            "The job does not say where to push to: set its argument url.", code="bad_arguments", retry=False
        )
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise JobFailed(
            "The address to push to must begin with http:// or https://.", code="bad_arguments", retry=False
        )
    return url.rstrip("/")


async def asset_sync(context: RunContext) -> dict[str, Any]:
    url = checked(context.arguments.get("url"))
    services: Services = context.services
    async with services.database.acquire() as connection:
        plant = await connection.fetchrow(SQL.plant)
    limit = aiohttp.ClientTimeout(total=float(context.arguments.get("timeout_s", LIMIT)))
    async with aiohttp.ClientSession(
        timeout=limit, connector=aiohttp.TCPConnector(limit=AT_ONCE), cookie_jar=aiohttp.DummyCookieJar()
    ) as http:
        push = Push(context, url, str(plant["uuid"]) if plant is not None else "", http)
        await _all(push)
    return {"sent": push.sent, "failed": push.failed}


async def _all(push: Push) -> None:
    """Keeps as many under way as it may until nothing is due: one that hangs holds up nobody."""
    under_way: set[asyncio.Task[None]] = set()
    try:
        while True:
            taken = await push.take(AT_ONCE - len(under_way))
            under_way |= {asyncio.create_task(push.one(asset)) for asset in taken}
            if not under_way:
                return
            done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
