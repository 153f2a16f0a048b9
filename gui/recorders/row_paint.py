"""Paints a recorder's row: lamp and name, picture, the bar of its window, and the two lines under it."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen

from gui import fonts
from gui.glyphs import paint_priority
from gui.hatch import hatch
from gui.recorders.marks import paint_mark, tint
from gui.recorders.pictures import Shot
from gui.recorders.state import Look
from gui.theme import theme
from gui.words import span

HEIGHT = 72
HEADER = 216
PICTURE = QRectF(HEADER, 4, 112, 63)
BLOCK = HEADER + 112 + 12
BAR_HEIGHT = 36
ROOM_FOR_WORDS = 112  # px of a bar that its title and state need before the figure may take any
OLD_PICTURE = 3.0  # seconds after which a picture carries its age
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def text(
    painter: QPainter,
    rect: QRectF,
    words: str,
    font: QFont,
    token: str,
    flags: Qt.AlignmentFlag = LEFT,
) -> float:
    """Draws a line, cut with … where it does not fit; returns its width."""
    metrics = QFontMetricsF(font)
    shown = metrics.elidedText(words, Qt.TextElideMode.ElideRight, rect.width() + 0.5)
    painter.setFont(font)
    painter.setPen(theme.colour(token))
    painter.drawText(rect, int(flags) | int(Qt.TextFlag.TextSingleLine), shown)
    return metrics.horizontalAdvance(shown)


def paint_header(painter: QPainter, look: Look, lit: bool) -> None:
    lamp = QRectF(14, (HEIGHT - 1) / 2 - 8, 16, 16)
    if look.lamp == "alarm":
        if look.flashes:
            painter.fillRect(QRectF(0, 0, 4, HEIGHT - 1), theme.colour(f"p{look.priority}"))
        shape = lamp.adjusted(-1, -1, 1, 1)
        paint_priority(painter, look.priority, shape, filled=look.flashes and lit)
    else:
        token = {"recording": "live_line", "ready": "t1", "offline": "t3"}.get(look.lamp, "t2")
        paint_mark(painter, look.lamp, lamp, token)
    chip = QRectF(HEADER - 12 - 62, 8, 62, 20)
    text(painter, QRectF(40, 7, chip.left() - 44, 22), look.name, fonts.text(15, 600), "t1")
    _chip(painter, chip, look.manual)
    room = QRectF(40, 29, HEADER - 52, 16)
    if look.fault:
        fault = fonts.text(12, 600)
        wide = min(room.width() * 0.6, QFontMetricsF(fault).horizontalAdvance(f" · {look.fault}") + 1)
        taken = text(painter, room.adjusted(0, 0, -wide, 0), look.source or "No source", fonts.text(12), "t2")
        text(painter, room.adjusted(taken, 0, 0, 0), f" · {look.fault}", fault, f"p{look.priority}")
    else:
        text(painter, room, look.source or "No source", fonts.text(12), "t2")
    text(painter, QRectF(40, 46, HEADER - 52, 16), look.place, fonts.text(12), "t2")


def _chip(painter: QPainter, rect: QRectF, manual: bool) -> None:
    if manual:
        painter.fillRect(rect, theme.colour("inv"))
        text(painter, rect, "MANUAL", fonts.text(12, 700), "on_inv", Qt.AlignmentFlag.AlignCenter)
    else:
        painter.setPen(theme.colour("line2"))
        painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))
        text(painter, rect, "AUTO", fonts.text(12, 500), "t2", Qt.AlignmentFlag.AlignCenter)


def paint_picture(painter: QPainter, shot: Shot | None, age: float) -> None:
    painter.fillRect(PICTURE, theme.colour("bg0"))
    if shot is None:
        painter.fillRect(PICTURE, hatch(theme.colour("hatch")))
        painter.setPen(theme.colour("line"))
        painter.drawRect(PICTURE.adjusted(0.5, 0.5, -0.5, -0.5))
        paint_plate(painter, PICTURE.center(), "no picture")
        return
    size = shot.pixmap.deviceIndependentSize()
    corner = PICTURE.center() - QPointF(size.width() / 2, size.height() / 2)
    painter.fillRect(PICTURE, Qt.GlobalColor.black)
    painter.drawPixmap(QPointF(round(corner.x()), round(corner.y())), shot.pixmap)
    if age > OLD_PICTURE:
        paint_plate(painter, PICTURE.center(), f"{span(age)} old")


def paint_plate(painter: QPainter, centre: QPointF, words: str) -> None:
    font = fonts.text(12)
    width = QFontMetricsF(font).horizontalAdvance(words) + 10
    plate = QRectF(round(centre.x() - width / 2), round(centre.y() - 9), width, 18)
    painter.fillRect(plate, theme.colour("bg0"))
    text(painter, plate, words, font, "t2", Qt.AlignmentFlag.AlignCenter)


def paint_block(painter: QPainter, look: Look, right: float, *, old: bool) -> None:
    bar = QRectF(BLOCK, 4, max(40.0, right - BLOCK), BAR_HEIGHT)
    _paint_bar(painter, look, bar, old)
    lines = [line for line in _lines(look) if line[0]]
    if len(lines) > 2 and bar.width() > 520:
        words, font, token = lines.pop()
        half = bar.width() / 2
        text(painter, QRectF(bar.left() + half, 41, half, 15), words, font, token, RIGHT)
    for number, (words, font, token) in enumerate(lines[:2]):
        text(painter, QRectF(bar.left(), 41 + 14 * number, bar.width(), 15), words, font, token)


def _lines(look: Look) -> list[tuple[str, QFont, str]]:
    """What stands under the bar, the most urgent last to be left out."""
    worry = ("t1", 600) if look.worry else ("t2", 400)
    trouble = f"p{look.priority}" if look.lamp == "alarm" else "t1"
    return [
        (look.figures, fonts.text(12, worry[1]), worry[0]),
        (look.refusal or look.trouble, fonts.text(12, 600), "t1" if look.refusal else trouble),
        (look.following, fonts.text(12), "t2"),
    ]


def _paint_bar(painter: QPainter, look: Look, bar: QRectF, old: bool) -> None:
    frame = bar.adjusted(0.5, 0.5, -0.5, -0.5)
    live = look.recording or look.bar == "starting"
    if look.recording:
        painter.fillRect(bar, theme.colour("bg1"))
        share = 1.0 if look.bar == "foreign" else look.progress / 1000
        done = QRectF(bar.left(), bar.top(), bar.width() * share, bar.height())
        painter.fillRect(done, tint("bg1", "live_line", 0.185))
        painter.fillRect(QRectF(bar.left(), bar.bottom() - 3, done.width(), 3), theme.colour("live_line"))
        painter.setPen(tint("bg1", "live_line", 0.6))
    elif look.bar == "empty":
        painter.setPen(QPen(theme.colour("line2"), 1, Qt.PenStyle.DotLine))
    else:
        painter.fillRect(bar, theme.colour("bg2"))
        painter.setPen(QPen(theme.colour("inv" if look.bar == "held" else "line3"), 1))
    if old and not look.recording:
        painter.fillRect(bar.adjusted(1, 1, -1, -1), hatch(theme.colour("hatch")))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(frame)
    if live and look.bar != "starting":
        painter.fillRect(QRectF(bar.left(), bar.top(), 4, bar.height()), theme.colour("live_line"))
    _paint_bar_words(painter, look, bar.adjusted(12, 0, -10, 0))


def _paint_bar_words(painter: QPainter, look: Look, area: QRectF) -> None:
    if look.bar == "empty":
        text(painter, area, look.title, fonts.text(13), "t3")
        return
    font = fonts.display(20, 600)
    wide = QFontMetricsF(font).horizontalAdvance(look.figure)
    if look.figure and area.width() - wide > ROOM_FOR_WORDS:
        figure = area.adjusted(0, 0, 0, -3 if look.recording else 0)
        text(
            painter, figure, look.figure, font, "t1" if look.recording or look.bar == "ready" else "t2", RIGHT
        )
        area = area.adjusted(0, 0, -wide - 12, 0)
    mark, token = MARKS.get(look.bar, ("idle", "t2"))
    first = QRectF(area.left(), area.top() + 3, area.width(), 16)
    paint_mark(painter, mark, QRectF(first.left(), first.top() + 3, 10, 10), token)
    first.setLeft(first.left() + 17)
    room = first.adjusted(0, 0, -18 if look.repeats else 0, 0)
    wide = text(painter, room, look.title, fonts.text(13, 600), "t1")
    if look.repeats:
        paint_mark(painter, "repeat", QRectF(first.left() + wide + 7, first.top() + 3, 10, 10), "t2")
    second = QRectF(area.left(), area.top() + 18, area.width(), 15)
    if look.state:
        taken = text(painter, second, look.state, fonts.text(12, 700), "t1")
        second.setLeft(second.left() + taken + 10)
    if second.width() > 24:
        text(painter, second, look.span, fonts.text(12), "t2")


MARKS = {
    "pending": ("idle", "t2"),
    "ready": ("ready", "t1"),
    "held": ("held", "inv"),
    "due": ("ready", "t1"),
    "starting": ("ready", "live_line"),
    "running": ("recording", "live_line"),
    "stopping": ("recording", "live_line"),
    "foreign": ("recording", "live_line"),
}
