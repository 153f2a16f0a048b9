"""What is asked again and again costs the same however many runs are over: no statement reads the whole table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from core.db.database import Connection
from core.jobs import commands
from core.jobs.store import SQL

NOW = datetime.now(UTC)
ASKED: dict[str, tuple[str, tuple[Any, ...]]] = {
    "claim": (SQL.claim, (uuid4(), "w", None, ["work"], 10, 10, 10, 10)),
    "complete_plain": (SQL.complete_plain, ([1, 2], [uuid4(), uuid4()])),
    "complete": (SQL.complete, ([1, 2], [uuid4(), uuid4()], ["{}", "{}"])),
    "heartbeat": (SQL.heartbeat, ([1, 2], [uuid4(), uuid4()], [0.5, None])),
    "promote": (SQL.promote, (NOW, 500)),
    "anything_to_promote": (SQL.anything_to_promote, (NOW,)),
    "anything_to_show": (SQL.anything_to_show, (["work"], [1])),
    "anything_unknown": (SQL.anything_unknown, (["work"], timedelta(minutes=15))),
    "anything_to_take": (SQL.anything_to_take, (["work"], 1)),
    "expired": (SQL.expired, (NOW, 500)),
    "next_due": (SQL.next_due, ()),
    "show_queued": (SQL.show_queued, (["work"], [1])),
    "show_pending": (SQL.show_pending, (["work"], [1])),
    "purge": (SQL.purge, ("completed", NOW - timedelta(hours=24), 500)),
    "waiting": (SQL.waiting, ()),
    "open_runs": (SQL.open_runs, (300,)),
    "history": (SQL.history, (300,)),
    "page": (SQL.page, (None, None, 100)),
    "open_run": (commands.SQL.open_run, ("nightly", "plant", "")),
}
FILL = """
INSERT INTO job_runs (job_name, handler, status, finished_at, exclusive, lease_token, stale_at, deadline_at, run_at)
SELECT 'nightly', 'work', s, CASE WHEN s = 'completed' THEN now() - n * interval '1 s' END, n % 2 = 0,
    CASE WHEN s = 'running' THEN gen_random_uuid() END, now() + interval '1 min', now() + interval '1 h',
    now() + n * interval '1 s'
FROM (SELECT n, CASE WHEN n <= 30000 THEN 'completed' WHEN n <= 30200 THEN 'pending' WHEN n <= 30300 THEN 'retryable'
      WHEN n = 30301 THEN 'running' ELSE 'queued' END AS s FROM generate_series(1, 30310) n) AS x;
ANALYZE job_runs;
"""


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


async def test_no_statement_reads_all_runs(connection: Connection) -> None:
    await connection.execute(FILL)
    for name, (statement, arguments) in ASKED.items():
        (said,) = await connection.fetchrow(f"EXPLAIN (FORMAT JSON) {statement}", *arguments)  # type: ignore[misc]
        plan = (json.loads(said) if isinstance(said, str) else said)[0]["Plan"]
        read = [
            n for n in nodes(plan) if n["Node Type"] == "Seq Scan" and n.get("Relation Name") == "job_runs"
        ]
        if read:
            pytest.fail(f"{name} reads the whole table: {json.dumps(read[0])[:500]}")
