"""Fifty channels, ten of which hang until their limit: nobody else waits for them."""

from __future__ import annotations

from tests.fakes import playout_node as fake


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
