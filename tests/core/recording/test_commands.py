"""What an operator can do with windows and recorders, against the real database and a live leader."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from core.errors import Changed, CommandRefused, NotFound
from core.recording.commands import (
    cancel_window,
    copy_window,
    create_window,
    delete_window,
    edit_window,
    extend_window,
    move_windows,
    set_mode,
    start_now,
    stop_now,
)
from tests.core.recording.test_lane import until

MINUTE = timedelta(minutes=1)


@pytest.fixture
async def do(station, eventually):
    await eventually(lambda: station.leading and station.feed.state.live)
    return station.commander.do


@pytest.fixture
def soon():
    return datetime.now(UTC) + timedelta(hours=1)


async def row(connection, window):
    return await connection.fetchrow("SELECT * FROM recorder_schedules WHERE id = $1", window)


async def test_create_move_trim_and_the_audit_says_what_changed(do, connection, add_recorder, soon):
    one, two = await add_recorder("REC-1"), await add_recorder("REC-2")
    window = await do(create_window, " Arts Review ", one, soon, soon + 45 * MINUTE)
    await do(edit_window, window, 1, recorder_id=two, start_at=soon + 5 * MINUTE, end_at=soon + 50 * MINUTE)
    after = await row(connection, window)
    assert (after["name"], after["recorder_id"], after["start_at"]) == ("Arts Review", two, soon + 5 * MINUTE)
    audit = await connection.fetch("SELECT * FROM audit_log ORDER BY id")
    assert [a["action"] for a in audit] == ["create_window", "edit_window"]
    assert set(audit[1]["after"]) == {"recorder_id", "start_at", "end_at"}
    assert audit[1]["before"]["recorder_id"] == one


async def test_a_collision_is_refused_with_the_neighbours_name_and_nothing_changes(
    do, connection, add_recorder, soon
):
    unit = await add_recorder("REC-7")
    await do(create_window, "Arts Review", unit, soon, soon + 45 * MINUTE)
    other = await do(create_window, "Press Briefing", unit, soon + 60 * MINUTE, soon + 90 * MINUTE)
    with pytest.raises(CommandRefused, match=r"REC-7 is taken by Arts Review"):
        await do(edit_window, other, 1, start_at=soon + 30 * MINUTE)
    assert (await row(connection, other))["start_at"] == soon + 60 * MINUTE
    with pytest.raises(CommandRefused, match="Arts Review"):
        await do(create_window, "X", unit, soon - 5 * MINUTE, soon + 5 * MINUTE)


async def test_the_second_to_save_is_asked_again(do, add_recorder, soon):
    window = await do(create_window, "News", await add_recorder("REC-1"), soon, soon + 45 * MINUTE)
    await do(edit_window, window, 1, name="Evening News")
    with pytest.raises(Changed, match="changed by somebody else"):
        await do(edit_window, window, 1, name="Late News")


@pytest.mark.parametrize(
    "name, start, length, says",
    [
        ("", 0, 30, "title"),
        ("x" * 201, 0, 30, "200"),
        ("News", 0, -5, "after the start"),
        ("News", 0, 60 * 24 * 8, "seven days"),
        ("News", -300, 30, "over"),
    ],
)
async def test_bad_input_gets_one_sentence(do, connection, add_recorder, soon, name, start, length, says):
    unit = await add_recorder("REC-1")
    begin = soon + start * MINUTE
    with pytest.raises(CommandRefused, match=says):
        await do(create_window, name, unit, begin, begin + length * MINUTE)
    assert await connection.fetchval("SELECT count(*) FROM recorder_schedules") == 0
    assert await connection.fetchval("SELECT count(*) FROM audit_log") == 0


async def test_a_source_outside_the_allow_list_is_refused_when_saved(do, add_recorder, soon):
    unit = await add_recorder("REC-1")
    for source in ("concat:/etc/passwd", "-i /etc/passwd", "pipe:0"):
        with pytest.raises(CommandRefused):
            await do(create_window, "News", unit, soon, soon + MINUTE, source)


async def test_copy_delete_and_move_many(do, connection, add_recorder, soon):
    unit = await add_recorder("REC-1")
    first = await do(create_window, "One", unit, soon, soon + 10 * MINUTE)
    second = await do(copy_window, first, unit, soon + 10 * MINUTE)
    await do(move_windows, [(first, 1), (second, 1)], 5 * MINUTE)
    assert (await row(connection, second))["start_at"] == soon + 15 * MINUTE
    await do(move_windows, [(first, None), (second, None)], -5 * MINUTE)
    await do(delete_window, first)
    assert await row(connection, first) is None
    with pytest.raises(NotFound):
        await do(delete_window, first)


async def test_move_many_is_all_or_none(do, connection, add_recorder, soon):
    unit = await add_recorder("REC-1")
    first = await do(create_window, "One", unit, soon, soon + 10 * MINUTE)
    second = await do(create_window, "Two", unit, soon + 20 * MINUTE, soon + 30 * MINUTE)
    await do(create_window, "Wall", unit, soon + 35 * MINUTE, soon + 40 * MINUTE)
    with pytest.raises(CommandRefused, match="Wall"):
        await do(move_windows, [(first, 1), (second, 1)], 8 * MINUTE)
    assert (await row(connection, first))["start_at"] == soon


async def test_start_now_stop_now_extend(do, connection, recorder, add_recorder, status_of):
    unit = await add_recorder("REC-1")
    window = await do(start_now, unit)
    await until(status_of, window, "running", 2.0)
    with pytest.raises(CommandRefused, match="already"):
        await do(start_now, unit)
    end = (await row(connection, window))["end_at"]
    await do(extend_window, window, 5 * MINUTE)
    assert (await row(connection, window))["end_at"] == end + 5 * MINUTE
    await do(stop_now, unit)
    await until(status_of, window, "completed", 2.0)
    assert [e.what for e in recorder.log] == ["start", "stop"]
    with pytest.raises(CommandRefused, match="not recording"):
        await do(stop_now, unit)


async def test_an_open_ended_start_makes_room_for_what_is_planned(do, connection, add_recorder, soon):
    unit = await add_recorder("REC-1")
    await do(create_window, "News", unit, soon, soon + MINUTE)
    window = await do(start_now, unit)
    assert (await row(connection, window))["end_at"] == soon


async def test_start_and_stop_by_hand_work_in_manual_mode(do, add_recorder, status_of):
    unit = await add_recorder("REC-1")
    await do(set_mode, unit, "manual")
    window = await do(start_now, unit, "Interview", 30 * MINUTE)
    await until(status_of, window, "running", 2.0)
    await do(stop_now, unit)
    await until(status_of, window, "completed", 2.0)


async def test_a_running_window_keeps_its_start_and_its_recorder(do, add_recorder, status_of, connection):
    one, two = await add_recorder("REC-1"), await add_recorder("REC-2")
    window = await do(start_now, one, "Live", 30 * MINUTE)
    await until(status_of, window, "running", 2.0)
    for change in ({"recorder_id": two}, {"start_at": datetime.now(UTC) + MINUTE}):
        with pytest.raises(CommandRefused, match="recording"):
            await do(edit_window, window, None, **change)
    with pytest.raises(CommandRefused, match="Stop"):
        await do(edit_window, window, None, end_at=datetime.now(UTC) - timedelta(seconds=1))
    with pytest.raises(CommandRefused, match="running"):
        await do(delete_window, window)
    await do(cancel_window, window)
    await asyncio.sleep(0.3)
    assert (await row(connection, window))["claim_token"] is None
