"""Paints what stands around the bars: lanes, grid, axis, the now-line, the headers of rows, the overview."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPixmap

from gui.glyphs import paint_glyph, paint_priority
from gui.hatch import hatch
from gui.recorders.marks import paint_mark
from gui.theme import theme
from gui.timeline import texts
from gui.timeline.axis import Tick
from gui.timeline.hits import Place
from gui.timeline.rows import AXIS_PX, HEADER_PX


@dataclass(frozen=True, slots=True)
class HeaderLook:
    lamp: str  # a mark, or alarm, on-air, off-air
    priority: int
    flashes: bool
    name: str
    beside: str  # after the name (a channel's title)
    below: str  # under it (a recorder's source)
    fault: str
    chip: str
    by_hand: bool


def paint_lanes(painter: QPainter, place: Place, now_x: float, stale: bool) -> None:
    bottom = place.lanes_bottom
    past = min(max(now_x, HEADER_PX), place.width)
    painter.fillRect(QRectF(HEADER_PX, AXIS_PX, past - HEADER_PX, bottom - AXIS_PX), theme.colour("bg0"))
    future = QRectF(past, AXIS_PX, place.width - past, bottom - AXIS_PX)
    painter.fillRect(future, theme.colour("bg1"))
    if stale:
        painter.fillRect(future, hatch(theme.colour("hatch")))


def paint_grid(painter: QPainter, place: Place, ticks: Sequence[Tick]) -> None:
    low, high = AXIS_PX, min(place.lanes_bottom, AXIS_PX + place.rows.height - place.scroll)
    fine: list[QLineF] = []
    coarse: list[QLineF] = []
    for tick in ticks:
        x = place.axis.x(tick.at)
        if HEADER_PX <= x <= place.width:
            (coarse if tick.coarse else fine).append(QLineF(round(x) + 0.5, low, round(x) + 0.5, high))
    for lines, token in ((fine, "grid"), (coarse, "grid2")):
        if lines:
            painter.setPen(theme.colour(token))
            painter.drawLines(lines)
    lines = []
    for row in place.visible():
        y = place.y(row) + row.height - 0.5
        lines.append(QLineF(HEADER_PX, y, place.width, y))
    painter.setPen(theme.colour("row"))
    painter.drawLines(lines)
    if place.rows.gap_top >= 0:
        y = AXIS_PX + place.rows.gap_top - place.scroll
        painter.fillRect(QRectF(0, y, place.width, 4), theme.colour("gap"))


def paint_now_line(painter: QPainter, place: Place, now_x: float) -> None:
    if HEADER_PX <= now_x <= place.width:
        painter.fillRect(
            QRectF(round(now_x) - 1, AXIS_PX - 4, 2, place.lanes_bottom - AXIS_PX + 4),
            theme.colour("live_line"),
        )


def paint_axis(
    painter: QPainter, place: Place, ticks: Sequence[Tick], now_x: float, now: str, corner: str,
    flags: Sequence[tuple[float, str]],
) -> None:  # fmt: skip
    painter.fillRect(QRectF(0, 0, place.width, AXIS_PX), theme.colour("bg2"))
    painter.fillRect(QRectF(0, AXIS_PX - 1, place.width, 1), theme.colour("gap"))
    painter.setClipRect(QRectF(HEADER_PX, 0, place.width - HEADER_PX, AXIS_PX))
    taken = [(now_x - 40, now_x + 40)] + [(x - 40, x + 40) for x, _ in flags]
    for tick in ticks:
        x = place.axis.x(tick.at)
        font = "hour" if tick.coarse else "minute"
        wide = texts.width(tick.label, font)
        if x + wide < HEADER_PX or x - wide > place.width:
            continue
        painter.fillRect(QRectF(round(x), AXIS_PX - (7 if tick.coarse else 5), 1, 6), theme.colour("line2"))
        if any(x - wide / 2 < right and x + wide / 2 > left for left, right in taken):
            continue
        painter.setPen(theme.colour("t1" if tick.coarse else "t2"))
        texts.draw(painter, round(x - wide / 2), 2, AXIS_PX - 6, tick.label, font)
    if HEADER_PX - 40 <= now_x <= place.width + 40:
        _flag(painter, now_x, now, "live", "")
    for x, words in flags:
        _flag(painter, x, words, "inv", "on_inv")
    painter.setClipping(False)
    painter.fillRect(QRectF(0, 0, HEADER_PX, AXIS_PX - 1), theme.colour("bg2"))
    painter.setPen(theme.colour("t2"))
    texts.draw(painter, 12, 0, AXIS_PX, texts.fitted(corner, "source", HEADER_PX - 24), "source")


def _flag(painter: QPainter, x: float, words: str, ground: str, ink: str) -> None:
    wide = texts.width(words, "hour") + 14
    box = QRectF(round(x - wide / 2), 4, round(wide), 24)
    painter.fillRect(box, theme.colour(ground))
    painter.setPen(theme.colour(ink) if ink else Qt.GlobalColor.white)
    texts.draw(painter, box.left() + 7, box.top(), box.height(), words, "hour")


def paint_header(painter: QPainter, rect: QRectF, look: HeaderLook, selected: bool, lit: bool) -> None:
    """Kept as a picture while it looks the same: a frame has all the headers in view."""
    ratio = painter.device().devicePixelRatioF()
    flashes = look.flashes and lit
    painter.drawPixmap(
        rect.topLeft(), _header(look, selected, flashes, rect.height(), ratio, theme.palette.name)
    )


@lru_cache(maxsize=512)
def _header(look: HeaderLook, selected: bool, lit: bool, height: float, ratio: float, _theme: str) -> QPixmap:
    made = QPixmap(round(HEADER_PX * ratio), round(height * ratio))
    made.setDevicePixelRatio(ratio)
    painter = QPainter(made)
    painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
    _paint_header(painter, QRectF(0, 0, HEADER_PX, height), look, selected, lit)
    painter.end()
    return made


def _paint_header(painter: QPainter, rect: QRectF, look: HeaderLook, selected: bool, lit: bool) -> None:
    painter.fillRect(rect, theme.colour("selbg" if selected else "bg1"))
    painter.fillRect(QRectF(rect.left(), rect.bottom() - 1, rect.width(), 1), theme.colour("row"))
    painter.fillRect(QRectF(rect.right() - 1, rect.top(), 1, rect.height()), theme.colour("gap"))
    if selected:
        painter.fillRect(QRectF(rect.left(), rect.top(), 3, rect.height()), theme.colour("sel"))
    lamp = QRectF(8, rect.top() + (rect.height() - 16) / 2, 16, 16)
    if look.lamp == "alarm":
        paint_priority(painter, look.priority, lamp, filled=lit)
    elif look.lamp in ("on-air", "off-air"):
        paint_glyph(
            painter, look.lamp, lamp.adjusted(1, 1, -1, -1), "live_line" if look.lamp == "on-air" else "t2"
        )
    else:
        paint_mark(painter, look.lamp, lamp, "live_line" if look.lamp == "recording" else "t2")
    chip = 0.0
    if look.chip:
        chip = max(60.0, texts.width(look.chip, "chip_bold") + 12)
        top = rect.top() + (4 if look.below else (rect.height() - 20) / 2)
        _chip(painter, QRectF(rect.right() - 9 - chip, round(top), chip, 20), look)
    room = HEADER_PX - 36 - chip - 14
    middle = rect.center().y()
    top = middle - 17 if look.below else middle - 10
    painter.setPen(theme.colour("t1"))
    name = texts.fitted(look.name, "name", room)
    wide = texts.draw(painter, 36, top, 18, name, "name")
    if look.beside:
        painter.setPen(theme.colour("t2"))
        beside = texts.fitted(look.beside, "source", room - wide - 8)
        texts.draw(painter, 36 + wide + 8, top + 1, 18, beside, "source")
    if look.below:
        room = HEADER_PX - 36 - 12
        painter.setPen(theme.colour("t2"))
        fault = f" · {look.fault}" if look.fault else ""
        below = texts.fitted(look.below, "source", room - texts.width(fault, "source"))
        wide = texts.draw(painter, 36, middle + 1, 16, below, "source")
        painter.setPen(theme.colour("p2"))
        texts.draw(painter, 36 + wide, middle + 1, 16, fault if below else look.fault, "source")


def _chip(painter: QPainter, rect: QRectF, look: HeaderLook) -> None:
    if look.by_hand:
        painter.fillRect(rect, theme.colour("inv"))
        painter.setPen(theme.colour("on_inv"))
    else:
        painter.setPen(QPen(theme.colour("on_now"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))
        painter.setPen(theme.colour("t2"))
    font = "chip_bold" if look.by_hand else "chip"
    x = rect.center().x() - texts.width(look.chip, font) / 2
    texts.draw(painter, round(x), rect.top(), rect.height(), look.chip, font)
