"""The recording lane with a real station, a real database and a recorder that counts."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import pytest

from tests.fakes import counting_recorder as fake


async def until(status_of, window, wanted, within=6.0):
    deadline = time.monotonic() + within
    while (found := await status_of(window)) != wanted:
        if time.monotonic() > deadline:
            pytest.fail(f"window {window} is {found}, not {wanted}, after {within} s")
        await asyncio.sleep(0.02)


def events(recorder, *kinds):
    return [e for e in recorder.log if e.what in kinds]


async def test_a_window_starts_and_stops_on_time(
    station, recorder, add_recorder, add_window, status_of, connection
):
    window = await add_window(await add_recorder("REC-1"), 1.0, 1.0)
    await until(status_of, window, "running")
    row = await connection.fetchrow("SELECT * FROM recorder_schedules WHERE id = $1", window)
    lateness = recorder.arrivals[window] - row["start_at"].timestamp()
    assert 0 <= lateness < 0.25
    assert row["session_id"] == recorder.unit("REC-1").session
    assert row["epoch"] == station.leadership.lead.epoch
    asset = await connection.fetchrow("SELECT * FROM assets WHERE id = $1", row["last_asset_id"])
    assert asset["schedule_id"] == window
    assert asset["status"] == "live"
    await until(status_of, window, "completed")
    assert [e.what for e in recorder.log] == ["start", "stop"]


async def test_a_window_already_due_by_sql_starts_at_once(
    station, recorder, add_recorder, add_window, status_of
):
    unit = await add_recorder("REC-1")
    await asyncio.sleep(0.3)
    window = await add_window(unit, -5.0, 30.0)
    await until(status_of, window, "running", 1.0)


@pytest.mark.parametrize("mood", [fake.STALL, fake.DROP, fake.GARBAGE])
async def test_a_start_that_worked_without_an_answer_is_found_out(
    station, recorder, add_recorder, add_window, status_of, mood
):
    moods = iter([mood])
    recorder.mood = lambda unit, operation: next(moods, fake.OBEY) if operation == "start" else fake.OBEY
    window = await add_window(await add_recorder("REC-1"), 0.2, 3.0)
    await until(status_of, window, "running")
    await until(status_of, window, "completed")
    assert len(events(recorder, "start")) == 1
    assert len(events(recorder, "stop")) == 1


@pytest.mark.parametrize("mood", [fake.STALL, fake.DROP, fake.GARBAGE])
async def test_a_stop_that_worked_without_an_answer_completes(
    station, recorder, add_recorder, add_window, status_of, mood
):
    moods = iter([mood])
    recorder.mood = lambda unit, operation: next(moods, fake.OBEY) if operation == "stop" else fake.OBEY
    window = await add_window(await add_recorder("REC-1"), 0.2, 1.0)
    await until(status_of, window, "completed")
    assert len(events(recorder, "stop")) == 1


async def test_a_refused_start_is_retried_as_a_new_attempt_while_the_window_is_open(
    station, recorder, add_recorder, add_window, status_of, connection
):
    moods = iter([fake.REFUSE, fake.REFUSE])
    recorder.mood = lambda unit, operation: next(moods, fake.OBEY) if operation == "start" else fake.OBEY
    window = await add_window(await add_recorder("REC-1"), 0.2, 4.0)
    await until(status_of, window, "running")
    assert await connection.fetchval("SELECT attempt FROM recorder_schedules WHERE id = $1", window) == 3
    noted = await connection.fetch("SELECT outcome, message FROM recorder_attempts ORDER BY id")
    assert [n["outcome"] for n in noted] == ["retried", "retried", "done"]
    assert noted[0]["message"] == "No signal on the input."


async def test_a_start_that_never_works_fails_with_the_reason_and_an_alarm(
    station, recorder, add_recorder, add_window, status_of, connection
):
    recorder.mood = lambda unit, operation: fake.REFUSE
    window = await add_window(await add_recorder("REC-1"), 0.2, 1.5)
    await until(status_of, window, "failed")
    row = await connection.fetchrow("SELECT * FROM recorder_schedules WHERE id = $1", window)
    assert row["error_message"] == "No signal on the input."
    alarm = await connection.fetchrow("SELECT * FROM alarms WHERE key = $1", f"window:{window}:failed")
    assert alarm["priority"] == "high"


async def test_back_to_back_stops_first(station, recorder, add_recorder, add_window, status_of):
    unit = await add_recorder("REC-1")
    first = await add_window(unit, 0.5, 1.0, "One")
    start = None
    row = await station.database._pool.fetchrow("SELECT end_at FROM recorder_schedules WHERE id = $1", first)
    start = row["end_at"]
    second = await station.database._pool.fetchval(
        "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) VALUES ('Two', $1, $2, $3) RETURNING id",
        unit, start, start + timedelta(seconds=1),
    )  # fmt: skip
    await until(status_of, second, "completed")
    assert await status_of(first) == "completed"
    assert [e.what for e in recorder.log] == ["start", "stop", "start", "stop"]
    assert recorder.arrivals[second] - start.timestamp() < 0.25


async def test_missed(station, recorder, add_recorder, add_window, status_of, connection):
    window = await add_window(await add_recorder("REC-1"), -10.0, 5.0)
    await until(status_of, window, "missed", 2.0)
    assert (
        await connection.fetchval("SELECT count(*) FROM alarms WHERE key = $1", f"window:{window}:missed")
        == 1
    )
    assert not recorder.log


async def test_cancel_of_a_pending_window_touches_nothing(
    station, recorder, add_recorder, add_window, connection
):
    unit = await add_recorder("REC-1")
    running = await add_window(unit, 0.0, 30.0, "One")
    armed = await add_window(unit, 31.0, 10.0, "Two")
    await asyncio.sleep(0.5)
    await connection.execute("UPDATE recorder_schedules SET status = 'cancelled' WHERE id = $1", armed)
    await asyncio.sleep(0.5)
    assert [e.what for e in recorder.log] == ["start"]
    assert running


async def test_cancel_of_a_running_window_stops_its_session(
    station, recorder, add_recorder, add_window, status_of, connection
):
    window = await add_window(await add_recorder("REC-1"), 0.0, 30.0)
    await until(status_of, window, "running")
    moods = iter([fake.DEAF, fake.REFUSE])
    recorder.mood = lambda unit, operation: next(moods, fake.OBEY)
    recorder.mood = lambda unit, operation: fake.REFUSE if next(moods, None) else fake.OBEY
    await connection.execute("UPDATE recorder_schedules SET status = 'cancelled' WHERE id = $1", window)
    deadline = time.monotonic() + 5
    while recorder.unit("REC-1").session is not None:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.1)
    row = await connection.fetchrow("SELECT * FROM recorder_schedules WHERE id = $1", window)
    assert row["claim_token"] is None
    assert row["stopped_at"] is not None


async def test_extending_a_running_window_does_not_interrupt_it(
    station, recorder, add_recorder, add_window, status_of, connection
):
    window = await add_window(await add_recorder("REC-1"), 0.0, 1.5)
    await until(status_of, window, "running")
    await connection.execute(
        "UPDATE recorder_schedules SET end_at = end_at + interval '1.5 s' WHERE id = $1", window
    )
    await asyncio.sleep(2.0)
    assert await status_of(window) == "running"
    await until(status_of, window, "completed")
    assert [e.what for e in recorder.log] == ["start", "stop"]


async def test_manual_mode_holds_and_auto_lets_go(
    station, recorder, add_recorder, add_window, status_of, connection
):
    unit = await add_recorder("REC-1")
    await connection.execute("UPDATE recorders SET mode = 'manual' WHERE id = $1", unit)
    window = await add_window(unit, 0.0, 30.0)
    await asyncio.sleep(0.5)
    assert not recorder.log
    assert await status_of(window) == "pending"
    await connection.execute("UPDATE recorders SET mode = 'auto' WHERE id = $1", unit)
    await until(status_of, window, "running", 2.0)


async def test_a_recording_that_died_is_restarted_as_a_second_attempt(
    station, recorder, add_recorder, add_window, status_of, connection
):
    window = await add_window(await add_recorder("REC-1"), 0.0, 30.0)
    await until(status_of, window, "running")
    recorder.unit("REC-1").session = None
    deadline = time.monotonic() + 5
    while len(events(recorder, "start")) < 2:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
    await until(status_of, window, "running")
    assert await connection.fetchval("SELECT count(*) FROM assets WHERE schedule_id = $1", window) == 2
    assert (
        await connection.fetchval("SELECT count(*) FROM alarms WHERE key = $1", f"window:{window}:restarted")
        == 1
    )
