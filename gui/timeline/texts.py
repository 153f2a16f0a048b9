"""Text on the canvas: measured once, cut to fit, drawn as prepared text."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QStaticText

from gui import fonts

_FONTS = {
    "title": (fonts.text, 13, 600),
    "line": (fonts.figures, 12, 400),
    "bold": (fonts.figures, 12, 600),
    "name": (fonts.text, 15, 600),
    "source": (fonts.text, 12, 400),
    "chip": (fonts.text, 12, 500),
    "chip_bold": (fonts.text, 12, 700),
    "hour": (fonts.figures, 14, 600),
    "minute": (fonts.figures, 12, 400),
    "item": (fonts.text, 13, 400),
    "item_bold": (fonts.text, 13, 600),
}


@lru_cache(maxsize=32)
def font_of(name: str) -> QFont:
    make, size, weight = _FONTS[name]
    return make(size, weight)


@lru_cache(maxsize=64)
def _metrics(font: str) -> QFontMetricsF:
    return QFontMetricsF(font_of(font))


@lru_cache(maxsize=8192)
def width(text: str, font: str) -> float:
    return _metrics(font).horizontalAdvance(text)


@lru_cache(maxsize=8192)
def _cut(text: str, font: str, room: int) -> str:
    return _metrics(font).elidedText(text, Qt.TextElideMode.ElideRight, room)


def fitted(text: str, font: str, room: float) -> str:
    """The text, or as much of it as fits with … after it; nothing when that would be less than two letters."""
    if width(text, font) <= room:
        return text
    found = _cut(text, font, int(room)) if room > 16 else ""
    return found if len(found) > 2 else ""


@lru_cache(maxsize=8192)
def prepared(text: str, font: str) -> QStaticText:
    made = QStaticText(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setPerformanceHint(QStaticText.PerformanceHint.AggressiveCaching)
    made.prepare(font=font_of(font))
    return made


@lru_cache(maxsize=64)
def lift(font: str, height: int) -> float:
    """How far below the top of a line of this height its text is drawn, so that it stands in the middle."""
    return round((height - _metrics(font).height()) / 2)


def draw(painter: QPainter, x: float, top: float, height: float, text: str, font: str) -> float:
    """Draws a line of text in the middle of a height, in the painter's pen. Returns its width."""
    if not text:
        return 0.0
    painter.setFont(font_of(font))
    metrics = _metrics(font)
    painter.drawStaticText(QPointF(x, round(top + (height - metrics.height()) / 2)), prepared(text, font))
    return width(text, font)
