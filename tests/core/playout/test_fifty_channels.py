"""Fifty channels, ten of which hang until their limit: nobody else waits for them."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import asyncpg

from core.recording.lane import RecordingLane
from core.recording.recorder_client import RecorderClient
from core.station import Identity, Station
from tests.fakes import playout_node as fake
from tests.fakes.counting_recorder import CountingRecorder


async def test_ten_that_hang_delay_nobody(station, nodes, lane, add_channel, until, connection, eventually):
    channels = [await add_channel(f"C{n}", output="decklink", items=1) for n in range(50)]
    await until("SELECT count(*) FROM playout_channels WHERE status = 'running'", 50, within=30)
    hanging = set(channels[:10])
    for node in nodes:
        node.mood = lambda c: fake.HANG if c in hanging else fake.ANSWER
    lane.term.probes.late.clear()
    before = {c: sum(n.probes.count(c) for n in nodes) for c in channels}
    await until("SELECT count(*) FROM playout_channels WHERE status = 'error'", 10, within=30)
    await eventually(
        lambda: all(sum(n.probes.count(c) for n in nodes) >= before[c] + 4 for c in channels[10:]), 20
    )
    late = sorted(lane.term.probes.late)
    print(f"\n  {len(late)} probes: p99 {late[int(len(late) * 0.99)] * 1000:.1f} ms late")
    assert late[int(len(late) * 0.9)] < 0.5
    healthy = "SELECT count(*) FROM playout_channels WHERE status = 'running' AND misses = 0"
    assert await connection.fetchval(healthy) == 40


async def test_a_recording_due_while_all_channels_wait_for_the_database_starts(
    plant, nodes, lane, add_channel, connection, eventually
):
    """Writes to channels are held up, so that whatever playout has of the leader's connections is taken by it."""
    async with CountingRecorder() as recorder:
        recording = RecordingLane(
            RecorderClient(recorder.token), timedelta(seconds=1), timedelta(minutes=120)
        )
        station = Station(plant, Identity("ALPHA", "headless", "kim"), [lane, recording])
        channels = [await add_channel(f"C{n}", items=1) for n in range(50)]
        unit = await connection.fetchval(
            "INSERT INTO recorders (name, base_url, external_id, status) VALUES ('R', $1, 'R', 'idle') RETURNING id",
            recorder.url,
        )
        holder = await asyncpg.connect(plant)
        hold = holder.transaction()
        await hold.start()
        await holder.execute("LOCK TABLE playout_channels IN EXCLUSIVE MODE")
        await station.start()
        waiting = (
            "SELECT count(*) FROM pg_locks WHERE relation = 'playout_channels'::regclass AND NOT granted "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )

        async def held() -> int:
            return await connection.fetchval(waiting)

        for _ in range(1000):
            if await held() >= 4:
                break
            await asyncio.sleep(0.02)
        await connection.execute(
            "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) "
            "VALUES ('News', $1, now() + interval '1 s', now() + interval '1 hour')", unit,
        )  # fmt: skip
        await eventually(lambda: [e.what for e in recorder.log] == ["start"], 20, "the recording's start")
        assert await held() <= 4  # of the leader's eight
        await hold.rollback()
        await holder.close()
        await eventually(
            lambda: all(any(c == made for n in nodes for c, _ in n.starts) for made in channels), 30
        )
        await station.stop()
