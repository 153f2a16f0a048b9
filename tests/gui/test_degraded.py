"""The database goes away under the open window and returns: said within a second, live within two."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from core.db.database import Connection
from gui.main_window import MainWindow
from tests.gui.shell_fixtures import Eventually, Outage
from tests.gui.test_alarm_panel import panel_of, raise_alarm, shown
from tests.gui.test_header import check_texts


async def test_lost_and_back(
    window: MainWindow, connection: Connection, outage: Outage, eventually: Eventually
) -> None:
    room, panel = window.room, panel_of(window)
    assert room is not None
    await raise_alarm(connection, "x")
    await eventually(lambda: shown(panel) == ["x"])
    assert not room.banner.isVisible()
    await connection.close()

    await outage.begin()
    await eventually(room.banner.isVisible, within=1, what="the banner")
    await eventually(lambda: shown(panel)[0] == "database:lost", within=1, what="this station's own alarm")
    assert room.banner.title.full_text.startswith("Database connection lost for 00:00:0")
    assert room.header.badge.title.full_text == "NO DATABASE"
    for width in (1366, 1920):
        window.resize(width, 768)
        check_texts(room.header)
        assert not room.banner.title.cut
    assert panel.table.old and room.audit.table.old and room.stations.table.old
    assert panel.freshness.isVisible() and "as of" in panel.freshness.as_of.full_text
    panel.table.choose(1)
    assert not panel.detail.acknowledge.isEnabled()
    assert "database" in panel.detail.acknowledge.toolTip()

    panel.table.choose(0)
    QTest.mouseClick(panel.detail.acknowledge, Qt.MouseButton.LeftButton)
    await eventually(lambda: not panel.model.rows[0].alarm.unacked or not panel.model.rows[1].alarm.unacked)
    own = next(r.alarm for r in panel.model.rows if r.alarm.local)
    assert own.acked_by == "Operator 2"
    assert next(r.alarm for r in panel.model.rows if not r.alarm.local).unacked, "the plant's alarms wait"

    await eventually(lambda: "attempt" in room.banner.attempt.full_text, what="the next attempt")
    await outage.end()
    await eventually(lambda: not room.banner.isVisible(), within=2, what="live again")
    assert room.header.badge.title.full_text != "NO DATABASE"
    await eventually(lambda: shown(panel) == ["x"], within=1, what="its own alarm gone")
    assert not panel.table.old and not panel.freshness.isVisible()
    panel.table.choose(0)
    assert panel.detail.acknowledge.isEnabled()


async def test_a_command_without_a_database_says_so(
    window: MainWindow, connection: Connection, outage: Outage, eventually: Eventually
) -> None:
    panel = panel_of(window)
    await raise_alarm(connection, "x")
    await eventually(lambda: shown(panel) == ["x"])
    alarm = panel.model.rows[0].alarm
    await connection.close()
    await outage.begin()
    panel.desk.acknowledge([alarm])
    await eventually(window.strip.isVisible, within=8, what="the sentence")
    sentence = window.strip.text.full_text.lower()
    assert "nothing was changed" in sentence or "was lost" in sentence
    await eventually(lambda: not window.room.session.is_pending(("alarm", alarm.id)))  # type: ignore[union-attr]


async def test_retry_now_does_not_wait(window: MainWindow, outage: Outage, eventually: Eventually) -> None:
    assert window.room is not None
    feed = window.room.session.feed
    await outage.begin()
    await eventually(lambda: feed.state.attempts >= 4, within=6)
    attempts = feed.state.attempts
    QTest.mouseClick(window.room.banner.retry, Qt.MouseButton.LeftButton)
    await eventually(lambda: feed.state.attempts > attempts, within=0.5, what="an attempt at once")
    await asyncio.sleep(0)
