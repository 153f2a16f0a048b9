"""The playout lane with a real station, a real database and scripted nodes."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from core.playout import commands
from core.playout.lane import PlayoutLane
from core.playout.sidecar_client import SidecarClient
from core.station import Identity, Station
from tests.fakes import playout_node as fake

STATUS = "SELECT status FROM playout_channels WHERE id = $1"
GENERATION = "SELECT generation FROM playout_channels WHERE id = $1"
OPEN = "SELECT clip_name FROM playout_as_run WHERE channel_id = $1 AND ended_at IS NULL"
ALARM = "SELECT count(*) FROM alarms WHERE key = $1 AND cleared_at IS NULL"
SOUND = (
    "SELECT count(*) FROM playout_as_run a JOIN playout_as_run b ON a.channel_id = b.channel_id AND a.id < b.id "
    "AND tstzrange(a.started_at, a.ended_at) && tstzrange(b.started_at, b.ended_at)"
)


def node_of(nodes, channel):
    return max((n for n in nodes if any(c == channel for c, _ in n.engines)),
               key=lambda n: n.engine(channel).generation)  # fmt: skip


async def on_air(until, channel, generation=1):
    await until(GENERATION, generation, channel)
    await until(STATUS, "running", channel)
    await until("SELECT last_heartbeat_at IS NOT NULL FROM playout_channels WHERE id = $1", True, channel)


async def test_wanted_by_sql_it_goes_on_air_is_logged_and_stops(
    station, nodes, add_channel, until, connection
):
    channel = await add_channel()
    await on_air(until, channel)
    await until(OPEN, "clip 1", channel)
    engine = node_of(nodes, channel).engine(channel)
    engine.event("end", "clip 1", 1, result="played")
    engine.event("failed", "clip 2", 2, why="no such file")
    engine.event("start", "clip 3", 3)
    await until(OPEN, "clip 3", channel)
    await until(ALARM, 1, f"channel:{channel}:clip:2")
    await connection.execute("UPDATE playout_channels SET wanted = 'off' WHERE id = $1", channel)
    await until(STATUS, "stopped", channel)
    rows = await connection.fetch("SELECT * FROM playout_as_run ORDER BY chain_no")
    assert [(r["clip_name"], r["result"]) for r in rows] == [
        ("clip 1", "played"), ("clip 2", "failed"), ("clip 3", "interrupted"),
    ]  # fmt: skip
    assert [r["started_at"].isoformat() for r in rows] == [
        e["at"] for e in engine.events if e["type"] != "end"
    ]
    assert await connection.fetchval("SELECT count(*) FROM playout_as_run WHERE ended_at IS NULL") == 0
    assert not engine.running


async def test_three_misses_move_it_and_the_old_one_is_put_off_air(
    station, nodes, add_channel, until, connection
):
    channel = await add_channel()
    await on_air(until, channel)
    await until(OPEN, "clip 1", channel)
    old = node_of(nodes, channel)
    old.mood = lambda c: fake.HANG
    await on_air(until, channel, 2)
    new = node_of(nodes, channel)
    assert new is not old
    resume = new.engine(channel).order["resume"]
    assert resume["item_id"] == new.engine(channel).order["items"][0]["id"] and resume["offset_s"] >= 0
    await until("SELECT count(*) FROM playout_placements WHERE released_at IS NULL", 1)
    assert (channel, 1) in old.stops
    await until("SELECT count(*) FROM playout_as_run WHERE generation = 2", 1)
    rows = await connection.fetch("SELECT * FROM playout_as_run ORDER BY started_at, id")
    assert [(r["result"], r["generation"]) for r in rows] == [("interrupted", 1), ("played", 2)]
    assert rows[0]["ended_at"] == old.engine(channel).ended_at  # it went on until it was told
    row = await connection.fetchrow("SELECT * FROM playout_channels WHERE id = $1", channel)
    assert row["restart_count"] == 1
    assert await connection.fetchval(SOUND) == 0


async def test_two_misses_and_an_answer_move_nothing(
    station, nodes, add_channel, until, connection, eventually
):
    channel = await add_channel()
    await on_air(until, channel)
    node = node_of(nodes, channel)
    script = iter([fake.GONE, fake.GONE, fake.ANSWER] * 4)
    node.mood = lambda c: next(script, fake.ANSWER)
    probed = len(node.probes)
    await eventually(lambda: len(node.probes) >= probed + 13, 20, "thirteen probes of the same sidecar")
    assert await connection.fetchval(GENERATION, channel) == 1


async def test_an_agents_word_is_acted_on_at_once_with_what_its_journal_says(
    station, nodes, lane, add_channel, until, connection
):
    channel = await add_channel()
    await on_air(until, channel)
    engine = node_of(nodes, channel).engine(channel)
    lane.term.probes.channels.clear()  # no probe brings what follows
    engine.event("end", "clip 1", 1, result="played")
    engine.event("start", "clip 2", 2)
    engine.die()
    await connection.execute(
        "UPDATE playout_channels SET dead_generation = 1, dead_at = clock_timestamp(), dead_reason = 'It crashed.' "
        "WHERE id = $1 AND generation = 1", channel,
    )  # fmt: skip
    await on_air(until, channel, 2)
    await until("SELECT count(*) FROM playout_as_run WHERE generation = 2 AND ended_at IS NULL", 1)
    rows = await connection.fetch("SELECT * FROM playout_as_run WHERE generation = 1 ORDER BY started_at")
    assert [(r["clip_name"], r["result"]) for r in rows] == [("clip 1", "played"), ("clip 2", "interrupted")]
    assert rows[-1]["ended_at"] == engine.ended_at
    assert await connection.fetchval("SELECT misses FROM playout_channels WHERE id = $1", channel) == 0


async def test_a_decklink_channel_that_dies_is_an_error_and_not_moved(
    station, nodes, add_channel, until, connection
):
    channel = await add_channel(output="decklink")
    await on_air(until, channel)
    node_of(nodes, channel).engine(channel).die()
    await until(STATUS, "error", channel)
    await until(ALARM, 1, f"channel:{channel}:card")
    await until("SELECT count(*) FROM playout_as_run WHERE ended_at IS NULL", 0)
    await connection.execute("UPDATE playout_channels SET failover_to = 2 WHERE id = $1", channel)
    await asyncio.sleep(0.5)
    assert await connection.fetchval(GENERATION, channel) == 1
    await station.commander.do(commands.start_channel, channel)
    await on_air(until, channel, 2)


async def test_a_crash_loop_is_given_up(station, nodes, add_channel, until, connection, monkeypatch):
    monkeypatch.setattr("core.playout.rules.BACKOFF", (timedelta(0),))
    for node in nodes:
        node.agent_mood = "refuse"
    channel = await add_channel()
    await until(STATUS, "error", channel)
    assert await connection.fetchval(GENERATION, channel) == 6  # the start and five restarts
    assert await connection.fetchval(ALARM, f"channel:{channel}:crash_loop") == 1
    for node in nodes:
        node.agent_mood = "answer"
    await station.commander.do(commands.start_channel, channel)
    await on_air(until, channel, 7)


async def test_skip_playlist_and_failover_reach_the_sidecar(
    station, nodes, add_channel, until, connection, eventually
):
    channel = await add_channel()
    await on_air(until, channel)
    node = node_of(nodes, channel)
    await station.commander.do(commands.skip_item, channel)
    await eventually(lambda: node.engine(channel).skips == 1)
    await connection.execute(
        "INSERT INTO playout_items (channel_id, position, clip_name, path) VALUES ($1, 9, 'New', 'n.mp4')",
        channel,
    )
    await eventually(lambda: node.engine(channel).order["items"][-1]["clip_name"] == "New")
    other = next(n for n in nodes if n is not node)
    await station.commander.do(commands.fail_over, channel)
    await on_air(until, channel, 2)
    assert other.engine(channel).generation == 2 and node.engine(channel).skips == 1
    await eventually(lambda: not node.engine(channel).running)
    assert await connection.fetchval("SELECT restart_count FROM playout_channels") == 0


@pytest.mark.parametrize("mood", [fake.GARBAGE, fake.HUGE, fake.MALFORMED])
async def test_answers_that_are_none_are_misses(station, nodes, add_channel, until, mood):
    channel = await add_channel()
    await on_air(until, channel)
    node_of(nodes, channel).mood = lambda c: mood
    await on_air(until, channel, 2)


async def test_a_foreign_sidecar_is_probed_logged_and_failed_over(
    station, nodes, add_channel, until, connection
):
    for node in nodes:
        node.mood = lambda c: fake.FOREIGN
    channel = await add_channel()
    await until(STATUS, "running", channel)
    node = node_of(nodes, channel)
    engine = node.engine(channel)
    for n in (1, 2):
        started = fake.now()
        engine.foreign = {
            "currentItemId": str(n),
            "currentClip": f"F{n}",
            "currentItemStartedAt": started.isoformat(),
        }
        await until(OPEN, f"F{n}", channel)
    first = await connection.fetchrow("SELECT * FROM playout_as_run WHERE clip_name = 'F1'")
    assert first["ended_at"] == started and first["result"] == "played"
    engine.die()
    await until(GENERATION, 2, channel)
    await until("SELECT result FROM playout_as_run WHERE clip_name = 'F2'", "interrupted")


async def test_a_new_leader_restarts_nothing(plant, nodes, add_channel, until, connection, eventually):
    def station(name):
        lane = PlayoutLane(SidecarClient("secret"), timedelta(seconds=1), timedelta(milliseconds=200))
        return Station(plant, Identity(name, "headless", "kim"), [lane])

    one, two = station("ALPHA"), station("BETA")
    await one.start()
    channel = await add_channel()
    await on_air(until, channel)
    await two.start()
    await one.stop()
    await eventually(lambda: two.leading, 10)
    engine = node_of(nodes, channel).engine(channel)
    engine.event("end", "clip 1", 1, result="played")
    engine.event("start", "clip 2", 2)
    await until(OPEN, "clip 2", channel)
    await two.stop()
    assert await connection.fetchval(GENERATION, channel) == 1
    assert sum(len(n.starts) for n in nodes) == 1


async def test_a_handover_in_the_middle_of_a_failover_places_once(
    plant, nodes, add_channel, until, connection, eventually
):
    def station(name):
        lane = PlayoutLane(SidecarClient("secret"), timedelta(seconds=1), timedelta(milliseconds=200))
        return Station(plant, Identity(name, "headless", "kim"), [lane])

    one, two = station("ALPHA"), station("BETA")
    await one.start()
    channel = await add_channel()
    await on_air(until, channel)
    await two.start()
    old = node_of(nodes, channel)
    new = next(n for n in nodes if n is not old)
    new.agent_mood = "hang"
    old.engine(channel).die()
    await eventually(lambda: (channel, 2) in new.starts, 10)
    new.agent_mood = "answer"
    await one.stop()
    await on_air(until, channel, 2)
    await asyncio.sleep(0.5)
    await two.stop()
    assert await connection.fetchval(GENERATION, channel) == 2
    assert [g for c, g in new.engines] == [2]


async def test_an_as_run_fault_is_an_alarm_and_no_failover(station, nodes, add_channel, until, connection):
    channel = await add_channel()
    await on_air(until, channel)
    await until(OPEN, "clip 1", channel)
    await connection.execute("ALTER TABLE playout_as_run ADD CONSTRAINT broken CHECK (clip_name <> 'clip 2')")
    engine = node_of(nodes, channel).engine(channel)
    engine.event("end", "clip 1", 1, result="played")
    engine.event("start", "clip 2", 2)
    await until(ALARM, 1, f"channel:{channel}:as_run")
    beat = await connection.fetchval("SELECT last_heartbeat_at FROM playout_channels")
    await until("SELECT last_heartbeat_at > $1 AND misses = 0 FROM playout_channels", True, beat)
    await connection.execute("ALTER TABLE playout_as_run DROP CONSTRAINT broken")
    await until(OPEN, "clip 2", channel)
    await until(ALARM, 0, f"channel:{channel}:as_run")
    assert await connection.fetchval(GENERATION, channel) == 1
