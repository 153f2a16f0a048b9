"""The marks of recorders and windows: each status has a shape of its own, so that none needs its colour."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF

from gui.theme import theme

MARKS = frozenset(
    {
        "idle", "ready", "recording", "offline", "missed", "failed", "completed", "cancelled", "held", "repeat",
        "start", "stop", "plus", "more", "cross", "swap", "skip", "undo", "redo",
    }
)  # fmt: skip


def tint(ground: str, token: str, share: float) -> QColor:
    """A ground with a share of a colour in it, such as the dim red of what is recorded already."""
    one, other = theme.colour(ground), theme.colour(token)
    parts = ((one.red(), other.red()), (one.green(), other.green()), (one.blue(), other.blue()))
    return QColor(*(round(a + (b - a) * share) for a, b in parts))


def paint_mark(painter: QPainter, name: str, rect: QRectF, token: str) -> None:
    """Paints a mark of a 12 × 12 grid into a rectangle."""
    colour = theme.colour(token)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(rect.topLeft())
    painter.scale(rect.width() / 12, rect.height() / 12)
    painter.setPen(QPen(colour, 1.5))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    _PAINT[name](painter, colour)
    painter.restore()


_RING = QRectF(1.75, 1.75, 8.5, 8.5)


def _idle(painter: QPainter, _colour: QColor) -> None:
    painter.drawEllipse(_RING)


def _ready(painter: QPainter, colour: QColor) -> None:
    painter.drawEllipse(_RING)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawPie(_RING, 90 * 16, 180 * 16)


def _recording(painter: QPainter, colour: QColor) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawEllipse(QRectF(1, 1, 10, 10))


def _offline(painter: QPainter, _colour: QColor) -> None:
    painter.drawEllipse(_RING)
    painter.drawLine(QLineF(3, 3, 9, 9))
    painter.drawLine(QLineF(9, 3, 3, 9))


def _missed(painter: QPainter, _colour: QColor) -> None:
    painter.drawEllipse(_RING)
    painter.drawLine(QLineF(2.6, 9.4, 9.4, 2.6))


def _cancelled(painter: QPainter, _colour: QColor) -> None:
    painter.drawEllipse(_RING)
    painter.drawLine(QLineF(3.5, 6, 8.5, 6))


def _failed(painter: QPainter, colour: QColor) -> None:
    painter.setPen(QPen(colour, 2))
    painter.drawLine(QLineF(2, 2, 10, 10))
    painter.drawLine(QLineF(10, 2, 2, 10))


def _cross(painter: QPainter, _colour: QColor) -> None:
    painter.drawLine(QLineF(2.5, 2.5, 9.5, 9.5))
    painter.drawLine(QLineF(9.5, 2.5, 2.5, 9.5))


def _completed(painter: QPainter, colour: QColor) -> None:
    painter.setPen(QPen(colour, 1.8))
    painter.drawPolyline(QPolygonF([QPointF(1.8, 6.4), QPointF(4.8, 9.4), QPointF(10.4, 3)]))


def _held(painter: QPainter, colour: QColor) -> None:
    painter.setPen(QPen(colour, 2.2, c=Qt.PenCapStyle.FlatCap))
    painter.drawLine(QLineF(4, 2, 4, 10))
    painter.drawLine(QLineF(8, 2, 8, 10))


def _repeat(painter: QPainter, colour: QColor) -> None:
    painter.setPen(QPen(colour, 1.4, c=Qt.PenCapStyle.FlatCap))
    painter.drawArc(QRectF(2, 2, 8, 8), 40 * 16, 280 * 16)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawPolygon(QPolygonF([QPointF(10.9, 0.6), QPointF(10.9, 4.6), QPointF(6.9, 4.6)]))


def _start(painter: QPainter, colour: QColor) -> None:
    path = QPainterPath(QPointF(2.5, 1.2))
    path.lineTo(10.5, 6)
    path.lineTo(2.5, 10.8)
    path.closeSubpath()
    painter.fillPath(path, colour)


def _stop(painter: QPainter, colour: QColor) -> None:
    painter.fillRect(QRectF(2, 2, 8, 8), colour)


def _plus(painter: QPainter, colour: QColor) -> None:
    painter.setPen(QPen(colour, 1.6, c=Qt.PenCapStyle.FlatCap))
    painter.drawLine(QLineF(6, 1, 6, 11))
    painter.drawLine(QLineF(1, 6, 11, 6))


def _more(painter: QPainter, _colour: QColor) -> None:
    painter.drawPolyline(QPolygonF([QPointF(2.5, 4.2), QPointF(6, 8), QPointF(9.5, 4.2)]))


def _swap(painter: QPainter, colour: QColor) -> None:
    painter.setPen(QPen(colour, 1.4, c=Qt.PenCapStyle.FlatCap))
    painter.drawLine(QLineF(1, 3.8, 10, 3.8))
    painter.drawLine(QLineF(2, 8.2, 11, 8.2))
    painter.drawPolyline(QPolygonF([QPointF(7.6, 1.3), QPointF(10.4, 3.8), QPointF(7.6, 6.2)]))
    painter.drawPolyline(QPolygonF([QPointF(4.4, 5.8), QPointF(1.6, 8.2), QPointF(4.4, 10.7)]))


def _skip(painter: QPainter, colour: QColor) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    for left in (1.0, 5.0):
        painter.drawPolygon(QPolygonF([QPointF(left, 2), QPointF(left + 4.2, 6), QPointF(left, 10)]))
    painter.drawRect(QRectF(9.4, 2, 1.6, 8))


def _undo(painter: QPainter, _colour: QColor) -> None:
    painter.drawArc(QRectF(2, 3.5, 8, 7), -60 * 16, 210 * 16)
    painter.drawPolyline(QPolygonF([QPointF(1.6, 2.4), QPointF(2.2, 6.2), QPointF(5.8, 5.4)]))


def _redo(painter: QPainter, colour: QColor) -> None:
    painter.translate(12, 0)
    painter.scale(-1, 1)
    _undo(painter, colour)


_PAINT = {
    "idle": _idle, "ready": _ready, "recording": _recording, "offline": _offline, "missed": _missed,
    "failed": _failed, "completed": _completed, "cancelled": _cancelled, "held": _held, "repeat": _repeat,
    "start": _start, "stop": _stop, "plus": _plus, "more": _more, "cross": _cross,
    "swap": _swap, "skip": _skip, "undo": _undo, "redo": _redo,
}  # fmt: skip
