"""What the leader does for jobs: plans become runs once, time passes, the silent are settled. By a driven clock."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import asyncpg
import pytest

from core import passes
from core.db.database import Connection
from core.jobs import store
from core.jobs.lane import JobsLane
from core.jobs.model import Definition
from core.jobs.registry import Registry
from core.station import Identity, Station
from tests.core.jobs.conftest import AddJob, Driven, MakeTerm
from tests.patience import patiently

HOUR = timedelta(hours=1)
ALIVE = "INSERT INTO job_workers (name, handlers, concurrency) VALUES ('w', '{work}', 1)"


async def planned(connection: Connection, name: str = "nightly") -> list[asyncpg.Record]:
    return await connection.fetch("SELECT * FROM job_runs WHERE job_name = $1 ORDER BY plan_time, id", name)


async def lease(
    connection: Connection, run_id: int, stale: str = "1 minute", deadline: str = "1 hour"
) -> None:
    await connection.execute(
        "UPDATE job_runs SET status = 'running', attempt = attempt + 1, lease_token = gen_random_uuid(), worker = 'w', "
        "stale_at = clock_timestamp() + $2::text::interval, deadline_at = clock_timestamp() + $3::text::interval "
        "WHERE id = $1", run_id, stale, deadline,
    )  # fmt: skip


async def test_every_and_latest_after_an_hour_s_absence(
    connection: Connection, clock: Driven, make_term: MakeTerm, add_job: AddJob
) -> None:
    await add_job("each", catch_up="every", overlap="queue")
    await add_job("last")
    term = await make_term()
    await term.run_pass()
    clock.at += HOUR
    await term.run_pass()
    each, last = await planned(connection, "each"), await planned(connection, "last")
    assert len(each) == 6 and len({r["plan_time"] for r in each}) == 6
    assert [(r["missed"], r["plan_time"]) for r in last] == [(5, each[-1]["plan_time"])]
    await term.run_pass()
    assert len(await planned(connection, "each")) == 6 and len(await planned(connection, "last")) == 1


async def test_a_restart_skips_nothing_in_silence(
    connection: Connection, clock: Driven, make_term: MakeTerm, add_job: AddJob
) -> None:
    """The next plan stays where it was until its run is made: another leader's first pass finds it."""
    await add_job()
    await (await make_term()).run_pass()
    clock.at += HOUR
    await (await make_term()).run_pass()  # another leader: it remembers nothing
    assert [r["missed"] for r in await planned(connection)] == [5]


async def test_two_leaders_make_one_run_of_a_plan(
    connection: Connection, clock: Driven, make_term: MakeTerm, add_job: AddJob
) -> None:
    for n in range(20):
        await add_job(f"job {n}", catch_up="every", overlap="queue")
    terms = [await make_term() for _ in range(3)]
    await terms[0].run_pass()
    clock.at += HOUR
    await asyncio.gather(*(term.run_pass() for term in terms))
    count, plans = await connection.fetchrow(
        "SELECT count(*), count(DISTINCT (job_name, plan_time)) FROM job_runs"
    )  # type: ignore[misc]
    assert (count, plans) == (120, 120)


async def test_the_database_itself_refuses_a_plan_twice(connection: Connection) -> None:
    add = "INSERT INTO job_runs (job_name, handler, plan_time) VALUES ('x', 'x', '2026-01-01')"
    await connection.execute(add)
    with pytest.raises(asyncpg.UniqueViolationError):
        await connection.execute(add)


async def test_a_plan_that_would_overlap_is_seen_as_such_or_waits(
    connection: Connection, clock: Driven, make_term: MakeTerm, add_job: AddJob
) -> None:
    await add_job("skips", handler="slow")
    await add_job("waits", handler="slow", overlap="queue")
    await connection.execute(
        "INSERT INTO job_workers (name, handlers, concurrency) VALUES ('w', '{slow}', 1)"
    )
    term = await make_term()
    await term.run_pass()
    for _ in range(2):
        clock.at += timedelta(minutes=10)
        await term.run_pass()
    skips = await planned(connection, "skips")
    assert [(r["status"], r["error_code"]) for r in skips] == [("pending", None), ("cancelled", "overlap")]
    assert "not over yet" in skips[1]["errors"][0]["message"]
    assert [r["status"] for r in await planned(connection, "waits")] == ["pending", "pending"]


async def test_a_bad_definition_is_disabled_with_its_reason_and_the_others_go_on(
    connection: Connection, clock: Driven, make_term: MakeTerm, add_job: AddJob
) -> None:
    bad = await add_job("bad", cron="61 * * * *")
    await add_job("worse", timezone="Mars/Base")
    await add_job("good")
    term = await make_term()
    await term.run_pass()
    clock.at += HOUR
    await term.run_pass()
    rows = await connection.fetch("SELECT name, enabled, error_message FROM cron_jobs ORDER BY name")
    assert [(r["name"], r["enabled"], r["error_message"] is None) for r in rows] == [
        ("bad", False, False), ("good", True, True), ("worse", False, False),
    ]  # fmt: skip
    assert len(await planned(connection, "good")) == 1
    open_alarms = "SELECT count(*) FROM alarms WHERE cleared_at IS NULL AND source_name = 'bad'"
    assert await connection.fetchval(open_alarms) == 1
    # Corrected by plain SQL: it comes back, and what passed meanwhile is not made up.
    await connection.execute("UPDATE cron_jobs SET cron = '*/10 * * * *' WHERE id = $1", bad)
    await term.run_pass()
    assert await connection.fetchval("SELECT enabled FROM cron_jobs WHERE id = $1", bad)
    assert await connection.fetchval(open_alarms) == 0


async def test_definitions_in_code_are_added_and_nothing_is_removed_or_overwritten(
    connection: Connection, clock: Driven, make_term: MakeTerm, add_job: AddJob
) -> None:
    await add_job("another version's", handler="elsewhere")
    await add_job("ours", cron="0 5 * * *")
    await connection.execute("UPDATE plant SET timezone = 'Europe/Berlin'")
    registry = Registry(
        definitions=[Definition("ours", "0 4 * * *", "work"), Definition("new", "0 3 * * *", "work")]
    )
    term = await make_term(registry)
    await term.run_pass()
    rows = await connection.fetch("SELECT name, cron, timezone FROM cron_jobs ORDER BY name")
    assert [tuple(r) for r in rows] == [
        ("another version's", "*/10 * * * *", "UTC"),
        ("new", "0 3 * * *", "Europe/Berlin"),
        ("ours", "0 5 * * *", "UTC"),
    ]
    # Removed by an engineer's hand it comes back with the next look, a minute later.
    await connection.execute("DELETE FROM cron_jobs WHERE name = 'new'")
    clock.at += timedelta(minutes=1)
    await term.run_pass()
    assert await connection.fetchval("SELECT count(*) FROM cron_jobs") == 3


async def test_what_waited_for_its_time_is_promoted_by_deadline(
    connection: Connection, clock: Driven, make_term: MakeTerm
) -> None:
    await connection.execute(ALIVE)
    at = clock.at + timedelta(seconds=3)
    await store.enqueue(connection, "work", [{}], run_at=at)
    term = await make_term()
    assert await term.run_pass() == at
    clock.at = at
    await term.run_pass()
    assert await connection.fetchval("SELECT status FROM job_runs") == "pending"


async def test_every_failed_plan_that_may_be_retried_is_retried_not_only_the_latest(
    connection: Connection, clock: Driven, make_term: MakeTerm, add_job: AddJob
) -> None:
    await connection.execute(ALIVE)
    await add_job(catch_up="every", overlap="queue")
    term = await make_term()
    await term.run_pass()
    clock.at += HOUR
    await term.run_pass()
    await connection.execute("UPDATE job_runs SET status = 'retryable', attempt = 1, run_at = $1", clock.at)
    await term.run_pass()
    assert [r["status"] for r in await planned(connection)] == ["pending"] * 6


async def test_a_silent_worker_s_run_waits_before_it_is_tried_again_and_not_for_ever(
    connection: Connection, clock: Driven, make_term: MakeTerm
) -> None:
    await connection.execute(ALIVE)
    [run] = await store.enqueue(connection, "work", [{}])
    term = await make_term()
    for attempt in (1, 2, 3):
        await lease(connection, run)
        clock.at += timedelta(minutes=2)
        await term.run_pass()
        row = await connection.fetchrow("SELECT *, run_at - clock_timestamp() AS wait FROM job_runs")
        assert row is not None and row["attempt"] == attempt and row["error_code"] == "stale_timeout"
        if attempt < 3:
            assert row["status"] == "retryable" and row["wait"] > timedelta(seconds=1)
            clock.at += timedelta(minutes=2)
            await term.run_pass()
            assert await connection.fetchval("SELECT status FROM job_runs") == "pending"
    assert row["status"] == "failed"
    assert [e["attempt"] for e in row["errors"]] == [1, 2, 3]
    clock.at += HOUR
    await term.run_pass()
    assert await connection.fetchval("SELECT status FROM job_runs") == "failed"


async def test_what_must_not_be_entered_twice_ends_and_no_retry_finds_it(
    connection: Connection, clock: Driven, make_term: MakeTerm
) -> None:
    await connection.execute(ALIVE)
    [run] = await store.enqueue(connection, "work", [{}])
    await connection.execute("UPDATE job_runs SET stale_reentry = false")
    await lease(connection, run)
    term = await make_term()
    for _ in range(3):
        clock.at += timedelta(minutes=20)
        await term.run_pass()
    row = await connection.fetchrow("SELECT status, error_code, attempt FROM job_runs")
    assert row is not None and tuple(row) == ("failed", "stale_timeout", 1)


async def test_a_lease_renewed_at_the_last_moment_is_left_alone(
    connection: Connection, clock: Driven, make_term: MakeTerm
) -> None:
    """The heartbeat comes between the leader's look and its verdict."""
    from core.jobs import rules

    [run] = await store.enqueue(connection, "work", [{}])
    await lease(connection, run, stale="0")
    token = await connection.fetchval("SELECT lease_token FROM job_runs")
    now = await connection.fetchval("SELECT clock_timestamp()")
    await connection.execute("UPDATE job_runs SET stale_at = clock_timestamp() + interval '1 minute'")
    verdict = rules.after_failure(rules.STALE, "silent", 1, 3, 0.5)
    assert await store.fail(connection, [((run, token), verdict)], now) == set()
    assert await connection.fetchval("SELECT status FROM job_runs") == "running"


async def test_a_run_past_its_deadline_is_settled_as_that(
    connection: Connection, clock: Driven, make_term: MakeTerm
) -> None:
    await connection.execute(ALIVE)
    [run] = await store.enqueue(connection, "work", [{}])
    await lease(connection, run, stale="2 hours", deadline="10 seconds")
    term = await make_term()
    clock.at += timedelta(seconds=11)
    await term.run_pass()
    row = await connection.fetchrow("SELECT status, error_code FROM job_runs")
    assert row is not None and tuple(row) == ("retryable", "deadline")


async def test_without_a_worker_it_shows_as_queued_and_comes_back_with_one(
    connection: Connection, clock: Driven, make_term: MakeTerm
) -> None:
    await store.enqueue(connection, "work", [{}])
    term = await make_term()
    await term.run_pass()
    assert await connection.fetchval("SELECT status FROM job_runs") == "queued"
    await connection.execute(ALIVE)
    term.workers_changed = True
    await term.run_pass()
    assert await connection.fetchval("SELECT status FROM job_runs") == "pending"
    await connection.execute("UPDATE job_workers SET last_seen_at = now() - interval '1 minute'")
    clock.at += timedelta(seconds=5)
    await term.run_pass()
    assert await connection.fetchval("SELECT status FROM job_runs") == "queued"


async def test_a_handler_that_no_program_knows_any_more_cancels_its_runs_with_that_reason(
    connection: Connection, clock: Driven, make_term: MakeTerm
) -> None:
    await connection.execute(ALIVE)
    await store.enqueue(connection, "removed", [{}])
    await store.enqueue(connection, "ours", [{}])
    await connection.execute("UPDATE job_runs SET run_at = now() - interval '1 hour'")
    registry = Registry()
    registry.add("ours", lambda context: asyncio.sleep(0))
    term = await make_term(registry)
    await term.run_pass()
    rows = await connection.fetch("SELECT handler, status, error_code, errors FROM job_runs ORDER BY handler")
    assert [(r["handler"], r["status"]) for r in rows] == [("ours", "queued"), ("removed", "cancelled")]
    assert "knows the handler removed" in rows[1]["errors"][0]["message"]


async def test_finished_runs_leave_in_batches_after_their_time(
    connection: Connection, clock: Driven, make_term: MakeTerm
) -> None:
    await connection.execute(
        "INSERT INTO job_runs (job_name, handler, status, finished_at) "
        "SELECT 'x', 'x', s, now() - h * interval '1 hour' FROM unnest('{completed,failed,cancelled}'::text[]) s, "
        "unnest('{23,25,71,73}'::int[]) h, generate_series(1, 300)"
    )
    term = await make_term()
    due = await term.run_pass()
    assert due == clock.at  # 500 at a time, and the rest at once
    while due == clock.at:
        due = await term.run_pass()
    rows = await connection.fetch("SELECT status, count(*) FROM job_runs GROUP BY 1 ORDER BY 1")
    assert [tuple(r) for r in rows] == [("cancelled", 900), ("completed", 300), ("failed", 900)]


async def test_a_finished_run_is_never_rewritten(connection: Connection) -> None:
    [run] = await store.enqueue(connection, "work", [{}])
    await connection.execute(
        "UPDATE job_runs SET status = 'completed', finished_at = now() WHERE id = $1", run
    )
    with pytest.raises(asyncpg.PostgresError, match="is not written again"):
        await connection.execute("UPDATE job_runs SET status = 'failed' WHERE id = $1", run)


async def test_a_thousand_retries_at_once_are_few_passes(
    connection: Connection, clock: Driven, make_term: MakeTerm
) -> None:
    await connection.execute(ALIVE)
    await store.enqueue(connection, "work", [{}] * 1000)
    await connection.execute(
        "UPDATE job_runs SET status = 'retryable', run_at = $1::timestamptz + random() * interval '1 second'",
        clock.at,
    )
    term = await make_term(tick=timedelta(hours=1))
    passes, end = 0, clock.at + timedelta(seconds=1.1)
    while clock.at < end:
        passes += 1
        clock.at = max(await term.run_pass(), clock.at + timedelta(milliseconds=1))
    assert await connection.fetchval("SELECT count(*) FROM job_runs WHERE status = 'pending'") == 1000
    assert passes <= 30


async def test_a_node_job_runs_once_on_each_node(
    connection: Connection, clock: Driven, make_term: MakeTerm, add_job: AddJob
) -> None:
    await connection.execute(
        "INSERT INTO nodes (name, base_url, last_heartbeat_at) "
        "VALUES ('n1', 'http://a', now()), ('n2', 'http://b', now())"
    )
    await add_job(scope="node")
    term = await make_term()
    await term.run_pass()
    clock.at += timedelta(minutes=10)
    await term.run_pass()
    rows = await planned(connection)
    assert len(rows) == 2 and len({r["node_id"] for r in rows} - {None}) == 2


async def test_a_quiet_plant_is_quiet(plant: str) -> None:
    """What a pass does must not wake the next one."""
    station = Station(
        plant, Identity("ALPHA", "headless", "kim"), [JobsLane(Registry(), timedelta(seconds=60))]
    )
    before = passes.of("jobs").count
    await station.start()
    try:
        await patiently(lambda: passes.of("jobs").count > before, within=20)
        await asyncio.sleep(1.5)
        assert (
            passes.of("jobs").count - before < 8
        )  # the first, and those that the station's own arrival asks for
    finally:
        await station.stop()
