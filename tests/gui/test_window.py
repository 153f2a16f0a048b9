"""The window: layout saved and put back, everything by keyboard, dialogs that never block."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QDialog, QLineEdit, QWidget

from core.station import Station
from gui.dialogs.about import AboutDialog
from gui.dialogs.palette import CommandPalette, fuzzy
from gui.dialogs.question import Question
from gui.dialogs.settings import SettingsDialog
from gui.dialogs.shortcuts import ShortcutsDialog
from gui.main_window import MainWindow
from gui.parts import Label
from gui.preferences import Preferences
from gui.theme import theme
from tests.gui.shell_fixtures import Eventually, open_room


async def dialog_of(window: MainWindow, kind: type[QDialog], eventually: Eventually) -> QDialog:
    await eventually(lambda: any(d.isVisible() for d in window.findChildren(kind)), what=kind.__name__)
    return next(d for d in window.findChildren(kind) if d.isVisible())


async def test_the_layout_is_saved_and_restored(station: Station, tmp_path: Path) -> None:
    async with open_room(station, tmp_path) as window:
        assert window.room is not None
        area = window.room.panels
        window.resize(1500, 900)
        area.move_panel("stations", "right")
        area.setSizes([500, 900])
        area.float_panel("audit", [40, 50, 700, 400])
        await asyncio.sleep(0.05)
        saved = area.saved()
        window.close()
    async with open_room(station, tmp_path) as window:
        assert window.room is not None
        area = window.room.panels
        assert [p.id for p in area.groups["right"].panels] == ["alarms", "jobs", "measures", "stations"]
        assert [p.id for p in area.groups["left"].panels] == ["as_run", "playlist", "recorders"]
        assert list(area.floats["audit"].geometry().getRect()) == [40, 50, 700, 400]
        assert area.saved()["split"] == saved["split"]
        window.actions_.trigger("window.reset_layout")
        assert [p.id for p in area.groups["left"].panels] == [
            "as_run",
            "playlist",
            "recorders",
            "audit",
            "stations",
        ]
        assert [p.id for p in area.groups["right"].panels] == ["alarms", "jobs", "measures"]
        assert area.floats == {}
        window.close()
    async with open_room(station, tmp_path) as window:
        assert window.room is not None
        assert window.room.panels.floats == {}


async def test_layouts_belong_to_operators(station: Station, tmp_path: Path) -> None:
    one, other = Preferences(tmp_path, "Anna B."), Preferences(tmp_path, "Carl")
    one.layout = {"groups": {"left": ["alarms"]}}
    one.theme = "light"
    one.save()
    assert other.layout == {} and other.theme == "dark"
    assert Preferences(tmp_path, "Anna B.").layout == {"groups": {"left": ["alarms"]}}


@pytest.mark.parametrize(
    "broken", ["not json", "[1]", '{"groups": {"left": ["nonsense"]}, "split": "%%", "floats": {}}']
)
async def test_a_broken_layout_hurts_nobody(station: Station, tmp_path: Path, broken: str) -> None:
    preferences = Preferences(tmp_path, station.identity.operator)
    preferences._set("layout", broken)
    preferences.save()
    async with open_room(station, tmp_path) as window:
        assert window.room is not None
        assert {p.id for g in window.room.panels.groups.values() for p in g.panels} == {
            "as_run",
            "playlist",
            "audit",
            "recorders",
            "stations",
            "alarms",
            "jobs",
            "measures",
        }


async def test_closing_a_floating_panel_puts_it_back(window: MainWindow, eventually: Eventually) -> None:
    assert window.room is not None
    area = window.room.panels
    area.float_panel("alarms")
    assert area.floats["alarms"].isVisible()
    assert area.panels["alarms"].widget.isVisible()
    area.floats["alarms"].close()
    await eventually(lambda: area.group_of("alarms") is area.groups["right"])
    assert area.panels["alarms"].widget.isVisible()


async def test_f1_lists_every_shortcut(window: MainWindow, eventually: Eventually) -> None:
    QTest.keyClick(window, Qt.Key.Key_F1)
    dialog = await dialog_of(window, ShortcutsDialog, eventually)
    words = {label.full_text for label in dialog.findChildren(Label)}
    for action in window.actions_.all():
        if action.shortcut:
            assert action.title in words
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    await eventually(lambda: not window.findChildren(ShortcutsDialog))


async def test_the_palette_runs_a_command_by_keyboard(window: MainWindow, eventually: Eventually) -> None:
    assert window.room is not None
    window.room.panels.reveal("audit")
    QTest.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    palette = await dialog_of(window, CommandPalette, eventually)
    assert isinstance(palette, CommandPalette)
    QTest.keyClicks(palette.search, "gosta")
    assert palette.model.rows[0].title == "Go to Stations"
    QTest.keyClick(palette.search, Qt.Key.Key_Return)
    await eventually(lambda: not window.findChildren(CommandPalette))
    assert window.room.panels.groups["left"].current().id == "stations"  # type: ignore[union-attr]


async def test_what_cannot_work_says_why_in_the_palette(window: MainWindow, eventually: Eventually) -> None:
    window.open_palette()
    palette = await dialog_of(window, CommandPalette, eventually)
    assert isinstance(palette, CommandPalette)
    QTest.keyClicks(palette.search, "acknowledge all open")
    assert "Nothing waits" in palette.model.index(0, 0).data()
    QTest.keyClick(palette.search, Qt.Key.Key_Return)
    assert palette.isVisible()
    QTest.keyClick(palette.search, Qt.Key.Key_Escape)
    QTest.keyClick(palette.search, Qt.Key.Key_Escape)
    await eventually(lambda: not window.findChildren(CommandPalette))


def test_fuzzy_prefers_beginnings_and_neighbours() -> None:
    assert fuzzy("xyz", "Settings") is None
    assert fuzzy("set", "Settings") > fuzzy("set", "Show alarms: shelved then")  # type: ignore[operator]
    assert fuzzy("gs", "Go to Stations") > fuzzy("gs", "Settings")  # type: ignore[operator]


async def test_settings_take_effect_and_stay(
    window: MainWindow, eventually: Eventually, dressed: QApplication
) -> None:
    QTest.keyClick(window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    dialog = await dialog_of(window, SettingsDialog, eventually)
    assert isinstance(dialog, SettingsDialog)
    QTest.mouseClick(dialog.themes.buttons["light"], Qt.MouseButton.LeftButton)
    assert theme.palette.name == "light"
    dialog.sound.setChecked(False)
    assert window.room is not None
    assert not window.room.sound.enabled
    assert window.room.alarms.mute.text() == "Sound off"
    assert (window.preferences.theme, window.preferences.sound) == ("light", False)
    theme.apply(dressed, "dark")
    dialog.reject()


async def test_about_never_shows_the_password(
    station: Station, window: MainWindow, eventually: Eventually
) -> None:
    station.database.url = station.database.url.replace("postgres@", "postgres:secret@")
    window.open_about()
    dialog = await dialog_of(window, AboutDialog, eventually)
    words = " ".join(label.full_text for label in dialog.findChildren(Label))
    assert "secret" not in words
    assert "0.1.0" in words or "Version" in words
    assert "STATION-2" in words
    dialog.reject()


async def test_stop_everything_asks_first(window: MainWindow, eventually: Eventually) -> None:
    asked: list[bool] = []
    window.stop_everything.connect(lambda: asked.append(True))
    flags = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(window, Qt.Key.Key_Q, flags)
    question = await dialog_of(window, Question, eventually)
    QTest.keyClick(question, Qt.Key.Key_Return)
    await eventually(lambda: not window.findChildren(Question))
    assert asked == [], "Enter is the harmless answer"
    window.activateWindow()
    await eventually(window.isActiveWindow)
    QTest.keyClick(window, Qt.Key.Key_Q, flags)
    question = await dialog_of(window, Question, eventually)
    assert isinstance(question, Question)
    QTest.mouseClick(question.yes, Qt.MouseButton.LeftButton)
    assert asked == [True]


async def test_a_dialog_stops_no_other_task(window: MainWindow, eventually: Eventually) -> None:
    turns = 0

    async def work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.005)

    task = asyncio.create_task(work())
    window.open_shortcuts()
    before = turns
    await eventually(lambda: turns > before + 10)
    task.cancel()
    window.findChildren(ShortcutsDialog)[0].reject()


async def test_every_control_has_a_name_and_every_button_a_tooltip(window: MainWindow) -> None:
    controls = [w for w in window.findChildren(QWidget) if isinstance(w, QAbstractButton | QLineEdit)]
    assert not [w for w in controls if w.isVisible() and not w.accessibleName()]
    bare = [
        b.text() or b.accessibleName()
        for b in window.findChildren(QAbstractButton)
        if not b.toolTip() and b.property("segment") is None and type(b).__module__.startswith("gui")
    ]
    assert not bare


async def test_shortcuts_are_not_given_twice(window: MainWindow) -> None:
    keys = [a.shortcut for a in window.actions_.all() if a.shortcut]
    assert len(keys) == len(set(keys))


async def test_typing_is_not_a_shortcut(window: MainWindow, eventually: Eventually) -> None:
    assert window.room is not None
    search = window.room.audit.search
    search.setFocus()
    QTest.keyClicks(search, "amsui")
    assert search.text() == "amsui"
    assert not window.room.sound.muted_for()


async def test_centre_and_right_take_their_places(window: MainWindow, eventually: Eventually) -> None:
    assert window.room is not None
    window.resize(1920, 1080)
    centre, right = QWidget(), QWidget()
    window.room.set_centre(centre)
    window.room.set_right(right)
    await eventually(lambda: right.width() == 420 and right.x() == 1500, what="the right column")
    assert centre.isVisible() and window.room.panels.isVisible()
    assert window.room.panels.height() >= 300
