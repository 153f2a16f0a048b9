"""Paints the heartbeats of a channel: a bar for each answer, a gap with a cross for misses.

Painted by hand, because sixty rectangles cost less than any plot.
"""

from __future__ import annotations

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from gui.channels.beats import SAMPLES, Sample, gaps
from gui.hatch import hatch
from gui.theme import theme

LIMIT_AT = 0.27  # where the dotted line of the limit stands, from the top
LIMIT_MS = 250.0  # what the line means: an answer this slow is worth a look


def height_of(ms: float | None, room: float) -> float:
    """How high a bar stands: up to the line in proportion of the root, so that 10 ms can be seen at all."""
    share = min((max(ms or 0.0, 0.0) / LIMIT_MS) ** 0.5, 1.25)
    return min(room, max(3.0, share * room * (1 - LIMIT_AT)))


def paint_beats(painter: QPainter, rect: QRectF, samples: tuple[Sample, ...], *, old: bool) -> None:
    painter.save()
    painter.setClipRect(rect)
    painter.fillRect(rect, theme.colour("bg0"))
    if old:
        painter.fillRect(rect, hatch(theme.colour("hatch")))
    line = round(rect.top() + rect.height() * LIMIT_AT) + 0.5
    painter.setPen(QPen(theme.colour("line2"), 1, Qt.PenStyle.CustomDashLine))
    pen = painter.pen()
    pen.setDashPattern([2, 3])
    painter.setPen(pen)
    painter.drawLine(QLineF(rect.left(), line, rect.right(), line))
    pitch = rect.width() / SAMPLES
    left = rect.right() - len(samples) * pitch
    for i, sample in enumerate(samples):
        if sample.ms is not None:
            high = height_of(sample.ms, rect.height())
            token = "t1" if sample.ms >= LIMIT_MS else "t3"
            bar = QRectF(left + i * pitch, rect.bottom() - high, max(1.0, pitch - 1), high)
            painter.fillRect(bar, theme.colour(token))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for gap in gaps(samples):
        _paint_gap(painter, rect, left + gap.first * pitch, left + (gap.last + 1) * pitch - 1, gap.many)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    for i, sample in enumerate(samples):
        if sample.failover:
            painter.fillRect(
                QRectF(round(left + i * pitch) - 1, rect.top(), 2, rect.height()), theme.colour("p2")
            )
    painter.restore()


def _paint_gap(painter: QPainter, rect: QRectF, left: float, right: float, many: bool) -> None:
    colour = theme.colour("p2" if many else "t1")
    painter.fillRect(QRectF(left, rect.bottom() - 3, right - left, 3), colour)
    half, width, middle = (4.0, 2.0, 0.36) if many else (2.5, 1.6, 0.62)
    x, y = (left + right) / 2, rect.top() + rect.height() * middle
    painter.setPen(QPen(colour, width))
    painter.drawLine(QLineF(x - half, y - half, x + half, y + half))
    painter.drawLine(QLineF(x + half, y - half, x - half, y + half))
