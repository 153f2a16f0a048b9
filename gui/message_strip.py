"""One sentence above the status bar: what was refused and why, or what was done. Never a box in the way."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QAccessible, QAccessibleEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui import fonts
from gui.messages import Message
from gui.parts import Button, Label, Surface
from gui.theme import theme

STATUS_HEIGHT = 28
SHOWN_FOR = {True: 10_000, False: 4_000}  # ms, by whether something was refused


class MessageStrip(Surface):
    """Lies over the bottom of the window, so that nothing moves when it comes and goes."""

    def __init__(self, window: QWidget) -> None:
        super().__init__("well", window)
        self._window = window
        self._refused = True
        self.setFixedHeight(36)
        self.text = Label("", fonts.text(13, 500), elide=True)
        self.dismiss = Button("", glyph="close")
        self.dismiss.setAccessibleName("Dismiss the message")
        self.dismiss.setToolTip("Dismiss the message (Esc)")
        self.dismiss.clicked.connect(self.hide)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 0, 4, 0)
        row.setSpacing(12)
        row.addWidget(self.text, 1)
        row.addWidget(self.dismiss)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._expired)
        window.installEventFilter(self)
        theme.changed.connect(self.update)
        self.hide()

    def show_message(self, message: Message) -> None:
        self._refused = message.refused
        self.text.show_text(message.text)
        self.setAccessibleName(message.text)
        self._place()
        self.show()
        self.raise_()
        self._timer.start(SHOWN_FOR[message.refused])
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))

    def _expired(self) -> None:
        if self.underMouse():
            self._timer.start(2_000)
        else:
            self.hide()

    def _place(self) -> None:
        width = min(self._window.width() - 16, max(320, self.text.sizeHint().width() + 76))
        self.setGeometry(8, self._window.height() - STATUS_HEIGHT - 36 - 8, width, 36)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setPen(theme.colour("inv" if self._refused else "line2"))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.fillRect(0, 0, 4, self.height(), theme.colour("inv" if self._refused else "line3"))
        painter.end()
