"""Buttons of the recorders: with a mark before the text, a guarded edge, or the second step of a guard."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPushButton, QStyle, QStyleOptionButton, QStylePainter, QWidget

from gui import fonts
from gui.parts import Button
from gui.recorders.marks import paint_mark
from gui.theme import theme

EDGE = 6  # px of hatch on a guarded button


def hatch_edge(painter: QPainter, rect: QRectF, token: str) -> None:
    """The diagonal strokes at the edge of what needs two steps."""
    painter.save()
    painter.setClipRect(rect)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.colour(token), 1.6))
    y = rect.top() - rect.width()
    while y < rect.bottom() + rect.width():
        painter.drawLine(QLineF(rect.left() - 1, y + rect.width() + 1, rect.right() + 1, y - 1))
        y += 5
    painter.restore()


class MarkButton(Button):
    def __init__(
        self,
        text: str,
        mark: str = "",
        parent: QWidget | None = None,
        *,
        guarded: bool = False,
        key: str = "",
    ) -> None:
        super().__init__(text, parent, key=key)
        self._mark = mark
        self._guarded = guarded

    def show_mark(self, text: str, mark: str, guarded: bool) -> None:
        if (text, mark, guarded) != (self.text(), self._mark, self._guarded):
            self._mark, self._guarded = mark, guarded
            self.setText(text)
            self.setAccessibleName(text)
            self.update()

    def _content_width(self) -> int:
        width = super()._content_width()
        if self._mark:
            width += 12 + (8 if self.text() else 0)
        return width + (EDGE if self._guarded else 0)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QStylePainter(self)
        option = QStyleOptionButton()
        self.initStyleOption(option)
        option.text = ""
        painter.drawControl(QStyle.ControlElement.CE_PushButton, option)
        middle = self.height() / 2
        if self._guarded:
            strip = QRectF(1, 1, EDGE, self.height() - 2)
            painter.fillRect(strip, theme.colour("bg1"))
            hatch_edge(painter, strip, "line3" if self.isEnabled() else "line2")
        x = (self.width() - self._content_width()) / 2 + (EDGE if self._guarded else 0)
        if self._mark:
            paint_mark(painter, self._mark, QRectF(round(x), round(middle - 6), 12, 12), self._ink())
            x += 20
        painter.setFont(self.font())
        painter.setPen(theme.colour(self._ink()))
        width = self.fontMetrics().horizontalAdvance(self.text())
        painter.drawText(QRectF(x, 0, width + 2, self.height()), Qt.AlignmentFlag.AlignVCenter, self.text())
        if self._key:
            cap = QRectF(round(x + width + 8) + 0.5, round(middle - 9) + 0.5, self._key_width() - 1, 17)
            painter.setPen(theme.colour("line2" if self.isEnabled() else "line"))
            painter.drawRect(cap)
            painter.setFont(fonts.text(12, 500))
            painter.setPen(theme.colour("t2" if self.isEnabled() else "dis"))
            painter.drawText(cap, Qt.AlignmentFlag.AlignCenter, self._key)
        painter.end()


class ConfirmButton(QPushButton):
    """The second step: white, hatched at the left, and a bar that drains while there is time."""

    WIDTH = 196

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFont(fonts.text(13, 700))
        self.setFixedSize(self.WIDTH, 28)
        self.setProperty("inverse", "true")
        self.show_text("Confirm")
        self._left = 1.0

    def show_text(self, text: str) -> None:
        self.setText(text)
        self.setAccessibleName(text)
        self.setToolTip(f"{text} (Ctrl+Enter)")

    def drain(self, left: float) -> None:
        """How much of the time is left, from 1 to 0."""
        if round(left * self.width()) != round(self._left * self.width()):
            self._left = left
            self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.colour("inv"))
        hatch_edge(painter, QRectF(0, 0, 12, self.height()), "line3")
        painter.setFont(self.font())
        painter.setPen(theme.colour("on_inv"))
        room = QRectF(14, 0, self.width() - 16, self.height() - 3)
        if self.fontMetrics().horizontalAdvance(self.text()) > room.width():
            painter.setFont(fonts.text(12, 600))  # a long name is read whole rather than cut
        text = painter.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, Qt.AlignmentFlag.AlignCenter, text)
        painter.fillRect(QRectF(0, self.height() - 4, self.width() * self._left, 4), theme.colour("line3"))
        if self.hasFocus():
            painter.setPen(QPen(theme.colour("sel"), 2))
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        painter.end()
