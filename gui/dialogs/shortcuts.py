"""F1: every key, by where it works."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from gui import fonts
from gui.actions import Actions, shown
from gui.dialogs.sheet import Sheet
from gui.parts import Chip, Label

# Keys that belong to a control and not to an action.
ALWAYS = {
    "Lists": (
        ("Up", "Select the row above"),
        ("Down", "Select the row below"),
        ("Return", "Go to what the row is about"),
        ("Esc", "Close, cancel, empty the filter"),
    ),
}


class ShortcutsDialog(Sheet):
    def __init__(self, actions: Actions, window: QWidget) -> None:
        super().__init__("Keyboard shortcuts", window, 760)
        groups: dict[str, list[tuple[str, str]]] = {}
        for action in actions.all():
            if action.shortcut:
                groups.setdefault(action.where, []).append((action.keys, action.title))
        for where, keys in ALWAYS.items():
            groups.setdefault(where, []).extend((shown(key), words) for key, words in keys)
        columns = QHBoxLayout()
        columns.setSpacing(32)
        self.body.addLayout(columns)
        sides = [QVBoxLayout(), QVBoxLayout()]
        heights = [0, 0]
        for side in sides:
            side.setSpacing(8)
            columns.addLayout(side, 1)
        for where, rows in sorted(groups.items(), key=lambda g: -len(g[1])):
            shorter = heights.index(min(heights))
            sides[shorter].addWidget(Label(where, fonts.text(12, 600), "second"))
            sides[shorter].addLayout(self._rows(rows))
            heights[shorter] += len(rows) + 2
        for side in sides:
            side.addStretch(1)

    @staticmethod
    def _rows(rows: list[tuple[str, str]]) -> QGridLayout:
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 12)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(6)
        grid.setColumnMinimumWidth(0, 104)
        grid.setColumnStretch(1, 1)
        for number, (keys, words) in enumerate(rows):
            grid.addWidget(Chip(keys, "key"), number, 0, Qt.AlignmentFlag.AlignLeft)
            grid.addWidget(Label(words, fonts.text(13)), number, 1)
        return grid
