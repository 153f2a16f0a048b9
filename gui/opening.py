"""What the window shows before the plant is open: which step it is at, or why it cannot go on."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QVBoxLayout, QWidget

from gui import fonts
from gui.parts import Button, Label, Surface

OPENING = "Opening the plant…"


class OpeningPage(Surface):
    retry = Signal()
    leave = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("panel", parent)
        self.setAccessibleName("Opening the plant")
        self.title = Label(OPENING, fonts.text(15, 600))
        self.words = QLabel("")
        self.words.setFont(fonts.text(13))
        self.words.setProperty("tone", "second")
        self.words.setWordWrap(True)
        self.words.setMinimumHeight(64)
        self.words.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.bar = QProgressBar()
        self.bar.setRange(0, 0)
        self.bar.setTextVisible(False)
        self.try_again = Button("Try again")
        self.try_again.setToolTip("Try to open the plant again (Enter)")
        self.try_again.clicked.connect(self.retry)
        self.close_button = Button("Close")
        self.close_button.setToolTip("Close Airlock (Ctrl+Q)")
        self.close_button.clicked.connect(self.leave)
        block = QVBoxLayout()
        block.setSpacing(12)
        block.addWidget(Label("AIRLOCK", fonts.text(20, 700, 2.4)))
        block.addWidget(self.title)
        block.addWidget(self.bar)
        block.addWidget(self.words)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.try_again)
        buttons.addWidget(self.close_button)
        buttons.addStretch(1)
        block.addLayout(buttons)
        middle = QWidget()
        middle.setFixedWidth(520)
        middle.setLayout(block)
        outer = QVBoxLayout(self)
        outer.addStretch(2)
        outer.addWidget(middle, 0, Qt.AlignmentFlag.AlignHCenter)
        outer.addStretch(3)
        self.progress("")

    def progress(self, sentence: str) -> None:
        self.title.show_text(OPENING)
        self.words.setText(sentence)
        self.bar.show()
        self.try_again.hide()
        self.close_button.hide()

    def fail(self, sentence: str) -> None:
        self.title.show_text("The plant cannot be opened")
        self.words.setText(sentence)
        self.bar.hide()
        self.try_again.show()
        self.close_button.show()
        self.try_again.setFocus()
