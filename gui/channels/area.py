"""Where the tiles lie: a column that scrolls, and the arrow keys between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QScrollArea

from gui import fonts
from gui.parts import Surface
from gui.theme import theme

if TYPE_CHECKING:
    from gui.channels.wall import ChannelWall

EMPTY = (
    "There are no channels yet. Enter one into the table playout_channels: a name, an output and its address. "
    "Then give it a playlist here and press Start."
)


class _Ground(Surface):
    def __init__(self) -> None:
        super().__init__("gap")
        self.empty = False

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.empty:
            painter = QPainter(self)
            painter.fillRect(self.rect(), theme.colour("bg1"))
            painter.setFont(fonts.text(13))
            painter.setPen(theme.colour("t2"))
            flags = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
            painter.drawText(QRectF(self.rect()).adjusted(12, 12, -12, -12), int(flags), EMPTY)
            painter.end()


class Tiles(QScrollArea):
    """The tiles under each other, with the keyboard between them."""

    def __init__(self, wall: ChannelWall) -> None:
        super().__init__()
        self._wall = wall
        self.setAccessibleName("Channels")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.ground = _Ground()
        self.setWidget(self.ground)
        self.verticalScrollBar().setSingleStep(60)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._wall.place()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._wall.show_selection()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._wall.show_selection()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        ends = {Qt.Key.Key_Home: -(10**6), Qt.Key.Key_End: 10**6}
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, **ends}.get(Qt.Key(event.key()))
        if step is None:
            event.ignore()
            return
        self._wall.move_selection(step)
