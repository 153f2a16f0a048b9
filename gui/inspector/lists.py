"""Small lists of the inspector: painted rows of 24 px, no more of them than there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui import fonts
from gui.recorders.marks import paint_mark
from gui.theme import theme
from gui.timeline.paint_bars import paint_conflict_mark

ROW = 24


@dataclass(frozen=True, slots=True)
class Line:
    cells: tuple[str, ...]
    mark: str = ""  # before the last cell: a mark, or conflict
    tone: str = "t1"


class Lines(QWidget):
    """A heading and lines under it, in columns of fixed width; the last takes the rest."""

    def __init__(self, name: str, heads: Sequence[str], widths: Sequence[int]) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._heads, self._widths = tuple(heads), tuple(widths)
        self.lines: list[Line] = []
        theme.changed.connect(self.update)

    def show_lines(self, lines: Sequence[Line]) -> None:
        if list(lines) != self.lines:
            self.lines = list(lines)
            self.setAccessibleDescription("; ".join(" ".join(line.cells) for line in lines))
            self.setToolTip("\n".join("  ".join(line.cells) for line in lines))
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, ROW * (len(self.lines) + 1))

    def minimumSizeHint(self) -> QSize:
        return QSize(100, self.sizeHint().height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), ROW, theme.colour("bg2"))
        self._row(painter, 0, self._heads, "t2", "")
        for number, line in enumerate(self.lines, 1):
            painter.fillRect(0, (number + 1) * ROW - 1, self.width(), 1, theme.colour("row"))
            self._row(painter, number * ROW, line.cells, line.tone, line.mark)
        painter.end()

    def _row(self, painter: QPainter, top: int, cells: Sequence[str], tone: str, mark: str) -> None:
        font = fonts.figures(12, 600 if tone == "p2" else 400)
        metrics = QFontMetrics(font)
        painter.setFont(font)
        x = 12
        for number, cell in enumerate(cells):
            last = number == len(cells) - 1
            wide = self.width() - x - 12 if last else self._widths[number]
            if last and mark:
                box = QRectF(x, top + 6, 12, 12)
                if mark == "conflict":
                    paint_conflict_mark(painter, box)
                else:
                    paint_mark(painter, mark, box, "t2")
                x, wide = x + 18, wide - 18
            painter.setPen(theme.colour(tone))
            words = metrics.elidedText(cell, Qt.TextElideMode.ElideRight, wide - 4)
            painter.drawText(QRectF(x, top, wide, ROW), Qt.AlignmentFlag.AlignVCenter, words)
            x += wide
