"""The top bar: right, and readable at both sizes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QWidget

from core.clock import steady
from core.db.database import Connection
from core.station import Station
from gui.header import HeaderBar
from gui.main_window import MainWindow
from gui.parts import Button, Label
from tests.gui.shell_fixtures import SEED, Eventually, open_room

# Names that the plant gives; they may be cut, and then the whole is in the tooltip.
NAMES = ("plant", "detail", "operator")


def texts(header: HeaderBar) -> list[tuple[str, Label]]:
    found = []
    for cell in header.cells:
        for name, part in vars(cell).items():
            if isinstance(part, Label) and part.isVisible():
                found.append((f"{type(cell).__name__}.{name}", part))
    return found


def check_texts(header: HeaderBar) -> None:
    """No text is cut, leaves its cell or covers another."""
    for name, label in texts(header):
        needs = QFontMetricsF(label.font()).horizontalAdvance(label.full_text)
        cell = label.parentWidget()
        assert isinstance(cell, QWidget)
        assert label.geometry().right() < cell.width(), f"{name} leaves its cell"
        if needs > label.width():
            assert name.split(".")[1] in NAMES, f"{name}: {label.full_text!r} is cut"
            assert label.toolTip() == label.full_text
    clock = header.clock.face
    assert clock.geometry().right() < header.clock.utc.x()
    button: Button = header.lamp.button
    assert header.lamp.word.geometry().right() < button.x()
    assert header.lamp.active.geometry().right() < button.x()
    assert button.fontMetrics().horizontalAdvance(button.text()) + 6 <= button.width()


@pytest.mark.parametrize("width", [1100, 1280, 1366, 1536, 1740, 1920, 2560])
async def test_no_text_is_cut_or_covers_another(
    station: Station, connection: Connection, tmp_path: Path, width: int, eventually: Eventually
) -> None:
    await connection.execute(SEED)
    async with open_room(station, tmp_path) as window:
        assert window.room is not None
        header = window.room.header
        await eventually(lambda: header.recording.number.full_text == "3")
        await eventually(lambda: station.leading)
        window.resize(QSize(width, 1080))
        await eventually(lambda: header.width() == width)
        window.room.session.ticker.second.emit()
        check_texts(header)
        assert sum(c.width() for c in header.cells if c.isVisible()) == width


async def test_the_cells_stand_where_the_design_has_them(window: MainWindow, eventually: Eventually) -> None:
    assert window.room is not None
    window.resize(1920, 1080)
    await eventually(lambda: window.room.header.width() == 1920)  # type: ignore[union-attr]
    assert [cell.x() for cell in window.room.header.cells] == [0, 216, 616, 896, 1232, 1352, 1500, 1752]
    assert window.room.header.height() == 56
    assert window.room.status.height() == 28


async def test_the_clock_is_the_database_s_in_the_plant_s_zone(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    assert window.room is not None
    await connection.execute("UPDATE plant SET timezone = 'Asia/Kolkata', frame_rate = 50")
    face = window.room.header.clock.face
    session = window.room.session
    await eventually(lambda: session.frame_rate == 50)
    await eventually(lambda: "+5:30" in window.room.header.clock.date.full_text, what="the zone")  # type: ignore[union-attr]
    expected = datetime.now(UTC) + timedelta(hours=5.5)
    assert re.fullmatch(r"\d\d:\d\d:\d\d:\d\d", face.text)
    shown = timedelta(hours=int(face.text[:2]), minutes=int(face.text[3:5]), seconds=int(face.text[6:8]))
    wanted = timedelta(hours=expected.hour, minutes=expected.minute, seconds=expected.second)
    assert abs(shown - wanted) <= timedelta(seconds=1)
    frames = set()
    await eventually(lambda: frames.add(face.text[9:]) or len(frames) > 30, within=3, what="many frames")
    assert max(int(f) for f in frames) <= 49


async def test_a_wrong_workstation_clock_is_said(
    window: MainWindow, station: Station, eventually: Eventually
) -> None:
    assert window.room is not None
    line = window.room.header.clock.date
    assert "clock" not in line.full_text
    now = steady()
    # The database answers that it is two and a half seconds earlier than this machine believes.
    station.clock.add(now, datetime.now(UTC) - timedelta(seconds=2.5), now + 0.0001)
    window.room.header.clock._second()
    assert line.full_text.startswith("Own clock +2.")
    assert line.property("tone") == "abnormal"


async def test_badge_counts_and_next_event(
    window: MainWindow, connection: Connection, station: Station, eventually: Eventually
) -> None:
    assert window.room is not None
    header = window.room.header
    await eventually(lambda: header.badge.title.full_text == "LEADER")
    assert header.badge.detail.full_text == "STATION-2"
    assert re.fullmatch(r" · database \d+(\.\d)? ms", header.badge.reply.full_text)
    assert header.next.title.full_text == "Nothing ahead"
    await connection.execute(SEED)
    await eventually(lambda: header.next.title.full_text == "REC-2 starts in")
    assert header.next.detail.full_text == "Evening News clean feed"
    assert re.fullmatch(r"00:04:(1[0-2]|0\d)", header.next.countdown.full_text)
    assert (header.on_air.number.full_text, header.on_air.total.full_text) == ("4", "of 4")
    assert (header.recording.number.full_text, header.recording.total.full_text) == ("3", "of 8")
    assert (header.lamp.number.full_text, header.lamp.active.full_text) == ("3", "5 active")


@pytest.mark.parametrize("alarms", [9, 12, 150])
async def test_many_alarms_have_room_in_the_lamp(
    window: MainWindow, connection: Connection, eventually: Eventually, alarms: int
) -> None:
    assert window.room is not None
    lamp = window.room.header.lamp
    await connection.execute(
        "INSERT INTO alarms (key, priority, source_kind, message) "
        "SELECT 'k' || n, 'low', 'x', 'x' FROM generate_series(1, $1::int) n",
        alarms,
    )
    await eventually(lambda: lamp.active.full_text == f"{alarms} active")
    assert lamp.number.full_text == (str(alarms) if alarms < 100 else "99+")
    for width in (1366, 1920):
        window.resize(width, 768)
        check_texts(window.room.header)
