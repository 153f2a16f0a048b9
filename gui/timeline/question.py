"""Asks what an edit of a repeating window applies to: this one, this and following, or all."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from gui import fonts
from gui.dialogs.sheet import Sheet
from gui.parts import Button
from gui.recorders.orders import ALL, FOLLOWING, THIS

ANSWERS = {
    THIS: ("This one", "Change this occurrence alone (1)"),
    FOLLOWING: ("This and following", "Change this occurrence and all later ones (2)"),
    ALL: ("All", "Change the whole series (3)"),
}


class SeriesQuestion(Sheet):
    answered = Signal(str)

    def __init__(self, title: str, text: str, why_not_all: str, window: QWidget) -> None:
        super().__init__(title, window, 520)
        words = QLabel(text)
        words.setFont(fonts.text(13))
        words.setWordWrap(True)
        self.body.addWidget(words)
        row = QHBoxLayout()
        row.setContentsMargins(0, 8, 0, 0)
        row.setSpacing(8)
        self.buttons: dict[str, Button] = {}
        for number, (scope, (name, tip)) in enumerate(ANSWERS.items(), 1):
            button = Button(name, key=str(number))
            refused = bool(why_not_all) and scope != THIS
            button.setToolTip(f"{tip}\n{why_not_all}" if refused else tip)
            button.setEnabled(not refused)
            button.setShortcut(str(number))
            button.clicked.connect(lambda _=False, scope=scope: self._answer(scope))
            row.addWidget(button)
            self.buttons[scope] = button
        row.addStretch(1)
        self.no = Button("Put back", key="Esc")
        self.no.setToolTip("Change nothing (Esc)")
        self.no.clicked.connect(self.reject)
        row.addWidget(self.no)
        self.body.addLayout(row)
        self.buttons[THIS].setDefault(True)
        self.buttons[THIS].setFocus()

    def _answer(self, scope: str) -> None:
        self.answered.emit(scope)
        self.accept()
