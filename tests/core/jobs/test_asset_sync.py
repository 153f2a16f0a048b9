"""`asset_sync` against a real server that fails in every way before it accepts."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from aiohttp import web

from core.db.database import Connection, Database
from core.jobs.handlers.asset_sync import ATTEMPTS, asset_sync
from core.jobs.handlers.services import Services
from core.jobs.model import Lease
from core.jobs.registry import JobFailed, RunContext

COUNT = 60


class Mam:
    """Another system: what it answers is told by the attempt it is asked for."""

    def __init__(self) -> None:
        self.answers: list[str] = []
        self.asked: Counter[int] = Counter()
        self.accepted: Counter[int] = Counter()
        self.keys: dict[int, set[str]] = {}
        self.most = self._now = 0
        self.url = ""

    async def post(self, request: web.Request) -> web.StreamResponse:
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            asset = int((await request.json())["id"])
            assert request.headers["Authorization"] == "Bearer s3cret"
            answer = self.answers[min(self.asked[asset], len(self.answers) - 1)]
            self.asked[asset] += 1
            self.keys.setdefault(asset, set()).add(request.headers["Idempotency-Key"])
            await asyncio.sleep(0.02)
            if answer == "hang":
                self._now -= 1  # the server goes on with it long after the other side gave up
                try:
                    await asyncio.sleep(60)
                finally:
                    self._now += 1
            if answer == "drop":
                assert request.transport is not None
                request.transport.abort()
            if answer == "accept":
                self.accepted[asset] += 1
                return web.json_response({})
            return web.Response(status=500)
        finally:
            self._now -= 1


@pytest.fixture
async def mam() -> AsyncIterator[Mam]:
    made = Mam()
    app = web.Application()
    app.router.add_post("/assets", made.post)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/assets"  # type: ignore[union-attr]
    yield made
    await runner.cleanup()


async def push(
    connection: Connection, database: Database, url: str, timeout_s: float = 10, *, forward: bool = True
) -> dict[str, Any]:
    """One run of the job, at a time when all that wait may be tried again."""
    if forward:
        await connection.execute(
            "UPDATE assets SET sync_next_attempt_at = now() WHERE sync_next_attempt_at > now()"
        )
    token = uuid4()
    run = await connection.fetchval(
        "INSERT INTO job_runs (job_name, handler, status, lease_token) VALUES ('x', 'x', 'running', $1) RETURNING id",
        token,
    )
    arguments = {"url": url, "timeout_s": timeout_s}
    lease = Lease(run, "x", "x", arguments, "plant", "", None, "default", "medium", 1, 1, 600.0, 60.0, token)
    return await asset_sync(RunContext(lease, Services(database, "n1", Path("/nowhere"), "", "s3cret")))


async def add(connection: Connection, count: int) -> None:
    await connection.execute(
        "INSERT INTO cron_jobs (name, cron, handler) VALUES ('sync', '* * * * *', 'asset_sync')"
    )
    await connection.execute(
        "INSERT INTO assets (display_name, path, status) "
        "SELECT 'a ' || n, '', 'ready' FROM generate_series(1, $1::int) n",
        count,
    )


async def test_with_a_system_to_push_to_what_becomes_ready_is_to_be_pushed(connection: Connection) -> None:
    await connection.execute("INSERT INTO assets (display_name, path, status) VALUES ('before', '', 'ready')")
    await add(connection, 2)
    rows = await connection.fetch("SELECT sync_status FROM assets ORDER BY id")
    assert [r[0] for r in rows] == ["none", "pending", "pending"]


async def test_failing_in_every_way_then_accepted_and_nothing_sent_twice_after_that(
    connection: Connection, database: Database, mam: Mam
) -> None:
    await add(connection, COUNT)
    mam.answers = ["500", "hang", "drop", "accept"]
    assert await push(connection, database, mam.url, 5) == {"sent": 0, "failed": COUNT}
    assert await push(connection, database, mam.url, 0.3) == {"sent": 0, "failed": COUNT}  # these hang
    assert (await push(connection, database, mam.url, 30))["failed"] == COUNT
    assert await push(connection, database, mam.url, 30) == {"sent": COUNT, "failed": 0}
    assert await push(connection, database, mam.url, 30) == {"sent": 0, "failed": 0}
    assert set(mam.accepted.values()) == {1} and len(mam.accepted) == COUNT
    assert all(len(keys) == 1 for keys in mam.keys.values())
    assert 1 < mam.most <= 25
    rows = await connection.fetch(
        "SELECT DISTINCT sync_status, sync_attempts, sync_next_attempt_at FROM assets"
    )
    assert [tuple(r) for r in rows] == [("synced", 4, None)]


async def test_eight_attempts_with_growing_pauses_then_an_alarm(
    connection: Connection, database: Database, mam: Mam
) -> None:
    await add(connection, 1)
    mam.answers = ["500"]
    pauses = []
    for _ in range(ATTEMPTS + 2):
        await push(connection, database, mam.url)
        pauses.append(await connection.fetchval("SELECT sync_next_attempt_at - now() FROM assets"))
    assert list(mam.asked.values()) == [ATTEMPTS]
    for earlier, later in itertools.pairwise(pauses[:ATTEMPTS]):
        assert later > earlier * 1.5
    assert pauses[0] > timedelta(seconds=5)
    row = await connection.fetchrow("SELECT sync_status, meta FROM assets")
    assert (
        row is not None
        and row["sync_status"] == "failed"
        and row["meta"]["sync_error"].endswith("answered 500.")
    )
    assert await connection.fetchval("SELECT count(*) FROM alarms WHERE key LIKE 'sync:%'") == 1


async def test_what_is_not_due_yet_is_left_alone(
    connection: Connection, database: Database, mam: Mam
) -> None:
    await add(connection, 1)
    mam.answers = ["accept"]
    await connection.execute("UPDATE assets SET sync_attempts = 1, sync_status = 'failed'")
    await connection.execute("UPDATE assets SET sync_next_attempt_at = now() + interval '1 hour'")
    assert await push(connection, database, mam.url, forward=False) == {"sent": 0, "failed": 0}
    assert not mam.asked


@pytest.mark.parametrize("url", ["", None, "ftp://x/y", "http://", "file:///etc/passwd"])
async def test_a_wrong_address_is_said(connection: Connection, database: Database, url: Any) -> None:
    with pytest.raises(JobFailed) as failed:
        await push(connection, database, url)
    assert not failed.value.retry and str(failed.value).endswith(".")
