"""The frame of every dialog: a title of 36 px, Esc closes. Opened with `open`, never `exec`."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from gui import fonts
from gui.parts import Button, Label, Surface


class Sheet(QDialog):
    def __init__(self, title: str, window: QWidget, width: int) -> None:
        super().__init__(window, Qt.WindowType.Dialog | Qt.WindowType.FramelessWindowHint)
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        self.setProperty("surface", "dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFixedWidth(width)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(1, 1, 1, 1)
        outer.setSpacing(0)
        bar = Surface("bar", edge="bottom")
        bar.setFixedHeight(36)
        row = QHBoxLayout(bar)
        row.setContentsMargins(16, 0, 4, 0)
        row.addWidget(Label(title, fonts.text(13, 600)), 1)
        self.close_button = Button("", glyph="close")
        self.close_button.setAccessibleName("Close")
        self.close_button.setToolTip("Close (Esc)")
        self.close_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.close_button.setAutoDefault(False)
        self.close_button.clicked.connect(self.reject)
        row.addWidget(self.close_button)
        outer.addWidget(bar)
        self.body = QVBoxLayout()
        self.body.setContentsMargins(16, 12, 16, 16)
        self.body.setSpacing(8)
        outer.addLayout(self.body)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        window = self.parentWidget()
        layout = self.layout()
        assert layout is not None
        # Wrapped text makes the height depend on the width, which adjustSize does not look at.
        self.setFixedHeight(
            layout.heightForWidth(self.width()) if layout.hasHeightForWidth() else self.sizeHint().height()
        )
        if window is not None:
            centre = window.mapToGlobal(window.rect().center())
            self.move(centre.x() - self.width() // 2, max(0, centre.y() - self.height() // 2))
