"""The timeline over a real plant: what a hand does is found in the table, and what cannot be is refused by name."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from core.db.database import Connection
from core.recording.model import Window
from core.station import Station
from gui.main_window import MainWindow
from gui.messages import Message
from gui.timeline.panel import TimelinePanel
from gui.timeline.question import SeriesQuestion
from tests.gui.shell_fixtures import Eventually, open_room, running_station

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier
CTRL = Qt.KeyboardModifier.ControlModifier
ALT = Qt.KeyboardModifier.AltModifier
ROWS = "SELECT name, recorder_id, start_at, end_at, status FROM recorder_schedules ORDER BY id"


class Desk:
    """A timeline with two recorders, and the hands of an operator on it."""

    def __init__(self, window: MainWindow, connection: Connection) -> None:
        assert window.room is not None
        self.window, self.connection = window, connection
        self.panel: TimelinePanel = window.room.timeline
        self.canvas = self.panel.canvas
        self.said: list[Message] = []
        window.room.session.message.connect(self.said.append)

    def find(self, name: str) -> Window:
        return next(w for w in self.panel._session.model.windows.values() if w.name == name)

    def point(self, recorder: int, instant: float) -> QPoint:
        place = self.canvas.place()
        row = place.rows.of("recorder", recorder)
        assert row is not None
        return QPoint(round(place.axis.x(instant)), int(place.y(row) + row.height / 2))

    def drag(
        self, start: QPoint, end: QPoint, keys: Qt.KeyboardModifier = NONE, *, drop: bool = True
    ) -> None:
        view = self.canvas.viewport()
        QTest.mousePress(view, LEFT, keys, start)
        middle = (QPointF(start) + QPointF(end)) / 2
        for at in (middle.toPoint(), end):
            self._move(at, keys)
        if drop:
            QTest.mouseRelease(view, LEFT, keys, end)

    def _move(self, at: QPoint, keys: Qt.KeyboardModifier) -> None:
        from PySide6.QtCore import QEvent
        from PySide6.QtGui import QMouseEvent
        from PySide6.QtWidgets import QApplication

        view = self.canvas.viewport()
        glob = view.mapToGlobal(at)
        event = QMouseEvent(
            QEvent.Type.MouseMove, QPointF(at), QPointF(glob), Qt.MouseButton.NoButton, LEFT, keys
        )
        QApplication.sendEvent(view, event)

    async def rows(self) -> list[tuple[object, ...]]:
        return [tuple(r) for r in await self.connection.fetch(ROWS)]


@pytest.fixture
async def ids(connection: Connection) -> list[int]:
    await connection.execute("UPDATE plant SET timezone = 'Europe/Berlin'")
    rows = await connection.fetch(
        "INSERT INTO recorders (name, base_url, external_id, source, position) SELECT 'REC-' || n, "
        "'http://127.0.0.1:9', 'r' || n, 'test:bars', n FROM generate_series(1, 3) n RETURNING id"
    )
    return [r["id"] for r in rows]


async def add(
    connection: Connection,
    recorder: int,
    name: str,
    hours: float,
    lasts: float = 1.0,
    status: str = "pending",
) -> int:
    """A window so many hours from the next full hour."""
    made: int = await connection.fetchval(
        "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, status, started_at) VALUES ($1, $2, "
        "date_trunc('hour', now()) + interval '1 hour' + $3, date_trunc('hour', now()) + interval '1 hour' + $4, $5, "
        "CASE WHEN $5 = 'running' THEN now() END) RETURNING id",
        name, recorder, timedelta(hours=hours), timedelta(hours=hours + lasts), status,
    )  # fmt: skip
    return made


@pytest.fixture
async def desk(ids: list[int], window: MainWindow, connection: Connection, eventually: Eventually) -> Desk:
    made = Desk(window, connection)
    await eventually(lambda: len(made.panel.known.rows.recorders) == 3, what="the rows")
    made.panel._show_span("12h")
    return made


async def known(desk: Desk, name: str, eventually: Eventually) -> Window:
    model = desk.panel._session.model
    await eventually(lambda: any(w.name == name for w in model.windows.values()), what=name)
    return desk.find(name)


async def test_a_drawn_window_is_in_the_table(desk: Desk, ids: list[int], eventually: Eventually) -> None:
    at = desk.panel._session.now().timestamp() // 3600 * 3600 + 2 * 3600
    desk.drag(desk.point(ids[0], at), desk.point(ids[0], at + 3600))
    assert desk.panel.editor.waiting(), "waits for the feed"
    window = await known(desk, "New window", eventually)
    assert (window.recorder_id, window.start_at.timestamp(), window.end_at.timestamp()) == (
        ids[0],
        at,
        at + 3600,
    )
    await eventually(lambda: not desk.panel.editor.waiting())
    assert len(await desk.rows()) == 1
    desk.panel.editor.undo.undo()
    await eventually(lambda: not desk.panel._session.model.windows)
    desk.panel.editor.undo.redo()
    await known(desk, "New window", eventually)


async def test_move_to_another_recorder_and_undo_by_name(
    desk: Desk, connection: Connection, ids: list[int], eventually: Eventually
) -> None:
    await add(connection, ids[0], "News", 2)
    was = await known(desk, "News", eventually)
    middle = was.start_at.timestamp() + 1800
    desk.drag(desk.point(ids[0], middle), desk.point(ids[1], middle + 3600))
    await eventually(lambda: desk.find("News").recorder_id == ids[1])
    assert desk.find("News").start_at == was.start_at + timedelta(hours=1)
    await eventually(lambda: desk.panel.editor.undo.undo_name == "move News")
    assert "Undo move News" in desk.panel.undo_button.toolTip()
    desk.panel.editor.undo.undo()
    await eventually(lambda: desk.find("News").recorder_id == ids[0])
    assert desk.find("News").start_at == was.start_at
    desk.panel.editor.undo.redo()
    await eventually(lambda: desk.find("News").recorder_id == ids[1])


async def test_a_drop_on_a_neighbour_is_refused_with_its_name(
    desk: Desk, connection: Connection, ids: list[int], eventually: Eventually
) -> None:
    await add(connection, ids[0], "News", 2)
    await add(connection, ids[0], "Weather", 4)
    news = await known(desk, "News", eventually)
    await known(desk, "Weather", eventually)
    before = await desk.rows()
    middle = news.start_at.timestamp() + 1800
    desk.drag(desk.point(ids[0], middle), desk.point(ids[0], middle + 5400), drop=False)
    assert desk.canvas.held is not None and [c.other.name for c in desk.canvas.held.found] == ["Weather"]
    QTest.mouseRelease(desk.canvas.viewport(), LEFT, NONE, desk.point(ids[0], middle + 5400))
    assert desk.said and "REC-1 is taken by Weather" in desk.said[-1].text
    assert not desk.panel.editor.waiting() and await desk.rows() == before
    desk.drag(desk.point(ids[0], middle), desk.point(ids[0], middle + 5400), drop=False)
    QTest.keyClick(desk.canvas, Qt.Key.Key_Escape)
    assert desk.canvas.held is None


async def test_trim_copy_and_nudge(
    desk: Desk, connection: Connection, ids: list[int], eventually: Eventually
) -> None:
    await add(connection, ids[0], "News", 2)
    news = await known(desk, "News", eventually)
    end = news.end_at.timestamp()
    edge = desk.point(ids[0], end) - QPoint(3, 0)
    desk.drag(edge, edge + desk.point(ids[0], end + 1800) - desk.point(ids[0], end))
    await eventually(lambda: desk.find("News").end_at == news.end_at + timedelta(minutes=30))
    await eventually(lambda: not desk.panel._session.is_pending(("window", news.id)))
    desk.canvas.setFocus()
    QTest.keyClick(desk.canvas, Qt.Key.Key_Right, ALT)
    await eventually(lambda: desk.find("News").start_at == news.start_at + timedelta(minutes=5))
    await eventually(lambda: not desk.panel._session.is_pending(("window", news.id)))
    middle = news.start_at.timestamp() + 1800
    desk.drag(desk.point(ids[0], middle), desk.point(ids[2], middle), CTRL)
    await eventually(lambda: len(desk.panel._session.model.windows) == 2)
    assert sorted(w.recorder_id for w in desk.panel._session.model.windows.values()) == [ids[0], ids[2]]


async def test_a_running_window_is_extended_from_its_bar_and_does_not_move(
    desk: Desk, connection: Connection, ids: list[int], eventually: Eventually
) -> None:
    await add(connection, ids[0], "Match", -2, 4, "running")
    match = await known(desk, "Match", eventually)
    at = desk.point(ids[0], match.start_at.timestamp() + 1.5 * 3600)
    QTest.mouseClick(desk.canvas.viewport(), LEFT, NONE, at)
    assert desk.panel.extend_bar.isVisible()
    QTest.mouseClick(desk.panel.extend_bar.buttons[15], LEFT)
    await eventually(lambda: desk.find("Match").end_at == match.end_at + timedelta(minutes=15))
    desk.drag(at, at + QPoint(60, 0))
    assert "only its end can move" in desk.said[-1].text


async def test_undo_is_refused_when_somebody_else_changed_it(
    desk: Desk, connection: Connection, ids: list[int], eventually: Eventually
) -> None:
    await add(connection, ids[0], "News", 2)
    news = await known(desk, "News", eventually)
    middle = news.start_at.timestamp() + 1800
    desk.drag(desk.point(ids[0], middle), desk.point(ids[0], middle + 1800))
    await eventually(lambda: desk.panel.editor.undo.undo_name == "move News")
    await connection.execute("UPDATE recorder_schedules SET name = 'Late News'")
    await eventually(lambda: any(w.name == "Late News" for w in desk.panel._session.model.windows.values()))
    desk.panel.editor.undo.undo()
    assert "changed by somebody else" in desk.said[-1].text


@pytest.mark.parametrize("scope", ["this", "following", "all"])
async def test_a_repeat_is_moved_one_following_or_all(
    desk: Desk, connection: Connection, ids: list[int], eventually: Eventually, scope: str
) -> None:
    from datetime import time
    from zoneinfo import ZoneInfo

    from core.recording.recurrence import daily
    from core.recording.series_commands import SeriesForm, create_series

    session = desk.panel._session
    zone = ZoneInfo("Europe/Berlin")
    begin = (session.now() + timedelta(hours=3)).astimezone(zone)
    at = time(begin.hour, 0)
    form = SeriesForm(
        "Daily", ids[0], daily(at, "Europe/Berlin").cron, "Europe/Berlin", timedelta(minutes=30)
    )
    await session.station.commander.do(create_series, form)
    await eventually(lambda: len(session.model.windows) >= 13, what="the occurrences")
    occurrences = sorted(session.model.windows.values(), key=lambda w: w.start_at)
    second = occurrences[1]
    desk.panel.show_window(second)
    middle = second.start_at.timestamp() + 900
    desk.drag(desk.point(ids[0], middle), desk.point(ids[0], middle + 1800))
    question = desk.window.findChild(SeriesQuestion)
    assert question is not None
    QTest.mouseClick(question.buttons[scope], LEFT)
    expected = {"this": 1, "following": len(occurrences) - 1, "all": len(occurrences)}[scope]

    def moved() -> int:
        return sum(w.start_at.astimezone(zone).minute == 30 for w in session.model.windows.values())

    await eventually(lambda: moved() == expected, what=f"{expected} moved ones")


async def test_two_windows_on_one_plant_show_each_others_edits(
    desk: Desk, plant: str, connection: Connection, ids: list[int], eventually: Eventually, tmp_path: Path
) -> None:
    await add(connection, ids[0], "News", 2)
    news = await known(desk, "News", eventually)
    async with (
        running_station(plant, "STATION-9", "Operator 9") as other,
        open_room(other, tmp_path / "2") as second,
    ):
        second.resize(1366, 768)
        there = Desk(second, connection)
        await known(there, "News", eventually)
        middle = news.start_at.timestamp() + 1800
        desk.drag(desk.point(ids[0], middle), desk.point(ids[0], middle + 3600))
        await eventually(lambda: there.find("News").start_at == news.start_at + timedelta(hours=1))
        there.panel._show_span("12h")
        there.drag(there.point(ids[0], middle + 3600), there.point(ids[1], middle + 3600))
        await eventually(lambda: desk.find("News").recorder_id == ids[1])


async def test_enter_opens_the_inspector_and_typing_shows_on_the_lanes(
    desk: Desk, connection: Connection, ids: list[int], eventually: Eventually, station: Station
) -> None:
    await add(connection, ids[0], "News", 2)
    news = await known(desk, "News", eventually)
    desk.panel.show_window(news)
    QTest.keyClick(desk.canvas, Qt.Key.Key_Return)
    room = desk.window.room
    assert room is not None and room.inspector.isVisible()
    QTest.keyClick(room.inspector.form.time, Qt.Key.Key_Up)
    assert desk.canvas.held is not None and desk.canvas.held.lead.start == news.start_at.timestamp() + 300
    room.inspector.form.save()
    await eventually(lambda: desk.find("News").start_at == news.start_at + timedelta(minutes=5))
    await eventually(lambda: not room.inspector.isVisible() and desk.canvas.held is None)
    assert desk.panel.editor.undo.undo_name == "edit News"
