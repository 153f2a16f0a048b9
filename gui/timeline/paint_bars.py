"""Paints windows: each status with an outline, pattern and mark of its own, so that none needs its colour."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPixmap

from gui.glyphs import paint_priority
from gui.hatch import STEP
from gui.recorders.marks import paint_mark
from gui.theme import theme
from gui.timeline import texts
from gui.timeline.looks import BarLook

LINE = 16  # px of each of the two lines
SMALLEST_TEXT = 40  # px of width from which a bar says anything
SLIVER = 5.0  # px below which a bar is only a rectangle

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


def paint_bar(painter: QPainter, rect: QRectF, look: BarLook, now_x: float, left: float, lit: bool) -> None:
    """A window of at least five pixels. `left` is where the lanes begin: text never hides behind the headers."""
    kind = look.kind
    box = rect.adjusted(0.5, 0.5, -0.5, -0.5)
    edge = theme.colour("p2" if look.priority else EDGE[kind])
    painter.setPen(QPen(edge, 1, Qt.PenStyle.DashLine if kind == "missed" else Qt.PenStyle.SolidLine))
    painter.setBrush(theme.colour(FILL[kind]) if kind in FILL else Qt.BrushStyle.NoBrush)
    painter.drawRect(box)
    if kind == "failed":
        painter.fillRect(box, cross_hatch())
    text_left = max(rect.left(), left) + 8
    if kind in ("running", "stopping"):
        _progress(painter, rect, now_x)
        text_left = max(rect.left() + 4, left) + 8
    elif kind == "held":
        painter.fillRect(QRectF(rect.left(), rect.top(), 4, rect.height()), theme.colour("inv"))
        text_left += 4
    if rect.right() - text_left >= SMALLEST_TEXT - 12:
        _words(painter, rect, look, text_left, lit)


def _progress(painter: QPainter, rect: QRectF, now_x: float) -> None:
    done = min(max(now_x, rect.left()), rect.right())
    painter.fillRect(
        QRectF(rect.left(), rect.top(), done - rect.left(), rect.height()), theme.colour("live_dim")
    )
    painter.setPen(theme.colour("live_edge"))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))
    line = theme.colour("live_line")
    painter.fillRect(QRectF(rect.left(), rect.bottom() - 3, done - rect.left(), 3), line)
    painter.fillRect(QRectF(rect.left(), rect.top(), 4, rect.height()), line)


def _words(painter: QPainter, rect: QRectF, look: BarLook, x: float, lit: bool) -> None:
    room = rect.right() - x - 5
    top = rect.top() + 2
    ink = INK.get(look.kind, "t1")
    title = texts.fitted(look.title, "title", room - 18)
    repeat = look.repeats and texts.width(title, "title") + 18 + 18 <= room
    second = _second(look, room)
    if look.kind == "failed":
        wide = 18 + texts.width(title, "title") + (18 if repeat else 0)
        wide = max(wide, sum(texts.width(t, f) + 6 for t, f, _ in second))
        painter.fillRect(
            QRectF(x - 4, rect.top() + 1, min(wide + 6, room + 6), rect.height() - 2), theme.colour("bg0")
        )
    mark = QRectF(round(x), top + 2, 12, 12)
    if look.priority:
        paint_priority(painter, look.priority, mark.adjusted(-1, -1, 1, 1), filled=lit)
    else:
        token = "live_line" if look.kind in ("running", "stopping") else ink
        paint_mark(painter, look.mark, mark, token)
    painter.setPen(theme.colour(ink))
    texts.draw(painter, x + 18, top, LINE, title, "title")
    if repeat:
        mark = QRectF(round(x + 24 + texts.width(title, "title")), top + 2, 12, 12)
        paint_mark(painter, "repeat", mark, "t3" if ink == "t3" else "t2")
    for text, font, token in second:
        painter.setPen(theme.colour(token))
        x += texts.draw(painter, x, top + LINE, LINE, text, font) + 6


def _second(look: BarLook, room: float) -> list[tuple[str, str, str]]:
    """The second line in parts, as many as fit whole."""
    ink = "t3" if look.kind in ("completed", "cancelled") else "t2"
    plain = look.kind in ("failed", "missed", "cancelled")
    parts = [(look.state, "line" if plain else "bold", ink if plain else "t1")] if look.state else []
    parts.append((look.span, "line", ink))
    if look.worry:
        parts.append((look.worry, "line", "p2"))
    found: list[tuple[str, str, str]] = []
    for text, font, token in parts:
        wide = texts.width(text, font)
        if wide > room:
            text = (
                texts.fitted(text, font, room) if token == "p2" or (not found and text == look.span) else ""
            )
            if text:
                found.append((text, font, token))
            break
        found.append((text, font, token))
        room -= wide + 6
    return found


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
