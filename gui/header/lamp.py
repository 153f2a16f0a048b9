"""The alarm lamp: the worst priority as a shape, how many wait for somebody, and the button for it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from core.alarms.rules import Summary, summarise
from gui import fonts
from gui.actions import Actions
from gui.glyphs import paint_glyph, paint_priority
from gui.header.cell import Cell, line, put
from gui.parts import Button, styled
from gui.session import Session


class LampCell(Cell):
    wide, least, narrow = 252, 252, 196
    clicked = Signal()

    def __init__(self, session: Session, actions: Actions, parent: QWidget) -> None:
        super().__init__("Alarms", parent)
        self._session = session
        self.summary = Summary(0, 0, 0, None)
        self._shape = QRectF(12, 10, 36, 36)
        self.number = line(self, fonts.display(32, 600), text="0")
        self.word = line(self, fonts.text(12, 600), text="UNACK")
        self.active = line(self, fonts.figures(12), "second")
        self.button = Button("Acknowledge", self, height=36)
        actions.bind(self.button, "alarms.acknowledge_open")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        session.alarms_changed.connect(self.refresh)
        session.ticker.flash.connect(self._flash)
        session.ticker.second.connect(self.refresh)  # a shelf may have run out
        self.refresh()

    def refresh(self) -> None:
        summary = summarise(self._session.alarms(), self._session.now())
        if summary == self.summary and self.active.full_text:
            return
        self.summary = summary
        self.number.show_text(str(summary.unacked) if summary.unacked < 100 else "99+")
        self.active.show_text(f"{summary.active if summary.active < 1000 else '999+'} active")
        styled(self.button, priority=str(int(summary.worst)) if summary.worst and summary.unacked else "")
        self.setAccessibleDescription(f"{summary.unacked} unacknowledged, {summary.active} active")
        self.arrange()
        self.update()

    def arrange(self) -> None:
        digits = len(self.number.full_text)
        sizes = (28, 24, 18) if self.dense else (32, 28, 18)
        self.number.setFont(fonts.display(sizes[digits - 1], 600))
        # With many alarms the numbers need the room that is otherwise left free.
        many = digits > 1 or self.summary.active > 9
        width = (50 if many else 56) if self.dense else (96 if many else 104)
        short = self.dense or digits > 2
        width = min(width, 56) if short else width
        self.button.show_text("Ack" if short else "Acknowledge")
        self.button.setFixedWidth(width)
        self.button.move(self.width() - width - (6 if self.dense else 8 if many else 12), 10)
        size = (26 if many else 30) if self.dense else (32 if many else 36)
        left = 6 if self.dense else 10 if many else 12
        self._shape = QRectF(left, 28 - size / 2, size, size)
        end = put(self.number, left + size + (12 if not self.dense and not many else 4), 10, 36)
        put(self.word, end + 2, 10, 16)
        put(self.active, end + 2, 29, 16)

    def _flash(self, _lit: bool) -> None:
        if self.summary.unacked:
            self.update(0, 0, 56, 56)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self.clicked.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        area = self._shape
        if self.summary.worst is None:
            paint_glyph(painter, "tick", area.adjusted(8, 8, -8, -8), "t3")
        else:
            filled = self.summary.unacked > 0 and self._session.ticker.lit
            paint_priority(painter, int(self.summary.worst), area, filled=filled)
        painter.end()
