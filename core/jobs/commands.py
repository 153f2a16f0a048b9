"""What an operator can do with jobs and runs. Each refusal says why; what happens here is heard by whoever holds
the run, wherever it runs."""

from __future__ import annotations

from core.commands import Transaction, command
from core.db.queries import beside
from core.errors import CommandRefused, NotFound
from core.jobs import rules
from core.jobs.model import CronJob, Run
from core.jobs.store import available_handlers, build_job, build_run
from core.recording.recurrence import Recurrence

SQL = beside(__file__, "commands.sql")


async def _job(tx: Transaction, job_id: int) -> CronJob:
    row = await tx.connection.fetchrow(SQL.job, job_id)
    if row is None:
        raise NotFound("That job no longer exists.")
    return build_job(row)


async def _run(tx: Transaction, run_id: int) -> Run:
    row = await tx.connection.fetchrow(SQL.run, run_id)
    if row is None:
        raise NotFound("That run no longer exists: finished runs are kept for one to three days.")
    return build_run(row)


def _refuse(why: str | None) -> None:
    if why is not None:
        raise CommandRefused(why)


@command("Run job now")
async def run_now(tx: Transaction, job_id: int) -> list[int]:
    job = await _job(tx, job_id)
    found = await tx.connection.fetchrow(SQL.any_open_run, job.name)
    open_run = None if found is None else build_run(found)
    _refuse(rules.why_not_run(job, open_run, await available_handlers(tx.connection)))
    made = [build_run(row) for row in await tx.connection.fetch(SQL.run_now, job_id)]
    if not made:
        raise CommandRefused(f"{job.name} runs on each node, and there is none.")
    for run in made:
        await tx.audit("job", job.id, job.name, None, run)
    return [run.id for run in made]


@command("Retry run")
async def retry_run(tx: Transaction, run_id: int) -> None:
    before = await _run(tx, run_id)
    found = None
    if before.exclusive:
        found = await tx.connection.fetchrow(
            SQL.open_run, before.job_name, before.scope_kind, before.scope_id
        )
    open_run = None if found is None else build_run(found)
    _refuse(rules.why_not_retry(before, open_run, await available_handlers(tx.connection)))
    await tx.connection.execute(SQL.allow_retry)
    row = await tx.connection.fetchrow(SQL.retry, run_id)
    assert row is not None
    await tx.audit("run", run_id, before.job_name, before, build_run(row))


@command("Cancel run")
async def cancel_run(tx: Transaction, run_id: int) -> None:
    before = await _run(tx, run_id)
    _refuse(rules.why_not_cancel(before))
    row = await tx.connection.fetchrow(SQL.cancel, run_id, tx.actor.operator)
    assert row is not None
    await tx.audit("run", run_id, before.job_name, before, build_run(row))


@command("Enable job")
async def enable_job(tx: Transaction, job_id: int) -> None:
    before = await _job(tx, job_id)
    if before.enabled:
        raise CommandRefused(f"{before.name} is enabled already.")
    Recurrence(before.cron, before.timezone)  # says what is wrong with it, if something is
    await _set_enabled(tx, before, True)


@command("Disable job")
async def disable_job(tx: Transaction, job_id: int) -> None:
    """What runs goes on; no further plan becomes a run."""
    before = await _job(tx, job_id)
    if not before.enabled:
        raise CommandRefused(f"{before.name} is disabled already.")
    await _set_enabled(tx, before, False)


async def _set_enabled(tx: Transaction, before: CronJob, enabled: bool) -> None:
    row = await tx.connection.fetchrow(SQL.set_enabled, before.id, enabled)
    assert row is not None
    await tx.audit("job", before.id, before.name, before, build_job(row))
