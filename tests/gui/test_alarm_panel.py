"""The alarm panel over a real plant: what SQL raises is shown, and what is clicked is in the database."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from core.alarms.model import Priority
from core.db.database import Connection
from core.station import Station
from gui.alarms.listing import ACK, AGE
from gui.alarms.panel import AlarmPanel
from gui.main_window import MainWindow
from tests.gui.shell_fixtures import Eventually, open_room, running_station

RAISE = """INSERT INTO alarms (key, cause_key, priority, source_kind, source_name, message, effect, action)
           VALUES ($1, $2, $3, 'recorder', 'REC-1', $4, 'It matters.', 'Mend it.') RETURNING id"""


async def raise_alarm(
    connection: Connection, key: str, priority: str = "high", cause: str | None = None
) -> int:
    made: int = await connection.fetchval(RAISE, key, cause, priority, f"Trouble {key}")
    return made


def panel_of(window: MainWindow) -> AlarmPanel:
    assert window.room is not None
    return window.room.alarms


def shown(panel: AlarmPanel) -> list[str]:
    return [row.alarm.key if row.alarm else row.section for row in panel.model.rows]


def click_ack(panel: AlarmPanel, row: int) -> None:
    """Presses the Ack button of a row with the mouse."""
    cell = panel.table.visualRect(panel.model.index(row, ACK))
    at: QPoint = panel.delegate.button_rect(cell).center()
    QTest.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)


async def test_an_alarm_raised_by_sql_appears(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    panel = panel_of(window)
    assert shown(panel) == []
    await raise_alarm(connection, "x")
    await eventually(lambda: shown(panel) == ["x"], within=1, what="the alarm on the list")
    assert window.room is not None
    assert window.room.header.lamp.number.full_text == "1"
    assert window.room.panels.panels["alarms"].title == "Alarms 1"


async def test_ack_is_written_with_its_audit_row(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    panel = panel_of(window)
    alarm = await raise_alarm(connection, "x")
    await raise_alarm(connection, "y", "low")
    await eventually(lambda: len(shown(panel)) == 2)
    click_ack(panel, 0)
    assert panel.model.rows[0].pending, "until the feed confirms, it is pending"
    await eventually(
        lambda: not panel.model.rows[-1].alarm.unacked, what="the acknowledged alarm below the other"
    )
    assert shown(panel) == ["y", "x"]
    row = await connection.fetchrow("SELECT acked_by, state FROM alarms WHERE id = $1", alarm)
    assert dict(row) == {"acked_by": "Operator 2", "state": "active_acked"}
    audit = await connection.fetch("SELECT who, station, action, subject_id FROM audit_log")
    assert [tuple(a.values()) for a in audit] == [("Operator 2", "STATION-2", "acknowledge_alarm", alarm)]
    assert not panel.model.rows[-1].pending


async def test_shelving_needs_a_reason_and_is_undone(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    panel = panel_of(window)
    alarm = await raise_alarm(connection, "x")
    await eventually(lambda: shown(panel) == ["x"])
    panel.table.choose(0)
    QTest.mouseClick(panel.detail.shelve_button, Qt.MouseButton.LeftButton)
    assert not panel.detail.confirm.isEnabled(), "without a reason there is no shelf"
    QTest.mouseClick(panel.detail.duration.buttons["60"], Qt.MouseButton.LeftButton)
    QTest.keyClicks(panel.detail.reason, "waiting for a spare part")
    QTest.mouseClick(panel.detail.confirm, Qt.MouseButton.LeftButton)
    await eventually(lambda: shown(panel) == [], what="the alarm off the open list")
    row = await connection.fetchrow(
        "SELECT shelve_reason, shelved_by, shelved_until - now() > interval '59 min' AS long FROM alarms"
    )
    assert tuple(row.values()) == ("waiting for a spare part", "Operator 2", True)
    assert await connection.fetchval("SELECT reason FROM audit_log") == "waiting for a spare part"
    panel.filter.choose("shelved")
    assert shown(panel) == ["x"]
    panel.table.choose(0)
    QTest.mouseClick(panel.detail.unshelve, Qt.MouseButton.LeftButton)
    await eventually(lambda: shown(panel) == [])
    assert await connection.fetchval("SELECT shelved_until FROM alarms WHERE id = $1", alarm) is None


async def test_the_key_a_acknowledges_all_that_is_visible(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    panel = panel_of(window)
    for key in ("a", "b", "c"):
        await raise_alarm(connection, key)
    await eventually(lambda: len(shown(panel)) == 3)
    panel.table.setFocus()
    QTest.keyClick(panel.table, Qt.Key.Key_A)
    await eventually(lambda: all(not r.alarm.unacked for r in panel.model.rows), what="all acknowledged")
    assert (
        await connection.fetchval("SELECT count(*) FROM audit_log WHERE action = 'acknowledge_alarms'") == 3
    )
    assert not panel.acknowledge_all.isEnabled()


async def test_a_refusal_is_a_sentence_in_the_window(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    panel = panel_of(window)
    alarm = await raise_alarm(connection, "x")
    await eventually(lambda: shown(panel) == ["x"])
    taken = panel.model.rows[0].alarm
    await connection.execute(
        "UPDATE alarms SET acked_at = now(), acked_by = 'Operator 1' WHERE id = $1", alarm
    )
    panel.desk.acknowledge([taken])
    await eventually(lambda: window.strip.isVisible(), what="the sentence")
    assert window.strip.text.full_text == "Operator 1 has acknowledged it already."


async def test_order_causes_and_ages(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    panel = panel_of(window)
    await raise_alarm(connection, "low", "low")
    await raise_alarm(connection, "consequence", "medium", cause="cause")
    await raise_alarm(connection, "cause", "high")
    await raise_alarm(connection, "worst", "critical")
    await eventually(lambda: len(shown(panel)) == 4)
    assert shown(panel) == ["worst", "cause", "consequence", "low"]
    assert [row.consequence for row in panel.model.rows] == [False, False, True, False]
    panel.table.choose(2)
    resets: list[object] = []
    panel.model.modelReset.connect(lambda: resets.append(None))
    before = panel.model.index(0, AGE).data()
    await eventually(lambda: panel.model.index(0, AGE).data() != before, within=3, what="an older alarm")
    assert panel.chosen_alarm() is not None
    assert panel.chosen_alarm().key == "consequence"  # type: ignore[union-attr]
    assert not resets, "an age never resets the list"


async def test_cleared_alarms_have_their_section(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    panel = panel_of(window)
    await raise_alarm(connection, "open")
    alarm = await raise_alarm(connection, "over")
    await connection.execute(
        "UPDATE alarms SET cleared_at = now(), acked_at = now(), acked_by = 'x' WHERE id = $1", alarm
    )
    await eventually(lambda: shown(panel) == ["open"])
    panel.filter.choose("shift")
    assert shown(panel) == ["open", "Cleared this shift, 1", "over"]
    assert panel.filter.buttons["shift"].text() == "This shift 2"


async def test_selection_shows_what_it_means_and_enter_goes_there(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    panel = panel_of(window)
    await raise_alarm(connection, "x")
    await eventually(lambda: shown(panel) == ["x"])
    panel.table.choose(0)
    assert panel.detail.title.full_text == "Trouble x"
    assert panel.detail.facts["Do now"].text() == "Mend it."
    went: list[tuple[str, object]] = []
    panel.goto.connect(lambda kind, id: went.append((kind, id)))
    QTest.keyClick(panel.table, Qt.Key.Key_Return)
    assert went == [("recorder", None)]


async def test_an_alarm_goes_to_its_window_or_its_recorder(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    assert window.room is not None
    panel, canvas = panel_of(window), window.room.timeline.canvas
    ids = await connection.fetchrow(
        "WITH r AS (INSERT INTO recorders (name, base_url, external_id) VALUES ('REC-1', 'http://x', 'r1') "
        "RETURNING id) INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) "
        "SELECT 'News', id, now() + interval '1 h', now() + interval '2 h' FROM r RETURNING id, recorder_id"
    )
    for key in (f"window:{ids['id']}:preflight", f"recorder:{ids['recorder_id']}:black"):
        alarm = await raise_alarm(connection, key)
        await connection.execute("UPDATE alarms SET source_id = $2 WHERE id = $1", alarm, ids["recorder_id"])
    await eventually(lambda: len(shown(panel)) == 2 and all(r.alarm.source_id for r in panel.model.rows))
    await eventually(lambda: ids["id"] in window.room.session.model.windows)  # type: ignore[union-attr]
    for row, name in enumerate(shown(panel)):
        canvas.select()
        panel.table.choose(row)
        panel.table.setFocus()
        QTest.keyClick(panel.table, Qt.Key.Key_G)
        assert canvas.scene_.selected_row == ("recorder", ids["recorder_id"])
        chosen = [w.id for w in canvas.selected_windows()]
        assert chosen == ([ids["id"]] if name.startswith("window") else [])


async def test_sound_until_acknowledged_and_mute(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    assert window.room is not None
    sound, panel = window.room.sound, panel_of(window)
    alarm = await raise_alarm(connection, "x", "critical")
    await eventually(lambda: sound.played.get(Priority.CRITICAL, 0) >= 2, what="the sound again")
    sound.mute(5)
    assert panel.mute.text() == "Muted 05:00"
    heard = sound.played[Priority.CRITICAL]
    await asyncio.sleep(2.3)
    assert sound.played[Priority.CRITICAL] == heard, "muted means silent"
    sound.unmute()
    await eventually(lambda: sound.played[Priority.CRITICAL] > heard)
    await connection.execute("UPDATE alarms SET acked_at = now(), acked_by = 'x' WHERE id = $1", alarm)
    await eventually(lambda: not panel.model.rows[0].alarm.unacked)
    heard = sound.played[Priority.CRITICAL]
    await asyncio.sleep(2.3)
    assert sound.played[Priority.CRITICAL] == heard, "acknowledged means silent"


async def test_a_viewer_sees_why_a_button_does_not_work(
    server: str, plant: str, connection: Connection, tmp_path: Path, dressed: object, eventually: Eventually
) -> None:
    admin = await asyncpg.connect(server)
    await admin.execute("DROP ROLE IF EXISTS gui_viewer")
    await admin.execute("CREATE ROLE gui_viewer LOGIN IN ROLE airlock_viewer")
    alarm = await raise_alarm(connection, "x")
    try:
        async with (
            running_station(plant.replace("postgres@", "gui_viewer@"), "VIEW", "Guest") as viewer,
            open_room(viewer, tmp_path) as window,
        ):
            panel = panel_of(window)
            await eventually(lambda: shown(panel) == ["x"])
            panel.table.choose(0)
            reason = "Needs the role Operator; you are Viewer."
            for button in (panel.acknowledge_all, panel.detail.acknowledge, panel.detail.shelve_button):
                assert not button.isEnabled()
                assert reason in button.toolTip()
            click_ack(panel, 0)
            await asyncio.sleep(0.1)
            assert await connection.fetchval("SELECT acked_at FROM alarms WHERE id = $1", alarm) is None
            assert window.room is not None
            assert window.room.header.operator.role.full_text.startswith("Viewer")
    finally:
        await admin.execute("DROP ROLE gui_viewer")
        await admin.close()


async def test_unsubscribed_panels_hear_nothing(
    station: Station, connection: Connection, tmp_path: Path, eventually: Eventually
) -> None:
    async with open_room(station, tmp_path) as window:
        panel = panel_of(window)
    await raise_alarm(connection, "x")
    await eventually(lambda: len(station.model.alarms) == 1)
    await asyncio.sleep(0.05)
    assert panel.model.rows == []
