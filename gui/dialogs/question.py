"""A question with two answers, of which the harmless one is the default."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from gui import fonts
from gui.dialogs.sheet import Sheet
from gui.parts import Button


class Question(Sheet):
    def __init__(self, title: str, text: str, yes: str, window: QWidget) -> None:
        super().__init__(title, window, 480)
        words = QLabel(text)
        words.setFont(fonts.text(13))
        words.setWordWrap(True)
        self.body.addWidget(words)
        self.no = Button("Cancel")
        self.no.setToolTip("Change nothing (Esc)")
        self.no.setDefault(True)
        self.yes = Button(yes)
        self.yes.setToolTip(yes)
        self.yes.setAutoDefault(False)
        self.no.clicked.connect(self.reject)
        self.yes.clicked.connect(self.accept)
        row = QHBoxLayout()
        row.setContentsMargins(0, 8, 0, 0)
        row.setSpacing(8)
        row.addStretch(1)
        row.addWidget(self.yes)
        row.addWidget(self.no)
        self.body.addLayout(row)
        self.no.setFocus()
