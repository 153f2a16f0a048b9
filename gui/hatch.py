"""The diagonal hatch that lies over what is old."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QLineF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPixmap

STEP = 12


@lru_cache(maxsize=8)
def _tile(colour: str) -> QPixmap:
    tile = QPixmap(STEP, STEP)
    tile.fill(Qt.GlobalColor.transparent)
    painter = QPainter(tile)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(colour), 1.4))
    for line in (QLineF(-3, 3, 3, -3), QLineF(0, STEP, STEP, 0), QLineF(9, 15, 15, 9)):
        painter.drawLine(line)
    painter.end()
    return tile


def hatch(colour: QColor) -> QBrush:
    return QBrush(_tile(colour.name()))
