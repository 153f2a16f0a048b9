"""The as-run panel over a real log: live, filtered, paged, exported, verified."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from core.playout import as_run_log
from gui.as_run.pages import PAGE
from gui.as_run.panel import AsRunPanel
from gui.main_window import MainWindow
from tests.gui.playout_rows import Rows
from tests.gui.shell_fixtures import Eventually, Outage

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
async def panel(window: MainWindow) -> AsRunPanel:
    assert window.room is not None
    window.activateWindow()
    return window.room.as_run


def clips(panel: AsRunPanel, count: int) -> list[str]:
    return [panel.model.index(row, 2).data() for row in range(min(count, panel.model.rowCount()))]


async def test_what_goes_to_air_comes_on_top_at_once(
    panel: AsRunPanel, rows: Rows, eventually: Eventually
) -> None:
    assert "Nothing has gone to air yet" in panel.table.empty
    id = await rows.channel("CH-1", await rows.node("play-01"), "Roundup")
    await rows.log(id, 3)
    await eventually(lambda: clips(panel, 3) == ["Spot 3", "Spot 2", "Spot 1"], what="the log")
    await rows.on_air(id, since=5)
    await eventually(lambda: clips(panel, 1) == ["Roundup"], what="the clip on air")
    assert panel.model.index(0, 4).data() == "ON AIR" and panel.model.index(0, 5).data() == "play-01"
    before = panel.model.index(0, 3).data()
    await eventually(lambda: panel.model.index(0, 3).data() > before, what="a duration that grows")
    await rows.connection.execute(
        "UPDATE playout_as_run SET ended_at = clock_timestamp(), result = 'skipped' WHERE ended_at IS NULL"
    )
    await eventually(lambda: panel.model.index(0, 4).data() == "Skipped", what="the row closed in place")
    assert panel.model.rowCount() == 4 and panel.count.full_text.startswith("Live · ")


async def test_it_follows_until_it_is_scrolled(panel: AsRunPanel, rows: Rows, eventually: Eventually) -> None:
    id = await rows.channel("CH-1", None, "Roundup", "Promo")
    await rows.log(id, 100)
    await eventually(lambda: panel.model.rowCount() == 100)
    bar = panel.table.verticalScrollBar()
    await eventually(lambda: bar.maximum() > 28 * 60, what="the table to be laid out")
    bar.setValue(28 * 40)
    seen = clips(panel, 100)[40]
    await rows.on_air(id, since=5)
    await eventually(lambda: panel.top.isVisible(), what="the word that there is more")
    assert panel.top.text() == "1 newer"
    assert panel.model.index(bar.value() // 28, 2).data() == seen, "what is looked at stays where it is"
    panel.top.click()
    assert bar.value() == 0 and not panel.top.isVisible()


async def test_filters(panel: AsRunPanel, rows: Rows, eventually: Eventually) -> None:
    one, two = await rows.channel("CH-1"), await rows.channel("CH-2")
    long_ago = datetime.now(UTC) - timedelta(days=3)
    await rows.log(one, 4)
    await rows.log(two, 3, "failed", "100%_sure")
    await rows.log(two, 2, "interrupted", "Old", long_ago)
    await eventually(lambda: panel.model.rowCount() == 9)
    panel.channel.setCurrentIndex(panel.channel.findData(one))
    await eventually(lambda: panel.model.rowCount() == 4, what="one channel")
    assert {panel.model.index(r, 1).data() for r in range(4)} == {"CH-1"}
    await eventually(lambda: panel.count.full_text == "4 found")
    panel.channel.setCurrentIndex(0)
    panel.result.setCurrentIndex(panel.result.findData("failed"))
    await eventually(lambda: panel.model.rowCount() == 3, what="one result")
    panel.result.setCurrentIndex(0)
    panel.time.setCurrentIndex(panel.time.findData("hour"))
    await eventually(lambda: panel.model.rowCount() == 7, what="the last hour")
    panel.time.setCurrentIndex(0)
    QTest.keyClick(panel.window(), Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert panel.search.hasFocus()
    QTest.keyClicks(panel.search, "%_S")
    await eventually(lambda: panel.model.rowCount() == 3, what="words, taken literally")
    QTest.keyClicks(panel.search, "x")
    await eventually(lambda: panel.model.rowCount() == 0)
    assert "matches" in panel.table.empty
    # A row that does not match changes nothing; one that does comes.
    panel.search.setText("news")
    await rows.item(one, 1, "Late News")
    await rows.on_air(one, since=1)
    await eventually(lambda: clips(panel, 2) == ["Late News"], what="the row that matches")


async def test_pages_are_fetched_for_what_is_looked_at(
    panel: AsRunPanel, rows: Rows, eventually: Eventually
) -> None:
    await rows.log(await rows.channel("CH-1"), 3000)
    await eventually(lambda: panel.model.rowCount() == 3000, within=20, what="its length")
    assert panel.model.pages.held() == PAGE
    bar = panel.table.verticalScrollBar()
    await eventually(lambda: bar.maximum() > 28 * 2900, what="the table to be laid out")
    bar.setValue(bar.maximum() // 2)  # into the middle, where nobody knows a key
    at = bar.value() // 28
    assert panel.model.index(at, 0).data() == "…"
    await eventually(
        lambda: panel.model.index(at, 2).data() == f"Spot {3000 - at}", within=10, what="the middle"
    )
    bar.setValue(bar.maximum())
    await eventually(lambda: panel.model.index(2999, 2).data() == "Spot 1", within=10, what="the oldest")
    assert panel.model.pages.held() < 10 * PAGE


# Export


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def done(panel: AsRunPanel, eventually: Eventually) -> str:
    await eventually(lambda: panel.work.isVisible() and not panel.work.busy, within=20, what="the work's end")
    return panel.work.words.full_text


async def test_what_is_filtered_is_exported(
    panel: AsRunPanel, rows: Rows, tmp_path: Path, eventually: Eventually
) -> None:
    one, two = await rows.channel("CH-1"), await rows.channel("CH-2")
    await rows.log(one, 12, clip="<Spot> & Co")
    await rows.log(two, 5)
    await eventually(lambda: panel.model.rowCount() == 17)
    panel.channel.setCurrentIndex(panel.channel.findData(one))
    await eventually(lambda: panel.model.rowCount() == 12)
    for format in as_run_log.FORMATS:
        path = tmp_path / f"log.{format}"
        panel.export(format, path)
        assert not panel.export_button.isEnabled(), "one work at a time"
        assert await done(panel, eventually) == f"12 rows exported to {path}."
    with (tmp_path / "log.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert [r["clip_name"] for r in found] == [f"<Spot> & Co {n}" for n in range(1, 13)]
    assert {r["channel"] for r in found} == {"CH-1"}
    told = json.loads((tmp_path / "log.json").read_text(encoding="utf-8"))
    assert told["findings"] == {} and len(told["rows"]) == 12
    events = ElementTree.parse(tmp_path / "log.bxf").getroot().iter()
    assert sum(e.tag.endswith("}AsRun") for e in events) == 12
    assert files(tmp_path) == ["log.bxf", "log.csv", "log.json"], "and no part of one"


async def test_an_export_says_how_far_it_is_and_can_be_cancelled(
    panel: AsRunPanel, rows: Rows, tmp_path: Path, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(as_run_log, "PAGE", 5)
    await rows.log(await rows.channel("CH-1"), 2000)
    await eventually(lambda: panel.model.rowCount() == 2000, within=20)
    path = tmp_path / "log.csv"
    said: list[str] = []
    say = panel.work._say

    def listen(words: str, *, done: bool) -> None:
        said.append(words)
        say(words, done=done)
        if len(said) == 5:
            panel.work.button.click()

    monkeypatch.setattr(panel.work, "_say", listen)
    panel.export("csv", path)
    assert panel.work.button.text() == "Cancel"
    assert await done(panel, eventually) == "Cancelled. Nothing was written."
    assert any(w.startswith("Exporting ") and w.endswith(" of 2,000 rows…") for w in said)
    assert files(tmp_path) == [], "neither the file nor a part of it"
    panel.work.button.click()
    assert not panel.work.isVisible() and panel.export_button.isEnabled()


async def test_an_export_that_cannot_be_written_says_so(
    panel: AsRunPanel, rows: Rows, tmp_path: Path, eventually: Eventually
) -> None:
    await rows.log(await rows.channel("CH-1"), 2)
    await eventually(lambda: panel.model.rowCount() == 2)
    panel.export("csv", tmp_path / "nowhere" / "log.csv")
    assert "cannot be written" in await done(panel, eventually)


# Verify


async def test_verify_names_what_it_finds(panel: AsRunPanel, rows: Rows, eventually: Eventually) -> None:
    one, two = await rows.channel("CH-1"), await rows.channel("CH-2")
    await rows.log(one, 5)
    await rows.log(two, 5)
    await eventually(lambda: panel.model.rowCount() == 10)
    QTest.mouseClick(panel.verify_button, Qt.MouseButton.LeftButton)
    assert "chains of all 2 channels are whole" in await done(panel, eventually)
    # Only who owns the table can get past its triggers; the chain shows that somebody did.
    row = await rows.connection.fetchval(
        "SELECT id FROM playout_as_run WHERE channel_id = $1 AND clip_name = 'Spot 3'", two
    )
    await rows.connection.execute("ALTER TABLE playout_as_run DISABLE TRIGGER USER")
    await rows.connection.execute("UPDATE playout_as_run SET clip_name = 'Other' WHERE id = $1", row)
    await rows.connection.execute("ALTER TABLE playout_as_run ENABLE TRIGGER USER")
    panel.verify()
    assert f"CH-2: row {row} was changed after it was closed" in await done(panel, eventually)
    panel.channel.setCurrentIndex(panel.channel.findData(one))
    panel.verify()
    assert "chain of CH-1 is whole" in await done(panel, eventually)


async def test_an_outage_leaves_what_is_shown_and_says_why_not(
    panel: AsRunPanel, rows: Rows, outage: Outage, eventually: Eventually
) -> None:
    id = await rows.channel("CH-1")
    await rows.log(id, 3)
    await eventually(lambda: panel.model.rowCount() == 3)
    await outage.begin()
    await eventually(lambda: panel._session.stale, within=15)
    assert panel.model.rowCount() == 3 and panel.table.old
    assert not panel.export_button.isEnabled() and "database" in panel.export_button.toolTip()
    await outage.end()
    await eventually(lambda: not panel.table.old and panel.export_button.isEnabled(), within=20)


# Planned against actual


async def test_a_day_is_shown_against_its_plan(panel: AsRunPanel, rows: Rows, eventually: Eventually) -> None:
    await rows.channel("CH-0", None, "Other")
    id = await rows.channel("CH-1", None, "Roundup", "Promo", looping=True)
    first = await rows.connection.fetchval("SELECT id FROM playout_items WHERE clip_name = 'Roundup'")
    # In the middle of yesterday, so that no midnight comes between the rows.
    begun = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=1)
    await rows.connection.execute(
        "INSERT INTO playout_as_run (channel_id, item_id, clip_name, started_at, ended_at, result) VALUES "
        "($1, $2, 'Roundup', $3, $3::timestamptz + interval '400 s', 'skipped'), "
        "($1, $2 + 1, 'Promo', $3::timestamptz + interval '400 s', $3::timestamptz + interval '1000 s', 'played')",
        id, first, begun,
    )  # fmt: skip
    await eventually(lambda: panel.model.rowCount() == 2)
    panel.channel.setCurrentIndex(panel.channel.findData(id))
    QTest.keyClick(panel.window(), Qt.Key.Key_P, CTRL | SHIFT)
    view = panel.against
    assert view.isVisible() and not panel.table.isVisible() and view.channel.currentText() == "CH-1"
    assert view.day.full_text == "Today" and not view.later.isEnabled() and view.model.rowCount() == 0
    QTest.mouseClick(view.earlier, Qt.MouseButton.LeftButton)
    await eventually(lambda: view.model.rowCount() == 2, what="yesterday")
    told = [[view.model.index(r, c).data() for c in (2, 3, 6, 7)] for r in range(2)]
    assert told == [["0", "Roundup", "−00:03:20", "Skipped"], ["−00:03:20", "Promo", "0", "OK"]]
    assert view.summary.full_text == "2 aired, 1 not as planned · at most 00:03:20 off"
    QTest.mouseClick(view.later, Qt.MouseButton.LeftButton)
    await eventually(lambda: view.model.rowCount() == 0)
    await rows.on_air(id, since=5)
    await eventually(lambda: view.model.rowCount() >= 1, what="what went to air, live")
    assert view.model.index(0, 7).data() == "ON AIR"
    QTest.mouseClick(view.log, Qt.MouseButton.LeftButton)
    assert panel.table.isVisible() and not view.isVisible()
