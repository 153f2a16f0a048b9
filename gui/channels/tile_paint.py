"""Paints a channel: the tile of 236 px, and the strip of 56 px that stands for it while there is no room."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter

from gui import fonts
from gui.channels.beat_paint import paint_beats
from gui.channels.beats import Sample
from gui.channels.state import Look
from gui.glyphs import paint_priority
from gui.hatch import hatch
from gui.recorders.pictures import Shot
from gui.recorders.row_paint import LEFT, OLD_PICTURE, RIGHT, paint_plate, text
from gui.theme import theme
from gui.words import span

WIDTH, HEIGHT, STRIP = 420, 236, 56
PAD = 12
PICTURE = QRectF(PAD, 40, 176, 99)
INFO = 212  # where the words beside the picture begin
BEATS = QRectF(52, 150, 288, 28)
FIGURES = QRectF(INFO, 40, WIDTH - PAD - INFO, 99)
CENTRE = Qt.AlignmentFlag.AlignCenter


def paint_tile(
    painter: QPainter,
    look: Look,
    samples: tuple[Sample, ...],
    shot: Shot | None,
    age: float,
    *,
    lit: bool,
    old: bool,
) -> None:
    _paint_head(painter, look, lit)
    _paint_picture(painter, look, shot, age)
    _paint_info(painter, look)
    text(painter, QRectF(PAD, 150, 40, 14), "Beat", fonts.text(12), "t2")
    text(painter, QRectF(PAD, 164, 40, 14), "60 s", fonts.text(12), "t2")
    paint_beats(painter, BEATS, samples, old=old)
    right = QRectF(344, 149, WIDTH - PAD - 344, 15)
    text(painter, right, look.beat, fonts.figures(13, 600), "t1", RIGHT)
    token, weight = ("p2", 600) if look.worry else ("t2", 400)
    text(painter, right.translated(0, 15), look.missed, fonts.figures(12, weight), token, RIGHT)


def _paint_head(painter: QPainter, look: Look, lit: bool) -> None:
    tally = QRectF(WIDTH - PAD - 84, 8, 84, 28)
    if look.flashes or look.chip:
        painter.fillRect(QRectF(0, 0, 4, HEIGHT), theme.colour(f"p{look.priority or 2}"))
    font = fonts.text(24, 700)
    name = text(painter, QRectF(PAD, 8, 150, 28), look.name, font, "t1")
    left, right = max(88.0, PAD + name + 12), tally.left() - PAD
    if look.chip:
        chip_font = fonts.text(12, 700)
        wide = QFontMetricsF(chip_font).horizontalAdvance(look.chip) + 16
        chip = QRectF(right - wide, 12, wide, 20)
        painter.fillRect(chip, theme.colour("p2"))
        text(painter, chip, look.chip, chip_font, "on_p", CENTRE)
        right = chip.left() - 8
    if look.priority:
        paint_priority(painter, look.priority, QRectF(right - 18, 13, 18, 18), filled=look.flashes and lit)
        right -= 26
    if not look.chip:
        font = fonts.text(13)
        room = right - left - 18 - QFontMetricsF(fonts.text(15, 600)).horizontalAdvance(look.title)
        # The channel's title before the kind of its output, which the tooltip has too.
        fits = QFontMetricsF(font).horizontalAdvance(look.place) <= room
        place = look.place if fits else look.place.partition(" · ")[2] or look.place
        wide = min(QFontMetricsF(font).horizontalAdvance(place) + 1, right - left - 8)
        text(painter, QRectF(right - wide, 8, wide, 28), place, font, "t2", RIGHT)
        right -= wide + 10
    if right - left > 24:
        text(painter, QRectF(left, 8, right - left, 28), look.title, fonts.text(15, 600), "t1")
    paint_tally(painter, tally, look, 16)


def paint_tally(painter: QPainter, rect: QRectF, look: Look, size: int) -> None:
    """Red and filled with the words while on air; hollow and grey with its word otherwise."""
    if look.lit:
        painter.fillRect(rect, theme.colour("live"))
        painter.setPen(Qt.GlobalColor.white)
        painter.setFont(fonts.text(size if len(look.tally) <= 7 else min(size, 12), 700, 0.8))
        painter.drawText(rect, CENTRE, look.tally)
        return
    painter.setPen(theme.colour("line3"))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))
    smaller = min(size, 14 if len(look.tally) <= 7 else 12)
    text(painter, rect, look.tally, fonts.text(smaller, 600), "t2", CENTRE)


def _paint_picture(painter: QPainter, look: Look, shot: Shot | None, age: float) -> None:
    painter.fillRect(PICTURE, theme.colour("bg0"))
    if shot is None or not look.lit:
        painter.fillRect(PICTURE, hatch(theme.colour("hatch")))
        painter.setPen(theme.colour("line"))
        painter.drawRect(PICTURE.adjusted(0.5, 0.5, -0.5, -0.5))
        paint_plate(painter, PICTURE.center(), "no picture" if look.lit else "off air")
    else:
        size = shot.pixmap.deviceIndependentSize()
        corner = PICTURE.center() - QPointF(size.width() / 2, size.height() / 2)
        painter.fillRect(PICTURE, Qt.GlobalColor.black)
        painter.drawPixmap(QPointF(round(corner.x()), round(corner.y())), shot.pixmap)
        if age > OLD_PICTURE:
            paint_plate(painter, PICTURE.center(), f"{span(age)} old")
    # Two meters. Sidecars report no levels: a meter without one is dark, and shows nothing invented.
    for channel in range(2):
        painter.fillRect(QRectF(192 + 6 * channel, PICTURE.top(), 4, PICTURE.height()), theme.colour("well"))


def _paint_info(painter: QPainter, look: Look) -> None:
    wide = FIGURES.width()
    if look.words:
        if look.next_clip and not look.clip:
            _paint_next(painter, look)
        font = fonts.text(13, 600 if look.chip == "ERROR" else 400)
        painter.setFont(font)
        painter.setPen(theme.colour("p2" if look.chip == "ERROR" else "t2"))
        flags = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
        painter.save()
        area = FIGURES.adjusted(0, 2, 0, -20 if look.next_clip else 0)
        painter.setClipRect(area)
        painter.drawText(area, int(flags), look.words)
        painter.restore()
        return
    text(painter, QRectF(INFO, 40, wide, 20), look.clip, fonts.text(15, 600), "t1")
    _paint_remaining(painter, QRectF(INFO, 60, wide, 36), look.remaining, 32)
    bar = QRectF(INFO, 98, wide, 4)
    painter.fillRect(bar, theme.colour("line2"))
    painter.fillRect(QRectF(INFO, 98, wide * look.progress / 1000, 4), theme.colour("t3"))
    second = QRectF(INFO, 104, wide, 16)
    if look.moved:
        text(painter, second, look.place, fonts.figures(12, 600), "t1")
    elif look.trouble:
        text(painter, second, look.trouble, fonts.figures(12, 600), f"p{look.priority or 2}")
    else:
        text(painter, second, look.elapsed, fonts.figures(12), "t2")
        text(painter, second, look.total, fonts.figures(12), "t2", RIGHT)
    _paint_next(painter, look)


def _paint_next(painter: QPainter, look: Look) -> None:
    line = QRectF(INFO, 122, FIGURES.width(), 17)
    taken = text(painter, line, look.following, fonts.figures(12), "t2")
    gap = 8 if look.following else 0
    text(painter, line.adjusted(taken + gap, 0, 0, 0), look.next_clip, fonts.text(13), "t1")


def _paint_remaining(
    painter: QPainter, rect: QRectF, figure: str, size: int, flags: Qt.AlignmentFlag = LEFT
) -> None:
    sign_font, font = fonts.display(size, 500), fonts.display(size, 600)
    sign = QFontMetricsF(sign_font).horizontalAdvance("−") + 4
    if flags == RIGHT:
        rect = rect.adjusted(rect.width() - sign - QFontMetricsF(font).horizontalAdvance(figure) - 1, 0, 0, 0)
    text(painter, rect, "−", sign_font, "t2")
    text(painter, rect.adjusted(sign, 0, 2, 0), figure, font, "t1")


def paint_strip(
    painter: QPainter, look: Look, samples: tuple[Sample, ...], *, lit: bool, old: bool, width: int
) -> None:
    """The same channel in one line."""
    if look.flashes or look.chip:
        painter.fillRect(QRectF(0, 0, 4, STRIP - 1), theme.colour(f"p{look.priority or 2}"))
    lamp = QRectF(PAD, 8, 8, 39)
    if look.lit:
        painter.fillRect(lamp, theme.colour("live"))
    else:
        painter.setPen(theme.colour("line3"))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(lamp.adjusted(0.5, 0.5, -0.5, -0.5))
    text(painter, QRectF(28, 6, 64, 20), look.name, fonts.text(16, 700), "t1")
    paint_tally(painter, QRectF(28, 29, 58 if look.lit else 62, 17), look, 12 if look.lit else 11)
    figure = QRectF(width - PAD - 160, 9, 160, 36)
    words = QRectF(96, 7, 152, 18)
    if look.words:
        text(painter, words.adjusted(0, 0, 152, 0), look.words, fonts.text(13), "t2")
    else:
        token = f"p{look.priority or 2}" if look.trouble else "t1"
        text(painter, words, look.trouble or look.clip, fonts.text(14, 600), token)
        _paint_remaining(painter, figure, look.remaining, 28, RIGHT)
    paint_beats(painter, QRectF(96, 30, 150, 18), samples, old=old)
    if look.priority and look.words:
        shape = QRectF(width - PAD - 18, 30, 18, 18)
        paint_priority(painter, look.priority, shape, filled=look.flashes and lit)
