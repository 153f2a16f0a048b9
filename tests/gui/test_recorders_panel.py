"""The recorders panel over a real plant: a press reaches the recorder, and what it does comes back to the row."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from aiohttp import web
from PySide6.QtCore import QBuffer, QIODevice, QSize, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit, QMenu, QWidget

from core.db.database import Connection
from core.recording.lane import RecordingLane
from core.recording.recorder_client import RecorderClient
from core.recording.series import SeriesLane
from core.roles import Role
from core.station import Identity, Station
from gui.main_window import MainWindow
from gui.parts import Button
from gui.recorders.controls import Controls
from gui.recorders.entry import WrongEntry, instant, next_full, read_day, read_length, read_time
from gui.recorders.guard import ARMED_FOR, DEAF_FOR, Guard
from gui.recorders.panel import RecordersPanel
from gui.recorders.pictures import AT_ONCE, prepare
from gui.recorders.row import RecorderRow
from tests.fakes.counting_recorder import REFUSE, CountingRecorder
from tests.gui.shell_fixtures import Eventually, Outage

Add = Callable[..., Awaitable[int]]
LEFT = Qt.MouseButton.LeftButton
CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
async def recorder() -> AsyncIterator[CountingRecorder]:
    async with CountingRecorder() as made:
        yield made


@pytest.fixture
async def station(plant: str, recorder: CountingRecorder, dressed: QApplication) -> AsyncIterator[Station]:
    client = RecorderClient(recorder.token)
    lanes = [RecordingLane(client, timedelta(seconds=1), timedelta(minutes=120)), SeriesLane()]
    made = Station(plant, Identity("STATION-2", "desktop", "Operator 2"), lanes, recorder.token)
    await made.start()
    yield made
    await made.stop()
    await client.close()


@pytest.fixture
async def add(connection: Connection, recorder: CountingRecorder) -> Add:
    async def recorders(*names: str, url: str = "") -> int:
        made = 0
        for number, name in enumerate(names):
            made = await connection.fetchval(
                "INSERT INTO recorders (name, base_url, external_id, source, status, position) "
                "VALUES ($1, $2, $1, 'test:bars', 'idle', $3) RETURNING id",
                name, url or recorder.url, number,
            )  # fmt: skip
        return made

    return recorders


@pytest.fixture
async def add_window(connection: Connection) -> Add:
    async def window(recorder_id: int, starts_in: float, lasts: float, name: str = "News") -> int:
        made: int = await connection.fetchval(
            "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) VALUES ($1, $2, "
            "clock_timestamp() + $3, clock_timestamp() + $4) RETURNING id",
            name, recorder_id, timedelta(seconds=starts_in), timedelta(seconds=starts_in + lasts),
        )  # fmt: skip
        return made

    return window


@pytest.fixture
async def panel(window: MainWindow) -> RecordersPanel:
    assert window.room is not None
    # Alone in the centre, with its own form: where it stands in a dock, the timeline and the inspector help it.
    found = window.room.recorders
    window.room.panels.group_of("recorders").remove(window.room.panels.panels["recorders"])
    found.centre = None
    window.room.set_centre(found)
    found.show()
    window.activateWindow()
    return found


async def row_of(panel: RecordersPanel, id: int, eventually: Eventually) -> tuple[RecorderRow, Controls]:
    await eventually(
        lambda: id in panel.roster.rows and panel.roster.rows[id].look is not None, what="the row"
    )
    row = panel.roster.rows[id]
    return row, row.build()


async def running(panel: RecordersPanel, id: int, eventually: Eventually) -> tuple[RecorderRow, Controls]:
    row, controls = await row_of(panel, id, eventually)
    QTest.mouseClick(controls.start, LEFT)
    await eventually(lambda: row.look is not None and row.look.bar == "running", what="a running row")
    return row, controls


def done(recorder: CountingRecorder) -> list[str]:
    return [event.what for event in recorder.log]


# Start, stop, extend, mode


async def test_start_reaches_the_recorder_and_the_row_says_recording(
    panel: RecordersPanel, recorder: CountingRecorder, add: Add, eventually: Eventually, station: Station
) -> None:
    id = await add("REC-1")
    row, controls = await row_of(panel, id, eventually)
    assert row.look is not None and row.look.lamp == "idle" and row.look.title == "Nothing scheduled"
    assert not controls.stop.isEnabled() and "not recording" in controls.stop.toolTip()
    await eventually(lambda: station.leading)
    QTest.mouseClick(controls.start, LEFT)
    assert not controls.start.isEnabled(), "pending until the feed confirms it"
    await eventually(lambda: row.look is not None and row.look.bar == "running", what="a running row")
    assert done(recorder) == ["start"]
    assert row.look.lamp == "recording" and row.look.state.startswith("REC 00:00:0")
    assert row.look.span.endswith("until stopped") and row.look.figures.startswith("started +")
    assert "recording Manual REC-1 already" in controls.start.toolTip()
    assert row.accessibleDescription() == "running: Manual REC-1"


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # what a menu asks of a screen
async def test_the_menu_starts_for_a_length(
    panel: RecordersPanel,
    connection: Connection,
    add: Add,
    eventually: Eventually,
    recorder: CountingRecorder,
) -> None:
    _, controls = await row_of(panel, await add("REC-1"), eventually)
    QTest.mouseClick(controls.more, LEFT)
    menu = controls.findChild(QMenu)
    assert menu is not None
    assert [a.text() for a in menu.actions()] == ["Until stopped", "15 min", "30 min", "1 h"]
    menu.actions()[2].trigger()
    menu.close()
    await eventually(lambda: done(recorder) == ["start"])
    length = await connection.fetchval("SELECT end_at - start_at FROM recorder_schedules")
    assert length == timedelta(minutes=30)


async def test_stop_takes_two_steps(
    panel: RecordersPanel, recorder: CountingRecorder, add: Add, eventually: Eventually
) -> None:
    row, controls = await running(panel, await add("REC-1"), eventually)
    QTest.mouseClick(controls.stop, LEFT)
    assert controls.armed.isVisible() and controls.stop.text() == "Cancel"
    assert "ARMED 5 s" in controls.armed.hint.full_text
    confirm, pressed = controls.armed.confirm, controls.stop
    assert (
        confirm.mapTo(row, confirm.rect().topRight()).x() < pressed.mapTo(row, pressed.rect().topLeft()).x()
    )
    await asyncio.sleep(0.1)
    assert done(recorder) == ["start"], "armed is not fired"
    QTest.mouseClick(confirm, LEFT)
    assert not controls.armed.isVisible()
    QTest.mouseClick(controls.stop, LEFT)
    assert panel.guard.armed is None, "a press within a second of firing does nothing"
    await eventually(lambda: done(recorder) == ["start", "stop"])
    await eventually(lambda: row.look is not None and row.look.bar == "empty", what="an idle row")


async def test_a_double_click_on_stop_does_nothing(
    panel: RecordersPanel, recorder: CountingRecorder, add: Add, eventually: Eventually
) -> None:
    row, controls = await running(panel, await add("REC-1"), eventually)
    QTest.mouseDClick(controls.stop, LEFT)
    assert panel.guard.armed is None
    await asyncio.sleep(0.1)
    assert done(recorder) == ["start"] and row.look is not None and row.look.bar == "running"


async def test_esc_disarms_and_ctrl_enter_fires(
    panel: RecordersPanel, window: MainWindow, recorder: CountingRecorder, add: Add, eventually: Eventually
) -> None:
    id = await add("REC-1")
    await running(panel, id, eventually)
    panel.go_to(id)
    await eventually(window.isActiveWindow)
    QTest.keyClick(panel.roster, Qt.Key.Key_S, Qt.KeyboardModifier.ShiftModifier)
    assert panel.guard.armed == ("stop", id)
    QTest.keyClick(panel.roster, Qt.Key.Key_Escape)
    assert panel.guard.armed is None
    QTest.keyClick(panel.roster, Qt.Key.Key_Return, CTRL)
    assert done(recorder) == ["start"]
    QTest.keyClick(panel.roster, Qt.Key.Key_S, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(panel.roster, Qt.Key.Key_Return, CTRL)
    await eventually(lambda: done(recorder) == ["start", "stop"])


async def test_one_is_armed_at_a_time(panel: RecordersPanel, add: Add, eventually: Eventually) -> None:
    last = await add("REC-1", "REC-2")
    _, one = await running(panel, last - 1, eventually)
    _, other = await running(panel, last, eventually)
    QTest.mouseClick(one.stop, LEFT)
    QTest.mouseClick(other.stop, LEFT)
    assert not one.armed.isVisible() and other.armed.isVisible()


def test_the_guard_disarms_by_itself_and_is_deaf_after_firing() -> None:
    now = 100.0
    guard = Guard(time=lambda: now)
    guard.press("x")
    now += ARMED_FOR - 0.01
    guard.look()
    assert guard.armed == "x"
    now += 0.02
    assert not guard.fire("x"), "too late"
    guard.look()
    assert guard.armed is None
    guard.press("x")
    assert not guard.fire("y") and guard.fire("x") and not guard.fire("x")
    guard.press("y")
    assert guard.armed is None
    now += DEAF_FOR
    guard.press("y")
    assert guard.armed == "y"


async def test_extend_moves_the_end(
    panel: RecordersPanel, connection: Connection, add: Add, add_window: Add, eventually: Eventually
) -> None:
    id = await add("REC-1")
    made = await add_window(id, -5, 600, "Council Session")
    row, controls = await row_of(panel, id, eventually)
    await eventually(lambda: row.look is not None and row.look.bar == "running", what="a running row")
    before = await connection.fetchval("SELECT end_at FROM recorder_schedules WHERE id = $1", made)
    QTest.mouseClick(controls.extend[15], LEFT)
    assert not controls.extend[5].isEnabled(), "pending"
    await eventually(lambda: controls.extend[5].isEnabled(), what="the word of the feed")
    after = await connection.fetchval("SELECT end_at FROM recorder_schedules WHERE id = $1", made)
    assert after - before == timedelta(minutes=15)
    assert row.look is not None and row.look.figure.startswith("\u221200:24:")


async def test_manual_mode_holds_and_auto_starts(
    panel: RecordersPanel, recorder: CountingRecorder, add: Add, add_window: Add, eventually: Eventually
) -> None:
    id = await add("REC-1")
    row, controls = await row_of(panel, id, eventually)
    QTest.mouseClick(controls.mode, LEFT)
    await eventually(lambda: row.look is not None and row.look.manual, what="manual mode")
    assert controls.mode.text() == "Go auto"
    await add_window(id, -1, 600, "Evening News")
    await eventually(lambda: row.look is not None and row.look.bar == "held", what="a held window")
    assert row.look is not None and row.look.state == "held: manual mode"
    assert "Evening News is due here" in controls.start.toolTip()
    assert panel.schedule.model.rows[0].state == "held"
    QTest.mouseClick(controls.mode, LEFT)
    await eventually(lambda: row.look is not None and row.look.bar == "running", what="a running row")
    assert done(recorder) == ["start"]


async def test_a_refusal_stands_in_its_row(
    panel: RecordersPanel, add: Add, add_window: Add, eventually: Eventually
) -> None:
    last = await add("REC-1", "REC-2")
    await add_window(last, 600, 600, "Late Bulletin")
    row, controls = await row_of(panel, last, eventually)
    await eventually(lambda: row.look is not None and row.look.title == "Late Bulletin")
    controls.do_start(timedelta(hours=1))
    await eventually(lambda: row.look is not None and "taken by Late Bulletin" in row.look.refusal)
    other = panel.roster.rows[last - 1].look
    assert other is not None and not other.refusal
    assert controls.start.isEnabled()


async def test_a_start_that_fails_says_why_and_counts(
    panel: RecordersPanel, recorder: CountingRecorder, add: Add, add_window: Add, eventually: Eventually
) -> None:
    recorder.mood = lambda unit, operation: REFUSE
    id = await add("REC-1")
    await add_window(id, -1, 60, "Regional contribution")
    row, _ = await row_of(panel, id, eventually)
    await eventually(lambda: row.look is not None and "attempt 3" in row.look.figures, what="a third attempt")
    assert row.look is not None
    assert row.look.trouble == "No signal on the input." and row.look.lamp == "alarm"


async def test_without_the_database_nothing_can_be_pressed(
    panel: RecordersPanel, add: Add, eventually: Eventually, outage: Outage, connection: Connection
) -> None:
    _, controls = await running(panel, await add("REC-1"), eventually)
    QTest.mouseClick(controls.stop, LEFT)
    await outage.begin()
    await eventually(lambda: not controls.stop.isEnabled(), within=5, what="a disabled Stop")
    assert panel.guard.armed is None
    for button in (controls.start, controls.more, controls.stop, controls.mode, *controls.extend.values()):
        assert not button.isEnabled() and "Needs the database" in button.toolTip()
    assert not panel.new_button.isEnabled() and "Needs the database" in panel.new_button.toolTip()
    await outage.end()
    await eventually(controls.stop.isEnabled, within=10, what="Stop again")


async def test_a_viewer_sees_why_not(
    panel: RecordersPanel, station: Station, add: Add, eventually: Eventually
) -> None:
    _, controls = await row_of(panel, await add("REC-1"), eventually)
    station.role = Role.VIEWER
    panel._session.abilities_changed.emit()
    assert not controls.start.isEnabled()
    assert "Needs the role Operator; you are Viewer." in controls.start.toolTip()


# The form and the schedule


async def test_a_window_is_made_by_keyboard(
    panel: RecordersPanel, window: MainWindow, connection: Connection, add: Add, eventually: Eventually
) -> None:
    last = await add("REC-1", "REC-2")
    await row_of(panel, last, eventually)
    panel.go_to(last)
    await eventually(window.isActiveWindow)
    QTest.keyClick(panel.roster, Qt.Key.Key_N)
    form = panel.form
    assert form.isVisible() and form.title.hasFocus()
    assert form.recorder.currentText() == "REC-2"
    start = next_full(panel._session.now())
    QTest.keyClicks(form.title, "Press Briefing")
    QTest.keyClick(form.title, Qt.Key.Key_Tab)
    assert form.recorder.hasFocus()
    for _ in range(4):
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    assert form.length.hasFocus()
    QTest.keyClicks(form.length, "1 h 30")
    assert form.end.full_text.startswith("ends ")
    QTest.keyClick(form.length, Qt.Key.Key_Return)
    await eventually(lambda: form.isHidden(), what="a closed form")
    await eventually(lambda: bool(panel.schedule.model.rows), what="the window in the table")
    listed = panel.schedule.model.rows[0]
    assert (listed.window.name, listed.recorder) == ("Press Briefing", "REC-2")
    assert listed.window.start_at == start and listed.window.end_at == start + timedelta(minutes=90)
    assert panel.schedule.chosen_window() == listed.window, "what was made is selected"
    assert await connection.fetchval("SELECT count(*) FROM audit_log WHERE action = 'create_window'") == 1


async def test_a_collision_is_said_in_the_form(
    panel: RecordersPanel, connection: Connection, add: Add, add_window: Add, eventually: Eventually
) -> None:
    id = await add("REC-1")
    await add_window(id, 60, 3600, "Arts Review")
    await row_of(panel, id, eventually)
    panel.new_window()
    panel.form.title.setText("Press Briefing")
    QTest.keyClick(panel.form.title, Qt.Key.Key_Return)
    await eventually(lambda: panel.form.errors["start"].isVisible(), what="a sentence beside the start")
    assert "REC-1 is taken by Arts Review" in panel.form.errors["start"].full_text
    assert panel.form.isVisible() and panel.form.title.text() == "Press Briefing"
    assert await connection.fetchval("SELECT count(*) FROM recorder_schedules") == 1
    QTest.keyClick(panel.form.title, Qt.Key.Key_Escape)
    assert panel.form.isHidden()


async def test_mistakes_stand_beside_their_fields(
    panel: RecordersPanel, add: Add, eventually: Eventually
) -> None:
    await row_of(panel, await add("REC-1"), eventually)
    panel.new_window()
    form = panel.form
    form.source.setText("ftp://somewhere")
    form.time.setText("25:00")
    form.length.setText("soon")
    form.save()
    wrong = {name for name, label in form.errors.items() if label.isVisible()}
    assert wrong == {"title", "source", "start", "length"}
    assert "ftp: is not allowed" in form.errors["source"].full_text
    assert form.title.hasFocus() and not form.saving


async def test_editing_notices_that_somebody_else_was_there(
    panel: RecordersPanel, connection: Connection, add: Add, add_window: Add, eventually: Eventually
) -> None:
    id = await add("REC-1")
    made = await add_window(id, 3600, 600, "Arts Review")
    await eventually(lambda: panel.schedule.model.rows, what="the window")
    panel.schedule.table.choose(0)
    QTest.keyClick(panel.schedule.table, Qt.Key.Key_Return)
    form = panel.form
    assert form.isVisible() and form.title.text() == "Arts Review"
    await connection.execute("UPDATE recorder_schedules SET name = 'Theirs' WHERE id = $1", made)
    form.title.setText("Mine")
    form.save()
    await eventually(lambda: form.errors["form"].isVisible(), what="the refusal")
    assert "changed by somebody else" in form.errors["form"].full_text
    await eventually(lambda: panel.plan.active(id)[0].name == "Theirs")
    QTest.mouseClick(form.again, LEFT)
    assert form.title.text() == "Theirs"
    form.title.setText("Ours")
    form.save()
    await eventually(lambda: form.isHidden())
    assert await connection.fetchval("SELECT name FROM recorder_schedules WHERE id = $1", made) == "Ours"


async def test_a_series_is_made_and_edited_as_one_and_as_all(
    panel: RecordersPanel, connection: Connection, add: Add, eventually: Eventually
) -> None:
    await row_of(panel, await add("REC-1"), eventually)
    panel.new_window()
    form = panel.form
    form.title.setText("Evening News")
    form.repeats.choose("daily")
    assert "Every day at" in form.meaning.full_text
    form.save()
    await eventually(lambda: panel.schedule.model.rows, what="the first occurrence")
    first = panel.schedule.model.rows[0].window
    assert first.series_id is not None
    assert await connection.fetchval("SELECT count(*) FROM recorder_schedules") >= 13
    panel.schedule.table.choose(0)
    panel.schedule.table.opened.emit(panel.schedule.model.rows[0])
    assert all(radio.isVisible() for radio in form.scopes.values())
    form.title.setText("Special")
    form.save()
    await eventually(lambda: panel.schedule.model.rows[0].window.name == "Special", what="the edited one")
    assert await connection.fetchval("SELECT count(*) FROM recorder_schedules WHERE name = 'Special'") == 1
    panel.schedule.table.opened.emit(panel.schedule.model.rows[0])
    form.scopes["all"].setChecked(True)
    form.title.setText("Late News")
    form.save()
    await eventually(lambda: form.isHidden())
    names = await connection.fetch("SELECT DISTINCT name FROM recorder_schedules ORDER BY 1")
    assert [r["name"] for r in names] == ["Late News", "Special"], "an edited occurrence keeps its edit"


async def test_a_window_that_stands_alone_is_made_to_repeat(
    panel: RecordersPanel, connection: Connection, add: Add, add_window: Add, eventually: Eventually
) -> None:
    window = await add_window(await add("REC-1"), 3600, 600, "Magazine")
    await eventually(lambda: panel.schedule.model.rows, what="the window")
    panel.schedule.table.opened.emit(panel.schedule.model.rows[0])
    form = panel.form
    assert form.repeats.buttons["daily"].isEnabled() and form.repeats.buttons["once"].isEnabled()
    form.repeats.choose("daily")
    assert "Every day at" in form.meaning.full_text
    form.save()
    await eventually(lambda: form.isHidden(), what="that it was taken")
    rows = await connection.fetch("SELECT * FROM recorder_schedules ORDER BY start_at")
    assert len(rows) >= 13 and len({r["series_id"] for r in rows} - {None}) == 1
    assert window not in {r["id"] for r in rows} or rows[0]["id"] == window


async def test_cancel_delete_and_skip_take_two_steps(
    panel: RecordersPanel, connection: Connection, add: Add, add_window: Add, eventually: Eventually
) -> None:
    id = await add("REC-1")
    await add_window(id, 3600, 600, "One")
    await add_window(id, 7200, 600, "Two")
    schedule = panel.schedule
    await eventually(lambda: len(schedule.model.rows) == 2, what="two windows")
    schedule.table.choose(0)
    assert (
        not schedule.buttons["skip"].isEnabled() and "does not repeat" in schedule.buttons["skip"].toolTip()
    )
    QTest.mouseClick(schedule.buttons["delete"], LEFT)
    assert schedule.confirm.isVisible() and schedule.confirm.text() == "Delete One"
    schedule.table.choose(1)
    assert panel.guard.armed is None, "another window was selected"
    QTest.mouseClick(schedule.buttons["cancel"], LEFT)
    QTest.mouseClick(schedule.confirm, LEFT)
    await eventually(lambda: schedule.model.rows[1].state == "cancelled", what="a cancelled window")
    assert [
        r["status"] for r in await connection.fetch("SELECT status FROM recorder_schedules ORDER BY id")
    ] == [
        "pending",
        "cancelled",
    ]
    assert not schedule.buttons["cancel"].isEnabled()


async def test_selection_stays_while_the_schedule_changes(
    panel: RecordersPanel, add: Add, add_window: Add, eventually: Eventually
) -> None:
    id = await add("REC-1")
    await add_window(id, 7200, 600, "Two")
    schedule = panel.schedule
    await eventually(lambda: len(schedule.model.rows) == 1)
    schedule.table.choose(0)
    resets: list[bool] = []
    schedule.model.modelReset.connect(lambda: resets.append(True))
    await add_window(id, 3600, 600, "One")
    await eventually(lambda: len(schedule.model.rows) == 2)
    chosen = schedule.chosen_window()
    assert chosen is not None and chosen.name == "Two" and not resets


async def test_the_filter_finds_recorders_by_their_windows(
    panel: RecordersPanel, add: Add, add_window: Add, eventually: Eventually
) -> None:
    last = await add("REC-1", "REC-2")
    await add_window(last, 3600, 600, "Arts Review")
    await eventually(lambda: len(panel.schedule.model.rows) == 1)
    panel.search.setText("arts")
    assert panel.roster.in_order() == [last]
    panel.search.setText("rec-1")
    assert panel.roster.in_order() == [last - 1] and not panel.schedule.model.rows
    panel.go_to(last)
    assert panel.search.text() == "" and panel.roster.selected == last


# Pictures


def jpeg(colour: str) -> bytes:
    image = QImage(320, 180, QImage.Format.Format_RGB32)
    image.fill(QColor(colour))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    assert image.save(buffer, "JPEG")
    return bytes(buffer.data().data())


class PictureServer:
    """Gives every recorder a red picture, and counts."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.at_once = self.most = 0
        self.url = ""

    async def preview(self, request: web.Request) -> web.Response:
        self.asked.add(request.match_info["unit"])
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0.02)
        self.at_once -= 1
        return web.Response(body=jpeg("#ff0000"), content_type="image/jpeg")


@pytest.fixture
async def picture_server() -> AsyncIterator[PictureServer]:
    made, app = PictureServer(), web.Application()
    app.router.add_get("/api/v1/recorders/{unit}/preview.jpg", made.preview)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


async def test_pictures_come_a_few_at_a_time_and_only_for_what_is_seen(
    picture_server: PictureServer, panel: RecordersPanel, add: Add, eventually: Eventually
) -> None:
    await add(*(f"R{n:02}" for n in range(30)), url=picture_server.url)
    await eventually(lambda: len(panel.roster.rows) == 30)
    seen, pictures = panel.roster.in_sight(), panel.roster.pictures
    assert 3 < len(seen) < 15
    await eventually(lambda: all(pictures.shot(i) for i in seen), within=8, what="all in sight")
    assert 1 < picture_server.most <= AT_ONCE
    assert len(picture_server.asked) <= len(seen) + 1


def test_pictures_are_muted_and_scaled() -> None:
    image = prepare(jpeg("#ff0000"), QSize(112, 63))
    assert image is not None and (image.width(), image.height()) == (112, 63)
    colour = image.pixelColor(50, 30)
    assert colour.red() < 225 and colour.green() > 10, "70 % of the saturation"
    assert prepare(b"no picture", QSize(112, 63)) is None


# Reading what is typed


def test_entries() -> None:
    today = date(2026, 3, 1)
    assert read_day("tomorrow", today) == date(2026, 3, 2)
    assert read_day("2026-12-24", today) == read_day("24.12.2026", today) == date(2026, 12, 24)
    assert read_time("19:40") == read_time("1940") == time(19, 40)
    assert read_time("7:05:09") == time(7, 5, 9)
    for words, minutes in {
        "45": 45,
        "0:45": 45,
        "00:45:00": 45,
        "1 h 30": 90,
        "1h": 60,
        "45 min": 45,
    }.items():
        assert read_length(words) == timedelta(minutes=minutes), words
    assert read_length("90 s") == timedelta(seconds=90)
    for wrong in ("", "soon", "0", "1:2:3"):
        with pytest.raises(WrongEntry):
            read_length(wrong)
    berlin = ZoneInfo("Europe/Berlin")
    assert instant(date(2026, 10, 25), time(2, 30), berlin) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    with pytest.raises(WrongEntry, match="does not exist"):
        instant(date(2026, 3, 29), time(2, 30), berlin)
    with pytest.raises(WrongEntry, match="There is no day"):
        read_day("2026-02-30", today)


# Fit and names


@pytest.mark.parametrize("width", [1366, 1920])
async def test_text_fits(
    panel: RecordersPanel,
    window: MainWindow,
    add: Add,
    add_window: Add,
    eventually: Eventually,
    width: int,
    tmp_path: Path,
) -> None:
    id = await add("REC-1", "REC-2")
    await add_window(id, -5, 3600, "Council Session")
    _, controls = await row_of(panel, id, eventually)
    window.resize(width, 768)
    await eventually(lambda: panel.width() == width - 424, what="the room beside the channels")
    assert panel.roster.horizontalScrollBar().maximum() == 0
    # Where it is narrow, the form takes the place of what stood there: both are looked at.
    buttons = {b for b in panel.findChildren(Button) if b.isVisible()}
    assert not [b.text() for b in buttons if b.width() < b._content_width() + 8]
    QTest.mouseClick(panel.new_button, LEFT)
    await asyncio.sleep(0.05)
    buttons |= {b for b in panel.findChildren(Button) if b.isVisible()}
    assert len(buttons) > 15
    assert not [b.text() for b in buttons if b.isVisible() and b.width() < b._content_width() + 8]
    assert controls.armed.confirm.fontMetrics().horizontalAdvance("Confirm stop REC-1") < 196 - 28
    for field in (panel.form.title, panel.form.source, panel.form.day, panel.form.time, panel.form.length):
        assert field.height() == 28 and field.rect().right() <= panel.form.width()


async def test_every_control_has_a_name_and_a_tooltip(
    panel: RecordersPanel, add: Add, eventually: Eventually
) -> None:
    await row_of(panel, await add("REC-1"), eventually)
    panel.new_window()
    controls = [w for w in panel.findChildren(QWidget) if isinstance(w, QAbstractButton | QLineEdit)]
    assert not [w for w in controls if w.isVisible() and not w.accessibleName()]
    assert not [w.accessibleName() for w in controls if w.isVisible() and not w.toolTip()]
    bare = [b for b in panel.findChildren(QAbstractButton) if type(b).__module__.startswith("gui")]
    assert not [b.text() for b in bare if not b.toolTip()], "hidden ones too"


async def test_shortcuts_are_given_once(panel: RecordersPanel, window: MainWindow) -> None:
    keys = [a.shortcut for a in window.actions_.all() if a.shortcut]
    assert len(keys) == len(set(keys))
