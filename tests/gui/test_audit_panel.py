"""The audit log: read by pages, kept current, searchable."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from core import audit
from core.audit import AuditRow
from core.db.database import Connection, Database
from core.station import Station
from gui.audit.panel import change_words
from gui.main_window import MainWindow
from tests.gui.shell_fixtures import Eventually

FILL = """INSERT INTO audit_log (who, station, action, subject_kind, subject_name, before, after)
          SELECT 'Operator ' || n % 3, 'STATION-1', 'acknowledge_alarm', 'alarm', 'Alarm ' || n,
                 '{"end_at": "2026-11-18T10:00:00+00:00"}', '{"end_at": "2026-11-18T11:00:00+00:00"}'
          FROM generate_series($1::int, $2::int) n"""


SILENT = """INSERT INTO stations
            (name, kind, host, pid, instance, version, operator, role, status, last_seen_at)
            VALUES ('AAA', 'headless', 'h', 1, gen_random_uuid(), '0.1.0', 'Anna', 'operator', 'online',
                    now() - interval '1 min')"""

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)


async def test_pages_by_key(station: Station, connection: Connection) -> None:
    await connection.execute(FILL, 1, 25)
    first = await audit.page(station.database, None, 10, None)
    second = await audit.page(station.database, first[-1].id, 10, None)
    third = await audit.page(station.database, second[-1].id, 10, None)
    assert [r.subject_name for r in first + second + third] == [f"Alarm {n}" for n in range(25, 0, -1)]
    assert [r.subject_name for r in await audit.page(station.database, None, 10, "alarm 7")] == ["Alarm 7"]


@pytest.mark.parametrize(
    "text, found", [("%", 0), ("_", 0), ("acknowledge alarm", 10), ("OPERATOR 1", 8), ("", 10)]
)
async def test_search_is_literal_and_finds_words(
    station: Station, connection: Connection, text: str, found: int
) -> None:
    await connection.execute(FILL, 1, 24)
    assert len(await audit.page(station.database, None, 10, text)) == found


async def test_the_panel_follows_and_pages(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    assert window.room is not None
    panel = window.room.audit
    window.room.panels.reveal("audit")
    await connection.execute(FILL, 1, 450)
    await eventually(lambda: len(panel.model.rows) == 200, what="the first page")
    assert panel.model.rows[0].subject_name == "Alarm 450"
    await connection.execute(FILL, 451, 452)
    await eventually(lambda: panel.model.rows[0].subject_name == "Alarm 452", within=1, what="the new row")
    assert len(panel.model.rows) == 202
    panel.table.verticalScrollBar().setValue(panel.table.verticalScrollBar().maximum())
    await eventually(lambda: len(panel.model.rows) == 402, what="the second page")
    panel.table.verticalScrollBar().setValue(panel.table.verticalScrollBar().maximum())
    await eventually(lambda: len(panel.model.rows) == 452, what="the rest")
    assert [r.subject_name for r in panel.model.rows] == [f"Alarm {n}" for n in range(452, 0, -1)]
    panel.search.setText("Alarm 44")
    await eventually(lambda: len(panel.model.rows) == 11, what="what was searched for")
    panel.search.setText("no such thing")
    await eventually(lambda: panel.model.rows == [])
    assert "no such thing" in panel.table.empty


async def test_a_row_committed_late_is_not_missed(
    window: MainWindow, plant: str, connection: Connection, eventually: Eventually
) -> None:
    assert window.room is not None
    panel = window.room.audit
    await connection.execute(FILL, 1, 3)
    await eventually(lambda: len(panel.model.rows) == 3)
    slow = await Database(plant, "slow").connect("slow")
    transaction = slow.transaction()
    await transaction.start()
    await slow.execute(FILL, 4, 4)
    await connection.execute(FILL, 5, 5)
    await eventually(lambda: panel.model.rows[0].subject_name == "Alarm 5")
    await transaction.commit()
    await slow.close()
    await eventually(lambda: [r.subject_name for r in panel.model.rows[:2]] == ["Alarm 5", "Alarm 4"])


async def test_a_change_is_told_in_the_plant_s_time(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    assert window.room is not None
    panel = window.room.audit
    await connection.execute("UPDATE plant SET timezone = 'Asia/Kolkata'")
    await connection.execute(FILL, 1, 1)
    await eventually(lambda: len(panel.model.rows) == 1)
    await eventually(lambda: "15:30:00 → 18 Nov 16:30:00" in panel.model.index(0, 5).data())
    assert panel.model.index(0, 3).data() == "Acknowledge alarm"


async def test_stations_are_listed_with_their_leader(
    window: MainWindow, station: Station, connection: Connection, eventually: Eventually
) -> None:
    assert window.room is not None
    panel = window.room.stations
    await eventually(lambda: station.leading)
    await connection.execute(SILENT)
    await eventually(lambda: [x.row.name for x in panel.model.rows] == ["STATION-2", "AAA"])
    await eventually(lambda: panel.model.index(0, 1).data() == "LEADER")
    assert panel.model.index(1, 1).data() == "SILENT"
    assert panel.model.index(1, 6).data().startswith("1 min")
    await connection.execute("DELETE FROM stations WHERE name = 'AAA'")
    await eventually(lambda: len(panel.model.rows) == 1)


def test_what_changed_is_said_without_what_the_plant_keeps_for_itself() -> None:
    made = {
        "id": 23, "name": "Manual REC-3", "demo": False, "open_ended": True, "row_version": 1, "source": None,
        "recorder_id": 3, "start_at": "2026-11-18T12:34:42+00:00",
    }  # fmt: skip
    row = AuditRow(1, NOON, "kim", "DESK", "kim", "start_now", "window", 23, "Manual REC-3", None, made, None)
    assert change_words(row, UTC) == "start at: 18 Nov 12:34:42, open ended: True, recorder id: 3"
    renamed = replace(
        row, before={"name": "News", "row_version": 1}, after={"name": "Late News", "row_version": 2}
    )
    assert change_words(renamed, UTC) == "name: News → Late News"
