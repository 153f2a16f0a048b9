"""Workers on a real database: order, limits, leases that are lost, and leaving."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from core.db.database import Connection
from core.jobs import store, worker
from core.jobs.registry import JobFailed, RunContext
from tests.core.jobs.conftest import Until, Work
from tests.patience import patiently

STATUS = "SELECT status FROM job_runs WHERE id = $1"
OPEN = "SELECT count(*) FROM job_runs WHERE status NOT IN ('completed', 'failed', 'cancelled')"


class Recorder:
    """A handler that notes what it was given and, when told to, waits."""

    def __init__(self, wait: bool = False) -> None:
        self.begun: list[Any] = []
        self.cancelled: list[Any] = []
        self.most = self._now = 0
        self.go = asyncio.Event()
        if not wait:
            self.go.set()

    async def __call__(self, context: RunContext) -> None:
        self.begun.append(context.arguments.get("n"))
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.append(context.arguments.get("n"))
            raise
        finally:
            self._now -= 1


async def test_queue_order(connection: Connection, work: Work, until: Until) -> None:
    n = 0
    for queue in ("batch", "default", "live"):
        for priority in ("low", "high", "medium"):
            for _ in range(2):
                await store.enqueue(
                    connection, "work", [{"n": f"{queue} {priority} {n}"}], queue=queue, priority=priority
                )
                n += 1
    handler = Recorder()
    work(concurrency=1, work=handler)
    await until(OPEN, 0)
    assert [b.rsplit(" ", 1)[0] for b in handler.begun] == [
        f"{q} {p}" for q in ("live", "default", "batch") for p in ("high", "medium", "low") for _ in range(2)
    ]
    numbers = [int(b.rsplit(" ", 1)[1]) for b in handler.begun]
    assert all(a < b for a, b in zip(numbers[::2], numbers[1::2], strict=True))  # first come, first served


async def test_no_more_at_once_than_the_worker_and_its_queues_allow(
    connection: Connection, work: Work, until: Until
) -> None:
    handler = Recorder(wait=True)
    hands = work(concurrency=5, per_queue={"batch": 2}, work=handler)
    await store.enqueue(connection, "work", [{}] * 20, queue="batch")
    await patiently(lambda: handler.most == 2)
    await store.enqueue(connection, "work", [{}] * 20)
    await patiently(lambda: handler.most == 5 and hands.worker.running == 5)
    handler.go.set()
    await until(OPEN, 0)
    assert handler.most == 5 and len(handler.begun) == 40


async def test_a_result_and_its_progress_are_kept(connection: Connection, work: Work, until: Until) -> None:
    go = asyncio.Event()

    async def handler(context: RunContext) -> dict[str, Any]:
        context.progress = 0.25
        await go.wait()
        return {"lufs": -23.0}

    work(work=handler)
    [run] = await store.enqueue(connection, "work", [{}])
    await until("SELECT progress FROM job_runs WHERE id = $1", 0.25, run)
    go.set()
    await until(STATUS, "completed", run)
    assert await connection.fetchval("SELECT result FROM job_runs") == {"lufs": -23.0}


@pytest.mark.parametrize(
    "error, status, code, said",
    [
        (JobFailed("The disk is full."), "retryable", "handler_error", "The disk is full."),
        (
            JobFailed("Cannot be decoded.", code="undecodable", retry=False),
            "failed",
            "undecodable",
            "Cannot be",
        ),
        (KeyError("nothing"), "retryable", "handler_error", "KeyError"),
        (RuntimeError("x" * 9000), "retryable", "handler_error", "RuntimeError"),
    ],
)
async def test_failures_are_kept_with_their_code(
    connection: Connection, work: Work, until: Until, error: Exception, status: str, code: str, said: str
) -> None:
    async def handler(context: RunContext) -> None:
        raise error

    work(work=handler)
    [run] = await store.enqueue(connection, "work", [{}])
    await until(STATUS, status, run)
    row = await connection.fetchrow("SELECT *, run_at - clock_timestamp() AS wait FROM job_runs")
    assert row is not None and row["error_code"] == code and said in row["errors"][0]["message"]
    assert len(row["errors"][0]["message"]) <= 4000
    assert (row["finished_at"] is None) == (status == "retryable")


async def test_a_result_that_is_too_large_is_a_failure(
    connection: Connection, work: Work, until: Until
) -> None:
    async def handler(context: RunContext) -> dict[str, Any]:
        return {"x": "x" * 20000}

    work(work=handler)
    await store.enqueue(connection, "work", [{}])
    await until("SELECT status FROM job_runs", "retryable")
    assert "16 KiB" in (await connection.fetchval("SELECT errors FROM job_runs"))[0]["message"]


async def test_a_lease_is_counted_from_its_claim_not_from_anything_before(
    connection: Connection,
) -> None:
    """The run waited longer than its stale timeout; the transaction that claims it may have begun long ago too."""
    await store.enqueue(connection, "work", [{}])
    await connection.execute(
        "UPDATE job_runs SET created_at = now() - interval '1 day', run_at = now() - interval '1 day'"
    )
    async with connection.transaction():
        began = await connection.fetchval("SELECT now()")
        await connection.execute("SELECT pg_sleep(0.3)")
        await connection.fetch(store.SQL.claim, "0" * 32, "slow", None, ["work"], 1, 1, 1, 1)
        row = await connection.fetchrow(
            "SELECT stale_at - stale_timeout AS stale, deadline_at - time_limit AS d FROM job_runs"
        )
    assert row is not None and min(row) >= began + timedelta(seconds=0.3)


async def test_cancelled_by_hand_the_handler_ends_wherever_it_runs(
    connection: Connection, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "BEAT", 600.0)  # it is told, and does not find out by and by
    handler = Recorder(wait=True)
    hands = work(work=handler)
    [run] = await store.enqueue(connection, "work", [{"n": 1}])
    await patiently(lambda: handler.begun == [1])
    await connection.execute(
        "UPDATE job_runs SET status = 'cancelled', finished_at = now(), lease_token = NULL WHERE id = $1", run
    )
    await patiently(lambda: handler.cancelled == [1])
    await patiently(lambda: hands.worker.running == 0)
    assert await connection.fetchval(STATUS, run) == "cancelled"


async def test_a_late_result_is_refused(connection: Connection, work: Work, until: Until) -> None:
    """A handler that does not let itself be cancelled finishes after its lease went to another worker."""
    go, stubborn = asyncio.Event(), asyncio.Event()

    async def handler(context: RunContext) -> dict[str, Any]:
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                stubborn.set()
        return {"late": True}

    hands = work(work=handler)
    [run] = await store.enqueue(connection, "work", [{}])
    await until(STATUS, "running", run)
    await connection.execute(
        "UPDATE job_runs SET lease_token = gen_random_uuid(), worker = 'other' WHERE id = $1", run
    )
    await patiently(stubborn.is_set)
    go.set()
    await patiently(lambda: hands.worker.running == 0)
    assert await connection.fetchval(STATUS, run) == "running"
    assert await connection.fetchval("SELECT result FROM job_runs") is None


async def test_a_finished_run_refuses_the_token_it_was_finished_with(connection: Connection) -> None:
    token = "0" * 32
    [run] = await store.enqueue(connection, "work", [{}])
    await connection.fetch(store.SQL.claim, token, "w", None, ["work"], 1, 1, 1, 1)
    assert len(await connection.fetch(store.SQL.complete_plain, [run], [token])) == 1
    assert await connection.fetch(store.SQL.complete, [run], [token], ['{"again": 1}']) == []


async def test_a_worker_without_a_database_ends_what_somebody_else_may_hold_by_now(
    connection: Connection, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = Recorder(wait=True)
    run = await connection.fetchval(
        "INSERT INTO job_runs (job_name, handler, arguments, stale_timeout) VALUES ('x', 'work', '{\"n\": 1}', '3 s') "
        "RETURNING id"
    )
    hands = work(work=handler)
    await patiently(lambda: handler.begun == [1])

    async def nobody(*_: object) -> None:
        raise ConnectionRefusedError("gone")

    monkeypatch.setattr(hands.worker._database, "connect", nobody)
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'airlock worker%'"
    )
    await patiently(lambda: handler.cancelled == [1], within=15)
    assert await connection.fetchval(STATUS, run) == "running"  # the leader settles it


async def test_a_lost_connection_keeps_the_handlers_and_their_results(
    connection: Connection, work: Work, until: Until
) -> None:
    handler = Recorder(wait=True)
    work(work=handler)
    [run] = await store.enqueue(connection, "work", [{"n": 1}])
    await patiently(lambda: handler.begun == [1])
    for _ in range(2):
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'airlock worker%'"
        )
        await asyncio.sleep(0.05)
    handler.go.set()
    await until(STATUS, "completed", run)
    assert handler.begun == [1] and not handler.cancelled


async def test_a_handler_over_its_time_is_cancelled_and_the_run_says_so(
    connection: Connection, work: Work, until: Until
) -> None:
    handler = Recorder(wait=True)
    [run] = await store.enqueue(connection, "work", [{"n": 1}])
    await connection.execute("UPDATE job_runs SET time_limit = '200 milliseconds', max_attempts = 1")
    work(work=handler)
    await until(STATUS, "failed", run)
    assert await connection.fetchval("SELECT error_code FROM job_runs") == "deadline"
    assert handler.cancelled == [1]


async def test_runs_that_were_taken_away_do_not_use_up_the_worker(
    connection: Connection, work: Work, until: Until
) -> None:
    handler = Recorder(wait=True)
    hands = work(concurrency=2, work=handler)
    for _ in range(4):
        await store.enqueue(connection, "work", [{}] * 2)
        await patiently(lambda: hands.worker.running == 2)
        await connection.execute(
            "UPDATE job_runs SET status = 'cancelled', finished_at = now(), lease_token = NULL WHERE status = 'running'"
        )
        await patiently(lambda: hands.worker.running == 0)
    handler.go.set()
    [last] = await store.enqueue(connection, "work", [{}])
    await until(STATUS, "completed", last)


async def test_one_job_and_scope_runs_once_at_a_time_across_workers_and_holds_up_nobody_else(
    connection: Connection, work: Work, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "LOOK", 600.0)  # without the safety net
    handler, other = Recorder(wait=True), Recorder()
    await connection.execute(
        "INSERT INTO job_runs (job_name, handler, exclusive) SELECT 'same', 'work', true FROM generate_series(1, 15)"
    )
    mine = await store.enqueue(connection, "other", [{}] * 3)
    work("w0", concurrency=4, work=handler, other=other)
    # Behind fifteen that exclude each other: those are passed by, not waited for.
    await until("SELECT count(*) FROM job_runs WHERE id = ANY ($1) AND status = 'completed'", 3, mine)
    for n in (1, 2):
        work(f"w{n}", concurrency=4, work=handler, other=other)
    await until("SELECT count(*) FROM job_workers", 3)
    assert handler.most == 1
    handler.go.set()
    await until(OPEN, 0)
    assert handler.most == 1 and len(handler.begun) == 15


async def test_the_database_refuses_two_at_a_time(connection: Connection) -> None:
    add = (
        "INSERT INTO job_runs (job_name, handler, exclusive, status, lease_token) "
        "VALUES ('same', 'work', true, 'running', gen_random_uuid())"
    )
    await connection.execute(add)
    with pytest.raises(asyncpg.UniqueViolationError):
        await connection.execute(add)


async def test_only_a_worker_of_its_node_takes_a_run(
    connection: Connection, work: Work, until: Until
) -> None:
    node = await connection.fetchval(
        "INSERT INTO nodes (name, base_url) VALUES ('n2', 'http://b') RETURNING id"
    )
    run = await connection.fetchval(
        "INSERT INTO job_runs (job_name, handler, node_id) VALUES ('x', 'work', $1) RETURNING id", node
    )
    elsewhere, here = Recorder(), Recorder()
    work("elsewhere", node="n1", work=elsewhere)
    work("here", node="n2", work=here)
    await until(STATUS, "completed", run)
    assert len(here.begun) == 1 and not elsewhere.begun


async def test_a_worker_that_leaves_finishes_what_it_can_and_hands_back_the_rest(
    connection: Connection, work: Work, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "LEAVING", 0.5)
    stuck, quick = Recorder(wait=True), asyncio.Event()

    async def short(context: RunContext) -> None:
        await quick.wait()

    hands = work(stuck=stuck, short=short)
    [long] = await store.enqueue(connection, "stuck", [{"n": 1}])
    [soon] = await store.enqueue(connection, "short", [{}])
    await patiently(lambda: hands.worker.running == 2)
    hands.stop.set()
    await asyncio.sleep(0)
    [later] = await store.enqueue(connection, "short", [{}])
    quick.set()
    await hands.task
    assert await connection.fetchval(STATUS, soon) == "completed"
    row = await connection.fetchrow("SELECT status, attempt, errors FROM job_runs WHERE id = $1", long)
    assert row is not None and (row["status"], row["attempt"]) == ("pending", 0)
    assert row["errors"][0]["code"] == "worker_left" and stuck.cancelled == [1]
    assert await connection.fetchval("SELECT left_at IS NOT NULL FROM job_workers")
    assert await connection.fetchval(STATUS, later) in ("pending", "completed")


async def test_one_long_job_stalls_nobody(connection: Connection, work: Work, until: Until) -> None:
    long, short = Recorder(wait=True), Recorder()
    work(long=long, short=short)
    await store.enqueue(connection, "long", [{}])
    await patiently(lambda: len(long.begun) == 1)
    await store.enqueue(connection, "short", [{}] * 50)
    await until("SELECT count(*) FROM job_runs WHERE handler = 'short' AND status = 'completed'", 50)


async def test_what_nobody_was_told_of_is_found_by_the_safety_net_and_idle_workers_tell_nobody(
    connection: Connection, work: Work, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "LOOK", 0.05)
    handler = Recorder()
    work(work=handler)
    await until("SELECT count(*) FROM job_workers", 1)
    await asyncio.sleep(0.2)
    heard: list[object] = []
    await connection.add_listener("airlock", lambda *said: heard.append(said[3]))
    await asyncio.sleep(0.5)  # ten looks
    assert heard == []
    await connection.execute("ALTER TABLE job_runs DISABLE TRIGGER USER")
    await store.enqueue(connection, "work", [{"n": 1}])
    await patiently(lambda: handler.begun == [1])
