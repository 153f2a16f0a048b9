"""Ctrl+K: type a few letters of what is wanted, Enter does it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui.actions import Action, Actions
from gui.dialogs.sheet import Sheet
from gui.parts import SearchField
from gui.table import Cell, Column, Rows, Table

ROWS = 10


def fuzzy(wanted: str, text: str) -> float | None:
    """How well the letters of `wanted` are found in this order in `text`; None when they are not.

    Letters at the beginning of words and next to each other count more.
    """
    wanted, low = wanted.lower().replace(" ", ""), text.lower()
    at, score, previous = 0, 0.0, -2
    for letter in wanted:
        starts = [i for i in range(at, len(low)) if low[i] == letter and (i == 0 or not low[i - 1].isalnum())]
        if previous + 1 < len(low) and low[previous + 1 : previous + 2] == letter and previous >= 0:
            found, gain = previous + 1, 3.0
        elif starts:
            found, gain = starts[0], 2.0
        else:
            found, gain = low.find(letter, at), 0.5
        if found < 0:
            return None
        score += gain
        at, previous = found + 1, found
    return score - len(text) * 0.01


class CommandPalette(Sheet):
    def __init__(self, actions: Actions, window: QWidget) -> None:
        super().__init__("Commands", window, 640)
        self._actions = actions
        self.body.setContentsMargins(0, 8, 0, 0)
        self.search = SearchField("Type a command")
        self.model = Rows(
            [
                Column("Command", 260, self._title, share=1),
                Column("Where", 90, lambda a: Cell(a.where, "t2")),
                Column("Keys", 110, lambda a: Cell(a.keys, "t2"), right=True),
            ],
            lambda action: action.id,
            lambda action: action.reason or action.about,
            self,
        )
        self.table = Table(self.model, "Commands found", "No command is called that.")
        self.table.setFixedHeight(24 + ROWS * 28)
        self.table.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        row = QHBoxLayout()
        row.setContentsMargins(8, 0, 8, 0)
        row.addWidget(self.search)
        self.body.addLayout(row)
        self.body.addWidget(self.table)
        self.search.textChanged.connect(self._filter)
        self.search.installEventFilter(self)
        self.table.clicked.connect(lambda index: self._run(self.model.rows[index.row()]))
        self._filter("")
        self.search.setFocus()

    @staticmethod
    def _title(action: Action) -> Cell:
        if action.reason is None:
            return Cell(action.title)
        return Cell(f"{action.title}: {action.reason}", "dis")

    def _filter(self, text: str) -> None:
        found: list[tuple[float, Action]] = []
        for action in (a for a in self._actions.all() if a.id != "window.palette"):
            score = fuzzy(text, action.title)
            if score is None and (by_place := fuzzy(text, f"{action.where} {action.title}")) is not None:
                score = by_place - 1
            if score is not None:
                found.append((score if text else 0.0, action))
        # What works now stands above what does not; otherwise the order of the registry.
        found.sort(key=lambda f: (-f[0], f[1].reason is not None))
        self.model.show([action for _, action in found])
        if found:
            self.table.choose(0)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.search and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = {
                Qt.Key.Key_Down: 1,
                Qt.Key.Key_Up: -1,
                Qt.Key.Key_PageDown: ROWS,
                Qt.Key.Key_PageUp: -ROWS,
            }
            key = Qt.Key(event.key())
            if key in step and self.model.rows:
                row = self.table.currentIndex().row() + step[key]
                self.table.choose(min(max(row, 0), len(self.model.rows) - 1))
                return True
            if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                chosen = self.table.chosen_row()
                if isinstance(chosen, Action):
                    self._run(chosen)
                return True
        return super().eventFilter(watched, event)

    def _run(self, action: Action) -> None:
        if action.reason is None:
            self.accept()
            self._actions.trigger(action.id)
