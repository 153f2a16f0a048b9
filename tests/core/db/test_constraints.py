"""Wrong states cannot be stored, whoever writes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from core.db.database import Connection

NOON = datetime(2030, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ACTIVE = ("pending", "starting", "running", "stopping")
OVER = ("completed", "failed", "missed", "cancelled")


async def window(
    connection: Connection, recorder: int, start: datetime, end: datetime, status: str = "pending"
) -> int:
    return await connection.fetchval(
        "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, status) "
        "VALUES ('w', $1, $2, $3, $4) RETURNING id",
        recorder,
        start,
        end,
        status,
    )


async def test_active_windows_of_one_recorder_never_overlap(connection: Connection, recorder: int) -> None:
    mine = await window(connection, recorder, NOON, NOON + HOUR)
    for status in ACTIVE:
        await connection.execute("UPDATE recorder_schedules SET status = $1 WHERE id = $2", status, mine)
        for start, end in (
            (NOON, NOON + HOUR),
            (NOON + HOUR / 2, NOON + 2 * HOUR),
            (NOON - HOUR, NOON + timedelta(microseconds=1)),
            (NOON - HOUR, NOON + 2 * HOUR),
            (NOON + HOUR / 4, NOON + HOUR / 2),
        ):
            with pytest.raises(asyncpg.ExclusionViolationError) as said:
                await window(connection, recorder, start, end)
            assert said.value.constraint_name == "window_overlap"


async def test_windows_that_touch_or_are_over_or_elsewhere_do_not_collide(
    connection: Connection, recorder: int
) -> None:
    other = await connection.fetchval(
        "INSERT INTO recorders (name, base_url, external_id) VALUES ('REC 2', 'http://x', 'r2') RETURNING id"
    )
    mine = await window(connection, recorder, NOON, NOON + HOUR)
    await window(connection, recorder, NOON + HOUR, NOON + 2 * HOUR)
    await window(connection, recorder, NOON - HOUR, NOON)
    await window(connection, other, NOON, NOON + HOUR)
    for status in OVER:
        await window(connection, recorder, NOON, NOON + HOUR, status)
    # What is over cannot come back into a place that is taken.
    with pytest.raises(asyncpg.ExclusionViolationError):
        await connection.execute(
            "UPDATE recorder_schedules SET status = 'pending' WHERE status = 'cancelled'"
        )
    with pytest.raises(asyncpg.ExclusionViolationError):
        await connection.execute(
            "UPDATE recorder_schedules SET end_at = end_at + interval '1s' WHERE id = $1", mine
        )
    await connection.execute("UPDATE recorder_schedules SET status = 'cancelled' WHERE id = $1", mine)
    await window(connection, recorder, NOON, NOON + HOUR)


async def test_two_operators_at_once_cannot_book_the_same_time(
    connection: Connection, plant: str, recorder: int
) -> None:
    second = await asyncpg.connect(plant)
    async with connection.transaction():
        await window(connection, recorder, NOON, NOON + HOUR)
        trying = asyncio.create_task(window(second, recorder, NOON + HOUR / 2, NOON + 2 * HOUR))
        await asyncio.sleep(0.05)
        assert not trying.done()
    with pytest.raises(asyncpg.ExclusionViolationError):
        await trying
    await second.close()


async def test_a_window_ends_after_its_start(connection: Connection, recorder: int) -> None:
    for end in (NOON, NOON - HOUR):
        with pytest.raises(asyncpg.CheckViolationError) as said:
            await window(connection, recorder, NOON, end)
        assert said.value.constraint_name == "window_ends_after_start"


async def test_a_series_plans_a_time_once(connection: Connection, recorder: int) -> None:
    series = await connection.fetchval(
        "INSERT INTO recorder_series (name, recorder_id, cron, timezone, duration) "
        "VALUES ('s', $1, '0 20 * * *', 'UTC', '1 hour') RETURNING id",
        recorder,
    )
    plan = (
        "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, status, series_id, plan_time) "
        "VALUES ('w', $1, $2, $3, 'cancelled', $4, $2)"
    )
    await connection.execute(plan, recorder, NOON, NOON + HOUR, series)
    with pytest.raises(asyncpg.UniqueViolationError) as said:
        await connection.execute(plan, recorder, NOON, NOON + HOUR, series)
    assert said.value.constraint_name == "series_plan_once"


OUTSIDE = (
    "UPDATE recorder_schedules SET status = 'paused'",
    "UPDATE recorder_schedules SET recurrence = 'hourly'",
    "UPDATE recorder_schedules SET error_message = repeat('x', 501)",
    "UPDATE recorders SET status = 'busy'",
    "UPDATE recorders SET mode = 'half'",
    "UPDATE recorders SET name = ''",
    "UPDATE recorders SET base_url = NULL",
    "INSERT INTO assets (display_name, path, status) VALUES ('a', 'b', 'gone')",
    "INSERT INTO playout_channels (name, output_type, output_url) VALUES ('x', 'fax', 'y')",
    "INSERT INTO alarms (key, priority, source_kind, message) VALUES ('k', 'urgent', 's', 'm')",
    "INSERT INTO plant (id) VALUES (2)",
    "INSERT INTO cron_jobs (name, cron, handler, queue) VALUES ('j', '* * * * *', 'h', 'fast')",
    "INSERT INTO job_runs (job_name, handler, progress) VALUES ('j', 'h', 1.5)",
)


async def test_a_value_outside_the_contract_is_refused(connection: Connection, recorder: int) -> None:
    await window(connection, recorder, NOON, NOON + HOUR)
    for statement in OUTSIDE:
        with pytest.raises(asyncpg.CheckViolationError):
            await connection.execute(statement)


async def test_what_is_referred_to_stays(connection: Connection, recorder: int, channel: int) -> None:
    await window(connection, recorder, NOON, NOON + HOUR)
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await connection.execute("DELETE FROM recorders")
    await connection.execute(
        "INSERT INTO playout_as_run (channel_id, started_at, ended_at) VALUES ($1, $2, $3)",
        channel,
        NOON,
        NOON + HOUR,
    )
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await connection.execute("DELETE FROM playout_channels")


async def test_one_open_alarm_per_key(connection: Connection) -> None:
    raise_one = "INSERT INTO alarms (key, priority, source_kind, message) VALUES ('k', 'low', 's', 'm')"
    await connection.execute(raise_one)
    with pytest.raises(asyncpg.UniqueViolationError) as said:
        await connection.execute(raise_one)
    assert said.value.constraint_name == "alarms_one_open_per_key"
    await connection.execute("UPDATE alarms SET cleared_at = now()")
    with pytest.raises(asyncpg.UniqueViolationError):
        await connection.execute(raise_one)  # it still asks to be acknowledged
    await connection.execute("UPDATE alarms SET acked_at = now(), acked_by = 'x'")
    await connection.execute(raise_one)
    with pytest.raises(asyncpg.CheckViolationError):
        await connection.execute("UPDATE alarms SET acked_at = now() WHERE acked_at IS NULL")


async def test_a_plan_becomes_a_run_once_even_without_a_job(connection: Connection) -> None:
    enqueue = "INSERT INTO job_runs (job_name, handler, plan_time) VALUES ('j', 'h', $1)"
    await connection.execute(enqueue, NOON)
    with pytest.raises(asyncpg.UniqueViolationError) as said:
        await connection.execute(enqueue, NOON)
    assert said.value.constraint_name == "job_plan_once"
    await connection.execute(enqueue, NOON + HOUR)
