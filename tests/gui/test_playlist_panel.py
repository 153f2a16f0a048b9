"""The playlist panel: every edit is a command, and the table shows what the database says."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QTest

from core.roles import Role
from core.station import Station
from gui.main_window import MainWindow
from gui.playlist.panel import PlaylistPanel
from gui.playlist.points import point, read_span
from gui.recorders.entry import WrongEntry
from tests.gui.playout_rows import Rows, until
from tests.gui.shell_fixtures import Eventually

LEFT = Qt.MouseButton.LeftButton
ALT, SHIFT, CTRL = (
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
)
ROW = 28


@pytest.fixture
async def panel(window: MainWindow, eventually: Eventually) -> PlaylistPanel:
    assert window.room is not None
    window.activateWindow()
    window.room.panels.reveal("playlist")
    await eventually(window.room.playlist.isVisible)
    return window.room.playlist


def shown(panel: PlaylistPanel) -> list[str]:
    return [line.item.clip_name for line in panel.model.rows]


async def with_clips(panel: PlaylistPanel, rows: Rows, eventually: Eventually, *clips: str) -> int:
    id = await rows.channel("CH-1", None, *clips)
    await eventually(lambda: shown(panel) == list(clips), what="the clips")
    return id


def drag(panel: PlaylistPanel, taken: list[int], to: int) -> None:
    """What Qt sends while rows are dragged to the line above another row."""
    indexes = [panel.model.index(row, 0) for row in taken]
    data: QMimeData = panel.model.mimeData(indexes)
    spot = QPointF(40, to * ROW + 1)
    action, none = Qt.DropAction.MoveAction, Qt.KeyboardModifier.NoModifier
    view = panel.table
    view.dragEnterEvent(QDragEnterEvent(spot.toPoint(), action, data, LEFT, none))
    view.dragMoveEvent(QDragMoveEvent(spot.toPoint(), action, data, LEFT, none))
    if panel.why_not_edit() is None:
        assert view._gap == to, "the line is shown where it would go"
    view.dropEvent(QDropEvent(spot, action, data, LEFT, none))
    assert view._gap is None


async def test_dragging_reorders(panel: PlaylistPanel, rows: Rows, eventually: Eventually) -> None:
    id = await with_clips(panel, rows, eventually, "A", "B", "C", "D")
    drag(panel, [0], 3)
    assert shown(panel) == ["A", "B", "C", "D"], "nothing is drawn that is only hoped for"
    await eventually(lambda: shown(panel) == ["B", "C", "A", "D"], what="the new order")
    await eventually(lambda: panel.why_not_edit() is None)
    drag(panel, [1, 3], 0)
    await eventually(lambda: shown(panel) == ["C", "D", "B", "A"], what="two at once, in their order")
    assert await rows.order(id) == ["C", "D", "B", "A"]
    await eventually(lambda: panel.why_not_edit() is None)
    drag(panel, [0], 1)
    assert not panel._session.is_pending(("playlist", id)), "dropped where it was: nothing is asked"


async def test_the_keyboard_alone_reorders_and_removes(
    panel: PlaylistPanel, rows: Rows, eventually: Eventually
) -> None:
    id = await with_clips(panel, rows, eventually, "A", "B", "C")
    panel.table.setFocus()
    panel.table.choose(2)
    QTest.keyClick(panel.table, Qt.Key.Key_Up, ALT)
    await eventually(lambda: shown(panel) == ["A", "C", "B"])
    assert [i.clip_name for i in panel.table.chosen_items()] == ["C"], "the selection goes with it"
    await eventually(lambda: panel.why_not_edit() is None)
    QTest.keyClick(panel.table, Qt.Key.Key_Down, CTRL | SHIFT)
    await eventually(lambda: shown(panel) == ["A", "B", "C"])
    await eventually(lambda: panel.why_not_edit() is None)
    QTest.keyClick(panel.table, Qt.Key.Key_Up)
    QTest.keyClick(panel.table, Qt.Key.Key_Up)
    QTest.keyClick(panel.table, Qt.Key.Key_Down, SHIFT)
    QTest.keyClick(panel.table, Qt.Key.Key_Delete)
    await eventually(lambda: shown(panel) == ["C"], what="two removed")
    assert await rows.order(id) == ["C"]


async def test_a_file_is_added_with_in_and_out_by_keyboard(
    panel: PlaylistPanel, window: MainWindow, rows: Rows, eventually: Eventually
) -> None:
    id = await with_clips(panel, rows, eventually, "A", "B")
    await eventually(window.isActiveWindow)
    QTest.keyClick(window, Qt.Key.Key_N, CTRL | SHIFT)
    assert panel.form.isVisible() and panel.form.path.hasFocus()
    QTest.keyClicks(panel.form.path, "/media/late_news.mp4")
    assert panel.form.name.text() == "late news"
    QTest.keyClicks(panel.form.begin, "1:30")
    QTest.keyClicks(panel.form.end, "60")
    QTest.keyClick(panel.form.end, Qt.Key.Key_Return)
    assert panel.form.refusal.full_text == "The out point must be after the in point."
    panel.form.end.clear()
    QTest.keyClicks(panel.form.end, "00:02:00.5")
    QTest.keyClick(panel.form.end, Qt.Key.Key_Return)
    await eventually(lambda: shown(panel) == ["A", "B", "late news"], what="the clip at the end")
    made = panel.model.rows[2].item
    assert (made.path, made.in_s, made.duration_s) == ("/media/late_news.mp4", 90.0, 30.5)
    assert panel.form.path.text() == "" and panel.form.isVisible(), "ready for the next one"
    QTest.keyClick(panel.form.path, Qt.Key.Key_Escape)
    assert not panel.form.isVisible() and panel.table.hasFocus()
    assert await rows.order(id) == ["A", "B", "late news"]


async def test_a_recording_is_added_before_the_selected_clip(
    panel: PlaylistPanel, rows: Rows, eventually: Eventually
) -> None:
    asset = await rows.connection.fetchval(
        "INSERT INTO assets (display_name, path, status, duration_s) "
        "VALUES ('Council', '/rec/council.mp4', 'ready', 100) RETURNING id"
    )
    await with_clips(panel, rows, eventually, "A", "B")
    await eventually(lambda: asset in panel._session.model.assets)
    panel.table.choose(1)
    QTest.mouseClick(panel.add, LEFT)
    panel.form.source.setCurrentIndex(panel.form.source.findData(asset))
    assert panel.form.name.text() == "Council" and not panel.form.path.isEnabled()
    QTest.keyClicks(panel.form.begin, "10")
    QTest.mouseClick(panel.form.add, LEFT)
    await eventually(lambda: shown(panel) == ["A", "Council", "B"])
    made = panel.model.rows[1].item
    assert (made.asset_id, made.path, made.in_s, made.duration_s) == (asset, "/rec/council.mp4", 10.0, 90.0)


async def test_a_refusal_of_the_plant_is_said(
    panel: PlaylistPanel, window: MainWindow, rows: Rows, eventually: Eventually
) -> None:
    id = await with_clips(panel, rows, eventually, "A")
    said: list[str] = []
    panel._session.message.connect(lambda m: said.append(m.text))
    panel.open_form()
    panel.form.path.setText("http://elsewhere/clip.mp4")
    panel.form.name.setText("Elsewhere")
    panel.form.submit()
    await eventually(lambda: said, what="the refusal")
    assert "must be a file in the media folder" in said[0]
    assert await rows.order(id) == ["A"]


async def test_loop(panel: PlaylistPanel, rows: Rows, eventually: Eventually) -> None:
    id = await with_clips(panel, rows, eventually, "A")
    await rows.set(id, looping=False)
    await eventually(lambda: not panel.loop.isChecked())
    QTest.mouseClick(panel.loop, LEFT)
    assert not panel.loop.isChecked(), "what is, until the feed says otherwise"
    await until(partial(rows.column, id, "looping"), True)
    await eventually(panel.loop.isChecked)


async def test_what_is_on_air_and_when_the_rest_is_expected(
    panel: PlaylistPanel, rows: Rows, eventually: Eventually
) -> None:
    id = await with_clips(panel, rows, eventually, "A", "B", "C")
    await rows.set(id, looping=True)
    await rows.on_air(id, position=2)
    await eventually(lambda: [line.on_air for line in panel.model.rows] == [False, True, False])
    starts = [line.starts for line in panel.model.rows]
    assert all(starts) and starts[1] < starts[2] < starts[0], "the loop begins anew after the last"  # type: ignore[operator]
    assert panel.model.index(1, 4).data() == "ON AIR"
    assert panel.summary.full_text == "3 clips · 00:30:00"


async def test_somebody_elses_edit_is_shown(panel: PlaylistPanel, rows: Rows, eventually: Eventually) -> None:
    id = await with_clips(panel, rows, eventually, "A", "B")
    await rows.connection.execute("DELETE FROM playout_items WHERE clip_name = 'A'")
    await rows.item(id, 9, "From traffic")
    await eventually(lambda: shown(panel) == ["B", "From traffic"])


async def test_a_viewer_changes_nothing(
    panel: PlaylistPanel, rows: Rows, station: Station, eventually: Eventually
) -> None:
    id = await with_clips(panel, rows, eventually, "A", "B")
    station.role = Role.VIEWER
    panel._session.abilities_changed.emit()
    for button in (panel.add, panel.loop, panel.remove):
        assert not button.isEnabled() and "Needs the role Operator" in button.toolTip()
    panel.table.choose(0)
    QTest.keyClick(panel.table, Qt.Key.Key_Delete)
    QTest.keyClick(panel.table, Qt.Key.Key_Down, ALT)
    drag(panel, [0], 2)
    assert not panel._session.is_pending(("playlist", id)) and await rows.order(id) == ["A", "B"]


@pytest.mark.parametrize(
    "begin, end, span",
    [
        ("", "", (0.0, None)),
        ("90", "", (90.0, None)),
        ("1:30", "2:00", (90.0, 30.0)),
        ("0:0:1,5", "3", (1.5, 1.5)),
    ],
)
def test_points_are_read_as_they_are_written(begin: str, end: str, span: tuple[float, float | None]) -> None:
    assert read_span(begin, end) == span


@pytest.mark.parametrize("begin, end", [("x", ""), ("-1", ""), ("5", "5"), ("1:2:3:4", "")])
def test_wrong_points_are_refused(begin: str, end: str) -> None:
    with pytest.raises(WrongEntry):
        read_span(begin, end)


def test_a_point_is_written_with_its_tenths() -> None:
    assert (point(90), point(90.5)) == ("00:01:30", "00:01:30.5")
