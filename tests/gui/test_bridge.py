"""From the core to Qt: once a frame at most, nothing lost, and silence after the end."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

from core.db.database import Connection
from core.station import Station
from gui.app import first_picture
from gui.bridge import FRAME_MS, Bridge
from tests.gui.shell_fixtures import Eventually
from tests.gui.test_alarm_panel import raise_alarm


async def test_a_burst_is_passed_on_once_a_frame(
    station: Station, connection: Connection, eventually: Eventually
) -> None:
    await first_picture(station)
    bridge = Bridge(station)
    heard: list[float] = []
    ids: set[int] = set()

    def changed(changes: dict[str, frozenset[int]]) -> None:
        heard.append(time.monotonic())
        ids.update(changes.get("alarms", ()))

    bridge.changed.connect(changed)
    for n in range(300):
        station.model.announce({"alarms": frozenset({n})})
    for n in range(300, 400):
        station.model.announce({"alarms": frozenset({n})})
        await asyncio.sleep(0.001)
    await eventually(lambda: len(ids) == 400, what="every id")
    assert all(later - earlier > (FRAME_MS - 2) / 1000 for earlier, later in pairwise(heard))
    bridge.close()


async def test_a_change_in_the_database_is_on_the_screen_s_side_within_50_ms(
    station: Station, connection: Connection, eventually: Eventually
) -> None:
    await first_picture(station)
    bridge = Bridge(station)
    heard: list[float] = []
    bridge.changed.connect(lambda changes: "alarms" in changes and heard.append(time.monotonic()))
    took = []
    for n in range(10):
        heard.clear()
        began = time.monotonic()
        await raise_alarm(connection, f"x{n}")
        await eventually(lambda: heard)
        took.append(heard[0] - began)
    bridge.close()
    # The median, because the machine that tests may be busy with other things.
    assert sorted(took)[5] < 0.05


async def test_after_the_end_nothing_is_heard(station: Station, connection: Connection) -> None:
    await first_picture(station)
    bridge = Bridge(station)
    heard: list[object] = []
    for signal in (bridge.changed, bridge.feed_changed, bridge.lead_changed, bridge.local_alarms_changed):
        signal.connect(lambda *_: heard.append(1))
    bridge.close()
    bridge.close()
    station.model.announce({"alarms": frozenset({1})})
    station.local_alarms.database_lost("here", None)
    await asyncio.sleep(0.05)
    assert heard == []
    station.local_alarms.database_back()
