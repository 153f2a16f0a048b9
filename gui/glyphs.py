"""Glyphs and alarm shapes, painted in the theme's colours at any size and pixel ratio."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QByteArray, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPainterPath, QPen, QPixmap, QPolygonF
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QWidget

from gui import fonts
from gui.resources import ICONS
from gui.theme import theme

_OUTLINES = {
    1: ((1.5, 1.5), (18.5, 1.5), (18.5, 18.5), (1.5, 18.5)),
    2: ((10, 1), (19.3, 18.5), (0.7, 18.5)),
    3: ((10, 19), (0.7, 1.5), (19.3, 1.5)),
    4: ((10, 0.4), (19.6, 10), (10, 19.6), (0.4, 10)),
}
_DIGITS = {1: (14.4, 13.0), 2: (16.4, 11.5), 3: (11.6, 11.5), 4: (14.2, 12.0)}  # baseline and size of 20


@lru_cache(maxsize=256)
def _renderer(name: str, colour: str) -> QSvgRenderer:
    source = (ICONS / f"{name}.svg").read_text(encoding="utf-8").replace("currentColor", colour)
    return QSvgRenderer(QByteArray(source.encode()))


def paint_glyph(painter: QPainter, name: str, rect: QRectF, token: str) -> None:
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    _renderer(name, theme.colour(token).name()).render(painter, rect)
    painter.restore()


def pixmap(name: str, token: str, size: int) -> QPixmap:
    app = QApplication.instance()
    ratio = app.devicePixelRatio() if isinstance(app, QApplication) else 1.0
    made = QPixmap(QSize(round(size * ratio), round(size * ratio)))
    made.setDevicePixelRatio(ratio)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    paint_glyph(painter, name, QRectF(0, 0, size, size), token)
    painter.end()
    return made


def icon(name: str, token: str = "t1", size: int = 12) -> QIcon:
    made = QIcon(pixmap(name, token, size))
    made.addPixmap(pixmap(name, "dis", size), QIcon.Mode.Disabled)
    return made


def application_icon() -> QIcon:
    return QIcon(str(ICONS / "airlock.svg"))


def paint_priority(
    painter: QPainter, priority: int, rect: QRectF, *, filled: bool, token: str | None = None
) -> None:
    """The shape of an alarm with its number inside: filled while it asks for somebody, outline otherwise."""
    colour: QColor = theme.colour(token or f"p{priority}")
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(rect.topLeft())
    painter.scale(rect.width() / 20, rect.height() / 20)
    outline = QPolygonF([QPointF(x, y) for x, y in _OUTLINES[priority]])
    if filled:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
    else:
        painter.setPen(QPen(colour, 1.4, j=Qt.PenJoinStyle.MiterJoin))
        painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawPolygon(outline)
    baseline, size = _DIGITS[priority]
    # As a path, because fonts have whole pixel sizes and these shapes are scaled.
    path = QPainterPath()
    font = fonts.text(20, 700)
    path.addText(0, 0, font, str(priority))
    scale = size / 20
    width = path.boundingRect().center().x() * scale
    painter.translate(10 - width, baseline)
    painter.scale(scale, scale)
    painter.fillPath(path, theme.colour("on_p") if filled else colour)
    painter.restore()


class Glyph(QWidget):
    """A glyph as a widget of its own."""

    def __init__(self, name: str, token: str, size: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name, self._token = name, token
        self.setFixedSize(size, size)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        theme.changed.connect(self.update)

    def show_glyph(self, name: str, token: str) -> None:
        if (name, token) != (self._name, self._token):
            self._name, self._token = name, token
            self.update()

    def paintEvent(self, _event: object) -> None:
        painter = QPainter(self)
        paint_glyph(painter, self._name, QRectF(self.rect()), self._token)
        painter.end()
