"""What windows are painted with: each status has an outline, pattern and mark of its own, so that none needs its
colour. Their collisions."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPixmap

from gui.hatch import STEP
from gui.theme import theme
from gui.timeline import texts

FILL = {
    "pending": "bg2", "ready": "bg2", "held": "bg2", "starting": "bg2", "running": "live_rest",
    "stopping": "live_rest", "completed": "done", "cancelled": "done", "failed": "bg0",
}  # fmt: skip
EDGE = {
    "pending": "plan_edge", "ready": "plan_edge", "held": "plan_edge", "starting": "plan_edge",
    "running": "live_edge", "stopping": "live_edge", "completed": "done_edge", "cancelled": "done_edge",
    "failed": "line3", "missed": "line3",
}  # fmt: skip
INK = {"completed": "t3", "cancelled": "t3", "missed": "t2"}


@lru_cache(maxsize=8)
def _cross_tile(colour: str) -> QPixmap:
    tile = QPixmap(8, 8)
    tile.fill(Qt.GlobalColor.transparent)
    painter = QPainter(tile)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(colour), 1))
    painter.drawLine(QLineF(0, 8, 8, 0))
    painter.drawLine(QLineF(0, 0, 8, 8))
    painter.end()
    return tile


@lru_cache(maxsize=8)
def _stripes(colour: str, ground: str) -> QPixmap:
    tile = QPixmap(STEP, STEP)
    tile.fill(QColor(ground))
    painter = QPainter(tile)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(colour), 5))
    for line in (QLineF(-3, 3, 3, -3), QLineF(-1, STEP + 1, STEP + 1, -1), QLineF(9, 15, 15, 9)):
        painter.drawLine(line)
    painter.end()
    return tile


def cross_hatch() -> QBrush:
    return QBrush(_cross_tile(theme.colour("line3").name()))


def conflict_hatch() -> QBrush:
    return QBrush(_stripes(theme.colour("p2").name(), theme.colour("well").name()))


def paint_conflict(painter: QPainter, rect: QRectF, words: str) -> None:
    """The overlap, hatched in amber, with its length on a solid plate."""
    painter.fillRect(rect, conflict_hatch())
    painter.setPen(theme.colour("p2"))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))
    wide = texts.width(words, "bold")
    if wide + 16 <= rect.width():
        plate = QRectF(round(rect.center().x() - wide / 2 - 8), rect.center().y() - 10, wide + 16, 20)
        painter.fillRect(plate, theme.colour("p2"))
        painter.setPen(theme.colour("on_p"))
        texts.draw(painter, plate.left() + 8, plate.top(), plate.height(), words, "bold")


def paint_conflict_mark(painter: QPainter, rect: QRectF, token: str = "p2") -> None:
    """Two squares, one over the other."""
    painter.save()
    painter.translate(rect.topLeft())
    painter.scale(rect.width() / 12, rect.height() / 12)
    painter.setPen(QPen(theme.colour(token), 1.4))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(QRectF(1, 1, 6.5, 6.5))
    painter.setBrush(theme.colour(token))
    painter.drawRect(QRectF(4.5, 4.5, 6.5, 6.5))
    painter.restore()
