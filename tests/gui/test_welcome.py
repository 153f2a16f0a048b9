"""The welcome: over a demonstration plant only, three things to try, and gone for good when dismissed."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from core.db.database import Connection
from core.station import Station
from tests.gui.shell_fixtures import Eventually, Outage, open_room


async def test_the_welcome_comes_with_the_demonstration_and_stays_away(
    station: Station, connection: Connection, tmp_path: Path, eventually: Eventually, outage: Outage
) -> None:
    async with open_room(station, tmp_path) as window:
        assert not window.welcome.isVisible(), "a plant of one's own needs no welcome"
        await connection.execute("UPDATE plant SET demo = true")
        await eventually(window.welcome.isVisible, what="the welcome")
        assert len(window.welcome.tries) == 3
        assert all(b.isVisible() and b.toolTip() for b in window.welcome.tries)
        await connection.close()
        await outage.begin()
        await eventually(lambda: not window.welcome.isVisible(), within=10, what="the banner in its place")
        await outage.end()
        await eventually(window.welcome.isVisible, within=20, what="the welcome back")
        QTest.mouseClick(window.welcome.dismiss, Qt.MouseButton.LeftButton)
        assert not window.welcome.isVisible()
    async with open_room(station, tmp_path) as window:
        assert not window.welcome.isVisible(), "dismissed is dismissed"
