"""What the cells of the top bar have in common: a place, two densities, a hatch when their content is old."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from gui.hatch import hatch
from gui.parts import Label, Surface
from gui.theme import theme

HEIGHT = 56


class Cell(Surface):
    """`wide` is its width on a screen of 1920; `least` what it needs there; `narrow` on a screen of 1366."""

    wide = least = narrow = 0
    share = 0  # of the width that is left over

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__("bar", parent, edge="right")
        self.setAccessibleName(name)
        self.dense = False
        self.old = False

    def set_dense(self, dense: bool) -> None:
        if dense != self.dense:
            self.dense = dense
            self.arrange()

    def set_old(self, old: bool) -> None:
        if old != self.old:
            self.old = old
            self.update()

    def arrange(self) -> None:
        """Puts the parts where they belong, for the present size and density."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.arrange()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.old:
            painter = QPainter(self)
            painter.fillRect(self.rect().adjusted(0, 0, -1, -1), hatch(theme.colour("hatch")))
            painter.end()


def line(
    parent: QWidget, font: QFont, tone: str = "", *, elide: bool = False, right: bool = False, text: str = ""
) -> Label:
    label = Label(text, font, tone, parent, elide=elide)
    side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
    label.setAlignment(side | Qt.AlignmentFlag.AlignVCenter)
    return label


def longest(label: Label, room: int, *forms: str) -> str:
    """The first of the forms that fits, from the fullest to the shortest."""
    width = QFontMetricsF(label.font()).horizontalAdvance
    return next((form for form in forms if width(form) + 2 <= room), forms[-1])


def put(label: Label, x: int, y: int, height: int, width: int | None = None) -> int:
    """Places a line of text and returns where it ends. Without a width it gets what its text needs."""
    wanted = label.fontMetrics().horizontalAdvance(label.full_text) + 2 if width is None else max(0, width)
    label.setGeometry(x, y, wanted, height)
    return x + wanted
