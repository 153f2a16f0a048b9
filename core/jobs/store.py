"""The statements on jobs and runs, given types. The SQL itself is in queries.sql."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from core.alarms import store as alarms
from core.alarms.model import Condition, Priority
from core.db.database import AnyConnection
from core.db.queries import beside
from core.jobs import rules
from core.jobs.model import CronJob, Expired, Run, RunStatus
from core.jobs.rules import Verdict
from core.model import builder

SQL = beside(__file__, "queries.sql")
build_job = builder(CronJob)
build_run = builder(Run)
build_expired = builder(Expired)

# A run that was not written because somebody else holds it now, and the token it was to be written with.
Held = tuple[int, Any]


async def fail(
    connection: AnyConnection, verdicts: Sequence[tuple[Held, Verdict]], expired_by: datetime | None = None
) -> set[int]:
    """Writes failures, all in one statement; says which were still ours. What a high-priority job could not do
    for good is alarmed. `expired_by`: only where the lease had expired by then."""
    rows = await connection.fetch(
        SQL.fail,
        [held[0] for held, _ in verdicts],
        [held[1] for held, _ in verdicts],
        [v.status.value for _, v in verdicts],
        [v.code for _, v in verdicts],
        [v.message for _, v in verdicts],
        [v.delay for _, v in verdicts],
        expired_by,
    )
    for row in rows:
        if row["status"] == RunStatus.FAILED and row["priority"] == "high":
            condition = failed(row["id"], row["job_name"], row["scope_id"], row["message"])
            await alarms.raise_alarm(connection, condition)
    return {row["id"] for row in rows}


def alarm_key(job_name: str, scope_id: str) -> str:
    return f"job:{job_name}:{scope_id}"


def failed(run_id: int, job_name: str, scope_id: str, why: str) -> Condition:
    return Condition(
        alarm_key(job_name, scope_id), Priority.MEDIUM, "job", job_name, f"{job_name} failed: {why}"[:500],
        "Its work is not done and is not tried again by itself.", "Correct the cause, then retry the run.", run_id,
    )  # fmt: skip


async def enqueue(
    connection: AnyConnection,
    handler: str,
    arguments: Sequence[Mapping[str, Any]],
    *,
    queue: str = "default",
    priority: str = "medium",
    run_at: datetime | None = None,
) -> list[int]:
    """Puts in runs of a handler, one for each of the arguments."""
    texts = [json.dumps(dict(a)) for a in arguments]
    rows = await connection.fetch(SQL.enqueue, handler, texts, queue, priority, run_at)
    return [row["id"] for row in rows]


async def available_handlers(connection: AnyConnection) -> set[str]:
    rows = await connection.fetch(SQL.workers, rules.SEEN_WITHIN, rules.FORGOTTEN_AFTER)
    return {handler for row in rows if row["available"] for handler in row["handlers"]}


async def page(
    connection: AnyConnection, before: int | None, statuses: Sequence[str] | None, limit: int
) -> list[Run]:
    """Runs, newest first, by keyset: `before` is the last id of the page before."""
    wanted = None if statuses is None else list(statuses)
    return [build_run(row) for row in await connection.fetch(SQL.page, before, wanted, limit)]


async def jobs(connection: AnyConnection) -> list[CronJob]:
    return [build_job(row) for row in await connection.fetch(SQL.jobs)]


async def last_runs(connection: AnyConnection, job_ids: Sequence[int]) -> dict[int, Run]:
    rows = await connection.fetch(SQL.last_runs, list(job_ids))
    return {row["job_id"]: build_run(row) for row in rows}


async def waiting(connection: AnyConnection) -> dict[tuple[str, str, str], int]:
    """How many runs wait or run, by queue, priority and status."""
    rows = await connection.fetch(SQL.waiting)
    return {(r["queue"], r["priority"], r["status"]): r["runs"] for r in rows}


async def finished_lately(connection: AnyConnection) -> dict[str, int]:
    return {row["status"]: row["runs"] for row in await connection.fetch(SQL.finished_lately)}
