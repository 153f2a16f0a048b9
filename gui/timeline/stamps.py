"""Marks as small pictures, made once a colour: a frame has hundreds of them, and each is a few strokes."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPixmap

from gui.glyphs import paint_priority
from gui.recorders.marks import paint_mark
from gui.theme import theme


def stamp(painter: QPainter, name: str, x: float, y: float, token: str, size: int = 12) -> None:
    """A mark at a point, sharp on every screen."""
    ratio = painter.device().devicePixelRatioF()
    painter.drawPixmap(QPointF(x, y), _mark(name, token, size, ratio, theme.palette.name))


def stamp_priority(
    painter: QPainter, priority: int, x: float, y: float, filled: bool, size: int = 14
) -> None:
    ratio = painter.device().devicePixelRatioF()
    painter.drawPixmap(QPointF(x, y), _priority(priority, filled, size, ratio, theme.palette.name))


def _blank(size: int, ratio: float) -> QPixmap:
    made = QPixmap(round(size * ratio), round(size * ratio))
    made.setDevicePixelRatio(ratio)
    made.fill(Qt.GlobalColor.transparent)
    return made


@lru_cache(maxsize=256)
def _mark(name: str, token: str, size: int, ratio: float, _theme: str) -> QPixmap:
    made = _blank(size, ratio)
    painter = QPainter(made)
    paint_mark(painter, name, QRectF(0, 0, size, size), token)
    painter.end()
    return made


@lru_cache(maxsize=64)
def _priority(priority: int, filled: bool, size: int, ratio: float, _theme: str) -> QPixmap:
    made = _blank(size, ratio)
    painter = QPainter(made)
    paint_priority(painter, priority, QRectF(0, 0, size, size), filled=filled)
    painter.end()
    return made
