"""What operators do with jobs, and what they are told when it cannot be."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from core.commands import Actor, Commander
from core.db.database import Connection, Database
from core.errors import CommandRefused, NotAllowed, NotFound
from core.jobs import commands, store
from core.recording.recurrence_errors import RecurrenceError
from core.roles import Role
from tests.core.conftest import Login
from tests.core.jobs.conftest import AddJob, MakeTerm

ALIVE = "INSERT INTO job_workers (name, handlers, concurrency) VALUES ('w', '{work}', 1)"


@pytest.fixture
async def desk(database: Database) -> AsyncIterator[Commander]:
    return Commander(database, lambda: Actor("kim", "ALPHA", Role.OPERATOR))


async def test_run_now_makes_a_run_that_uses_up_no_plan(
    connection: Connection, desk: Commander, add_job: AddJob
) -> None:
    await connection.execute(ALIVE)
    job = await add_job(arguments={"a": 1}, priority="high")
    [run] = await desk.do(commands.run_now, job)
    row = await connection.fetchrow("SELECT * FROM job_runs WHERE id = $1", run)
    assert row is not None
    assert (row["status"], row["plan_time"], row["arguments"], row["priority"]) == (
        "pending",
        None,
        {"a": 1},
        "high",
    )
    assert await connection.fetchval("SELECT count(*) FROM audit_log WHERE action = 'run_now'") == 1


async def test_refusals_say_why(connection: Connection, desk: Commander, add_job: AddJob) -> None:
    job = await add_job()
    with pytest.raises(NotFound, match="no longer exists"):
        await desk.do(commands.run_now, 999)
    with pytest.raises(CommandRefused, match="No worker that knows work"):
        await desk.do(commands.run_now, job)
    await connection.execute(ALIVE)
    [run] = await desk.do(commands.run_now, job)
    with pytest.raises(CommandRefused, match="waits to be run already"):
        await desk.do(commands.run_now, job)
    await connection.execute(
        "UPDATE job_runs SET status = 'running', worker = 'w', lease_token = gen_random_uuid() WHERE id = $1",
        run,
    )
    with pytest.raises(CommandRefused, match="running already, on w"):
        await desk.do(commands.run_now, job)
    with pytest.raises(CommandRefused, match="running already"):
        await desk.do(commands.retry_run, run)
    await desk.do(commands.disable_job, job)
    with pytest.raises(CommandRefused, match="disabled"):
        await desk.do(commands.run_now, job)
    with pytest.raises(CommandRefused, match="disabled already"):
        await desk.do(commands.disable_job, job)
    with pytest.raises(NotFound, match="kept for one to three days"):
        await desk.do(commands.cancel_run, 999)


async def test_cancel_then_retry(connection: Connection, desk: Commander, add_job: AddJob) -> None:
    await connection.execute(ALIVE)
    [run] = await desk.do(commands.run_now, await add_job())
    await desk.do(commands.cancel_run, run)
    row = await connection.fetchrow("SELECT * FROM job_runs")
    assert row is not None and (row["status"], row["error_code"]) == ("cancelled", "cancelled")
    assert row["errors"][0]["message"] == "Cancelled by kim."
    with pytest.raises(CommandRefused, match="cancelled already"):
        await desk.do(commands.cancel_run, run)
    await desk.do(commands.retry_run, run)
    row = await connection.fetchrow("SELECT * FROM job_runs")
    assert row is not None and (row["status"], row["attempt"], row["finished_at"]) == ("pending", 0, None)
    assert len(row["errors"]) == 1  # what happened stays


async def test_what_is_completed_is_not_retried(connection: Connection, desk: Commander) -> None:
    await connection.execute(ALIVE)
    [run] = await store.enqueue(connection, "work", [{}])
    await connection.execute("UPDATE job_runs SET status = 'completed', finished_at = now()")
    with pytest.raises(CommandRefused, match="nothing to retry"):
        await desk.do(commands.retry_run, run)


async def test_a_crashed_run_does_not_block_run_now_for_ever(
    connection: Connection, desk: Commander, add_job: AddJob, make_term: MakeTerm
) -> None:
    await connection.execute(ALIVE)
    job = await add_job(stale_reentry=False)
    [run] = await desk.do(commands.run_now, job)
    await connection.execute(
        "UPDATE job_runs SET status = 'running', worker = 'dead', lease_token = gen_random_uuid(), "
        "stale_at = now() - interval '1 s', deadline_at = now() + interval '1 h' WHERE id = $1", run,
    )  # fmt: skip
    with pytest.raises(CommandRefused, match="running already"):
        await desk.do(commands.run_now, job)
    await (await make_term()).run_pass()  # the first of a new leader
    assert await desk.do(commands.run_now, job) != [run]


async def test_enable_checks_the_expression(connection: Connection, desk: Commander, add_job: AddJob) -> None:
    job = await add_job(cron="61 * * * *", enabled=False)
    with pytest.raises(RecurrenceError, match="minute"):
        await desk.do(commands.enable_job, job)
    await connection.execute("UPDATE cron_jobs SET cron = '0 * * * *' WHERE id = $1", job)
    await desk.do(commands.enable_job, job)
    row = await connection.fetchrow("SELECT enabled, last_plan_at <= clock_timestamp() FROM cron_jobs")
    assert row is not None and tuple(row) == (True, True)


async def test_a_viewer_may_not(connection: Connection, login: Login, add_job: AddJob) -> None:
    await connection.execute(ALIVE)
    job = await add_job()
    viewer = Database(await login("airlock_viewer"), "view")
    await viewer.open()
    try:
        for role in (Role.VIEWER, Role.OPERATOR):  # by the window, and by the database itself
            with pytest.raises(NotAllowed):
                await Commander(viewer, lambda role=role: Actor("vic", "B", role)).do(commands.run_now, job)
    finally:
        await viewer.close()


async def test_an_operator_s_login_can_do_all_of_it(
    connection: Connection, login: Login, add_job: AddJob
) -> None:
    await connection.execute(ALIVE)
    job = await add_job()
    database = Database(await login("airlock_operator"), "op")
    await database.open()
    try:
        desk = Commander(database, lambda: Actor("kim", "ALPHA", Role.OPERATOR))
        [run] = await desk.do(commands.run_now, job)
        await desk.do(commands.cancel_run, run)
        await desk.do(commands.retry_run, run)
        await desk.do(commands.disable_job, job)
        await desk.do(commands.enable_job, job)
    finally:
        await database.close()
