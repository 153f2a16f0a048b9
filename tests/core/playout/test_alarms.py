"""What a sidecar says of itself becomes an alarm, and its end clears it."""

from __future__ import annotations

import pytest

from tests.core.playout.test_lane import ALARM, GENERATION, node_of, on_air
from tests.fakes import playout_node as fake


async def test_a_playlist_that_runs_dry_and_a_bad_signal_are_alarmed_until_they_end(
    station, nodes, add_channel, until, connection
):
    channel = await add_channel()
    await on_air(until, channel)
    engine = node_of(nodes, channel).engine(channel)
    engine.says = {"runs_dry_in_s": 61.0}
    beat = "SELECT last_heartbeat_at FROM playout_channels"
    before = await connection.fetchval(beat)
    await until("SELECT last_heartbeat_at > $1 FROM playout_channels", True, before)
    assert await connection.fetchval(ALARM, f"channel:{channel}:dry") == 0
    engine.says = {"runs_dry_in_s": 45.0, "problems": [{"kind": "black", "message": "The picture is black."}]}
    await until(ALARM, 1, f"channel:{channel}:dry")
    await until(ALARM, 1, f"channel:{channel}:signal")
    found = await connection.fetchrow("SELECT * FROM alarms WHERE key = $1", f"channel:{channel}:signal")
    assert found["message"] == "The picture is black." and found["priority"] == "high"
    engine.says = {}
    await until(ALARM, 0, f"channel:{channel}:dry")
    await until(ALARM, 0, f"channel:{channel}:signal")
    assert await connection.fetchval("SELECT status FROM playout_channels") == "running"


async def test_a_broken_clip_is_alarmed_once_and_cleared_when_it_plays(
    station, nodes, add_channel, until, connection
):
    channel = await add_channel()
    await on_air(until, channel)
    engine = node_of(nodes, channel).engine(channel)
    engine.event("end", "clip 1", 1, result="played")
    for _ in range(3):  # a playlist that loops meets it again and again
        engine.event("failed", "clip 2", 2, why="no such file")
    await until(ALARM, 1, f"channel:{channel}:clip:2")
    await until("SELECT count(*) FROM playout_as_run WHERE result = 'failed' AND duration_s = 0", 3)
    message = await connection.fetchval("SELECT message FROM alarms WHERE key LIKE '%clip:2'")
    assert message == "clip 2 could not be played: no such file"
    engine.event("start", "clip 2", 2)
    await until(ALARM, 0, f"channel:{channel}:clip:2")
    assert await connection.fetchval(GENERATION, channel) == 1


@pytest.mark.parametrize("mood", [fake.HANG, fake.MALFORMED])
async def test_a_card_that_answers_nonsense_is_alarmed_and_left_alone(
    station, nodes, add_channel, until, connection, mood
):
    channel = await add_channel(output="decklink")
    await on_air(until, channel)
    node = node_of(nodes, channel)
    node.mood = lambda c: mood
    await until("SELECT status FROM playout_channels", "error")
    await until(ALARM, 1, f"channel:{channel}:card")
    await until("SELECT count(*) FROM playout_as_run WHERE ended_at IS NULL", 0)
    assert node.engine(channel).running and not node.stops and not node.off_airs
    assert await connection.fetchval(GENERATION, channel) == 1


async def test_no_node_at_all_is_off_air_until_one_comes(station, nodes, add_channel, until, connection):
    await connection.execute("UPDATE nodes SET status = 'offline'")
    channel = await add_channel()
    await until(ALARM, 1, f"channel:{channel}:off_air")
    await connection.execute("UPDATE nodes SET status = 'online'")
    await on_air(until, channel)
    await until(ALARM, 0, f"channel:{channel}:off_air")
