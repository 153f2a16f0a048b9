"""Series: planning, edits three ways, adoption, collisions. Real database, no station needed for most."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from core.commands import Actor, Commander
from core.db.database import Database
from core.errors import Changed, CommandRefused
from core.recording.commands import create_window, edit_window
from core.recording.model import Series
from core.recording.recurrence import next_after
from core.recording.series import SeriesLane, build_series, kind, occurrences, recurrence_of
from core.recording.series_commands import (
    SeriesForm,
    create_series,
    delete_series,
    edit_series,
    repeat_window,
    skip_occurrence,
)
from core.roles import Role
from core.station import Identity, Station

PRAGUE = ZoneInfo("Europe/Prague")


@pytest.fixture
async def commander(plant):
    database = Database(plant, "ALPHA")
    await database.open()
    yield Commander(database, lambda: Actor("kim", "ALPHA", Role.OPERATOR))
    await database.close()


@pytest.fixture
async def unit(connection):
    return await connection.fetchval(
        "INSERT INTO recorders (name, base_url, external_id) VALUES ('REC-1', 'http://127.0.0.1:9', 'r1') RETURNING id"
    )


@pytest.fixture
def form(unit):
    return SeriesForm("Evening News", unit, "0 19 * * *", "Europe/Prague", timedelta(minutes=45))


async def windows(connection, series):
    return await connection.fetch(
        "SELECT * FROM recorder_schedules WHERE series_id = $1 ORDER BY plan_time", series
    )


async def test_a_new_series_is_planned_fourteen_days_ahead_at_its_wall_clock_time(
    commander, connection, form
):
    series = await commander.do(create_series, form)
    rows = await windows(connection, series)
    assert len(rows) in (14, 15)
    assert {r["start_at"].astimezone(PRAGUE).hour for r in rows} == {19}
    assert {r["end_at"] - r["start_at"] for r in rows} == {timedelta(minutes=45)}
    assert {r["recurrence"] for r in rows} == {"daily"}


async def test_a_bad_expression_is_refused_with_a_sentence_and_nothing_is_left(commander, connection, form):
    with pytest.raises(CommandRefused, match="25"):
        await commander.do(create_series, replace(form, cron="0 25 * * *"))
    with pytest.raises(CommandRefused, match="Praha"):
        await commander.do(create_series, replace(form, timezone="Europe/Praha"))
    assert await connection.fetchval("SELECT count(*) FROM recorder_series") == 0


async def test_a_collision_refuses_the_series_by_name(commander, connection, form, unit):
    at = next_after(recurrence_of_form(form), datetime.now(UTC) + timedelta(days=3))
    await commander.do(
        create_window, "Arts Review", unit, at + timedelta(minutes=30), at + timedelta(minutes=60)
    )
    with pytest.raises(CommandRefused, match="Arts Review"):
        await commander.do(create_series, form)
    assert await connection.fetchval("SELECT count(*) FROM recorder_series") == 0
    assert await connection.fetchval("SELECT count(*) FROM recorder_schedules") == 1


def recurrence_of_form(form):
    return recurrence_of(
        Series(0, "", 0, form.cron, form.timezone, timedelta(0), form.duration, None, None, [], None, True, None, None,
               False, 1)
    )  # fmt: skip


async def test_edit_all_moves_every_occurrence_but_the_edited_one(commander, connection, form):
    series = await commander.do(create_series, form)
    rows = await windows(connection, series)
    edited = rows[3]
    await commander.do(
        edit_window, edited["id"], edited["row_version"], end_at=edited["end_at"] + timedelta(minutes=15)
    )
    version = await connection.fetchval("SELECT row_version FROM recorder_series WHERE id = $1", series)
    await commander.do(edit_series, series, version, replace(form, duration=timedelta(hours=1)))
    after = {r["id"]: r for r in await windows(connection, series)}
    assert after[edited["id"]]["end_at"] == edited["end_at"] + timedelta(minutes=15)
    others = [r for r in after.values() if r["id"] != edited["id"]]
    assert {r["end_at"] - r["start_at"] for r in others} == {timedelta(hours=1)}
    assert len(after) == len(rows)


async def test_edit_following_splits_the_series(commander, connection, form):
    series = await commander.do(create_series, form)
    rows = await windows(connection, series)
    chosen = rows[5]
    version = await connection.fetchval("SELECT row_version FROM recorder_series WHERE id = $1", series)
    made = await commander.do(
        edit_series, series, version, replace(form, cron="30 19 * * *"), from_window=chosen["id"]
    )
    assert made != series
    assert [r["plan_time"] for r in await windows(connection, series)] == [r["plan_time"] for r in rows[:5]]
    later = await windows(connection, made)
    assert later[0]["start_at"] == chosen["start_at"] + timedelta(minutes=30)
    assert len(later) == len(rows) - 5


def tomorrow_at(hour):
    day = datetime.now(PRAGUE).date() + timedelta(days=1)
    return datetime(day.year, day.month, day.day, hour, tzinfo=PRAGUE)


async def test_a_single_window_becomes_the_first_of_a_series(commander, connection, form, unit):
    start = tomorrow_at(19)
    window = await commander.do(create_window, "Evening News", unit, start, start + form.duration)
    series = await commander.do(repeat_window, window, 1, replace(form, first_day=start.date()))
    planned = await windows(connection, series)
    assert planned[0]["id"] == window and planned[0]["start_at"] == start
    assert len(planned) >= 13 and {w["recurrence"] for w in planned} == {"daily"}
    with pytest.raises(CommandRefused, match="repeats already"):
        await commander.do(repeat_window, window, None, form)


async def test_repeating_at_another_time_moves_the_window_and_a_collision_changes_nothing(
    commander, connection, form, unit
):
    start = tomorrow_at(15)
    window = await commander.do(create_window, "Evening News", unit, start, start + form.duration)
    other = await commander.do(
        create_window, "Debate", unit, start + timedelta(days=2, hours=4), start + timedelta(days=2, hours=5)
    )
    with pytest.raises(CommandRefused, match="Debate"):
        await commander.do(repeat_window, window, None, form)
    assert await connection.fetchval("SELECT series_id FROM recorder_schedules WHERE id = $1", window) is None
    await connection.execute("DELETE FROM recorder_schedules WHERE id = $1", other)
    series = await commander.do(repeat_window, window, None, replace(form, first_day=start.date()))
    planned = await windows(connection, series)
    assert planned[0]["start_at"] == tomorrow_at(19)
    assert await connection.fetchval("SELECT count(*) FROM recorder_schedules") == len(planned)


async def test_a_recording_that_is_made_to_repeat_goes_on_untouched(commander, connection, form, unit):
    now = datetime.now(UTC)
    window = await commander.do(
        create_window, "Evening News", unit, now + timedelta(minutes=1), now + timedelta(minutes=46)
    )
    await connection.execute(
        "UPDATE recorder_schedules SET start_at = now() - interval '1 min', status = 'running' WHERE id = $1",
        window,
    )
    before = await connection.fetchrow("SELECT * FROM recorder_schedules WHERE id = $1", window)
    daily = replace(form, cron=f"{now.astimezone(PRAGUE):%M %H} * * *".replace(" 0", " "))
    series = await commander.do(repeat_window, window, None, daily)
    after = await connection.fetchrow("SELECT * FROM recorder_schedules WHERE id = $1", window)
    assert (after["start_at"], after["end_at"], after["status"]) == (
        before["start_at"], before["end_at"], "running",
    )  # fmt: skip
    following = await windows(connection, series)
    assert following[0]["id"] == window
    assert following[1]["start_at"].astimezone(PRAGUE).date() == now.astimezone(PRAGUE).date() + timedelta(
        days=1
    )


async def test_a_stale_edit_is_asked_again(commander, form):
    series = await commander.do(create_series, form)
    await commander.do(edit_series, series, 1, replace(form, name="News"))
    with pytest.raises(Changed):
        await commander.do(edit_series, series, 1, replace(form, name="Late News"))


async def test_a_skipped_day_goes_and_stays_away(commander, connection, form):
    series = await commander.do(create_series, form)
    rows = await windows(connection, series)
    await commander.do(skip_occurrence, rows[2]["id"])
    left = [r["plan_time"] for r in await windows(connection, series)]
    assert rows[2]["plan_time"] not in left
    assert len(left) == len(rows) - 1


async def test_deleting_a_series_takes_its_future_windows(commander, connection, form):
    series = await commander.do(create_series, form)
    await commander.do(delete_series, series, None)
    assert await connection.fetchval("SELECT count(*) FROM recorder_schedules") == 0


@pytest.fixture
async def leader(plant):
    station = Station(plant, Identity("ALPHA", "headless", "kim"), [SeriesLane()])
    await station.start()
    yield station
    await station.stop()


async def wait_for(connection, question, *arguments, within=3.0):
    for _ in range(int(within / 0.02)):
        if found := await connection.fetchval(question, *arguments):
            return found
        await asyncio.sleep(0.02)
    pytest.fail(f"not within {within} s: {question}")


async def test_the_leader_plans_a_series_inserted_by_sql(leader, connection, unit):
    await connection.execute(
        "INSERT INTO recorder_series (name, recorder_id, cron, timezone, duration) "
        "VALUES ('X', $1, '0 6 * * mon', 'UTC', '1 hour')", unit,
    )  # fmt: skip
    await wait_for(connection, "SELECT count(*) >= 2 FROM recorder_schedules WHERE recurrence = 'weekly'")


async def test_the_leader_replans_a_series_changed_by_sql(leader, connection, commander, form):
    series = await commander.do(create_series, form)
    await connection.execute("UPDATE recorder_series SET cron = '15 19 * * *' WHERE id = $1", series)
    await wait_for(
        connection,
        "SELECT count(*) > 13 AND bool_and(extract(minute FROM start_at) = 15) FROM recorder_schedules",
    )


async def test_a_plain_daily_row_is_adopted(leader, connection, unit):
    await connection.execute("UPDATE plant SET timezone = 'Europe/Prague'")
    start = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
    await connection.execute(
        "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, recurrence) "
        "VALUES ('D', $1, $2, $3, 'daily')",
        unit, start, start + timedelta(minutes=10),
    )  # fmt: skip
    await wait_for(connection, "SELECT count(*) >= 13 FROM recorder_schedules WHERE series_id IS NOT NULL")
    rows = await connection.fetch("SELECT * FROM recorder_schedules ORDER BY start_at")
    assert rows[0]["start_at"] == start
    local = {r["start_at"].astimezone(PRAGUE).time() for r in rows}
    assert local == {start.astimezone(PRAGUE).time()}
    assert await connection.fetchval("SELECT timezone FROM recorder_series") == "Europe/Prague"


async def test_a_collision_found_by_the_leader_is_recorded_and_alarmed(leader, connection, unit):
    day = (datetime.now(UTC) + timedelta(days=2)).replace(hour=6, minute=30, second=0, microsecond=0)
    await connection.execute(
        "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) VALUES ('In the way', $1, $2, $3)",
        unit, day, day + timedelta(minutes=10),
    )  # fmt: skip
    await connection.execute(
        "INSERT INTO recorder_series (name, recorder_id, cron, timezone, duration) "
        "VALUES ('X', $1, '0 6 * * *', 'UTC', '1 hour')", unit,
    )  # fmt: skip
    await wait_for(connection, "SELECT count(*) FROM recorder_schedules WHERE status = 'failed'")
    row = await connection.fetchrow("SELECT * FROM recorder_schedules WHERE status = 'failed'")
    assert "In the way" in row["error_message"]
    assert (
        await connection.fetchval("SELECT count(*) FROM alarms WHERE key = $1", f"window:{row['id']}:failed")
        == 1
    )


async def test_a_bad_series_by_sql_is_alarmed_and_the_others_go_on(leader, connection, unit):
    await connection.execute(
        "INSERT INTO recorder_series (name, recorder_id, cron, timezone, duration) VALUES "
        "('Bad', $1, 'nonsense', 'UTC', '1 hour'), ('Good', $1, '0 6 * * *', 'UTC', '1 hour')", unit,
    )  # fmt: skip
    await wait_for(connection, "SELECT count(*) >= 13 FROM recorder_schedules WHERE name = 'Good'")
    assert await connection.fetchval("SELECT error_message FROM recorder_series WHERE name = 'Bad'")
    assert await connection.fetchval("SELECT count(*) FROM alarms WHERE source_kind = 'series'") == 1


def test_an_occurrence_under_way_is_wanted_too():
    now = datetime(2026, 3, 1, 19, 20, tzinfo=UTC)
    series = build_series({
        "id": 1, "name": "N", "recorder_id": 1, "cron": "0 19 * * *", "timezone": "UTC", "shift": timedelta(seconds=5),
        "duration": timedelta(minutes=45), "first_day": None, "last_day": None, "skips": [], "source": None,
        "enabled": True, "planned_until": None, "error_message": None, "demo": False, "row_version": 1,
    })  # fmt: skip
    assert occurrences(series, now, now + timedelta(days=1))[0] == datetime(2026, 3, 1, 19, 0, 5, tzinfo=UTC)
    assert occurrences(replace(series, enabled=False), now, now + timedelta(days=1)) == []


@pytest.mark.parametrize(
    "cron, said",
    [
        ("0 19 * * *", "daily"),
        ("0 19 * * mon,tue", "weekly"),
        ("0 19 1 * *", "cron"),
        ("*/5 * * * *", "cron"),
    ],
)
def test_the_kind_of_a_series(cron, said):
    assert kind(cron) == said
