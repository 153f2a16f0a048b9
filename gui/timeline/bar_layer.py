"""Bars that lie side by side, painted together: all frames of a kind at once, then marks, then all text of a colour.

Qt spends most of a frame on being told of another pen or font; bars that are told together cost a third.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QStaticText

from gui.theme import theme
from gui.timeline import texts
from gui.timeline.looks import BarLook
from gui.timeline.paint_bars import EDGE, FILL, INK, cross_hatch
from gui.timeline.stamps import stamp, stamp_priority

LINE = 16  # px of each of the two lines
TITLE_PX = 30  # px of width from which a title says anything
TITLE_FROM = TITLE_PX + 18 + 8 + 5  # px of a bar that has one: with its mark and margins
ROOM_STEP = 4  # px: text is cut to whole steps, so that zooming finds most of it cut already
MOST_LAYOUTS = 8192

Word = tuple[float, int, QStaticText, str, str]  # x, line, text, font, colour
Mark = tuple[str, float, float, str]  # name, x, y, colour
Alarm = tuple[int, float, float]  # priority, x, y
Layout = tuple[
    tuple[Word, ...], float, float
]  # the words, where the repeat mark stands (-1: nowhere), their width

_layouts: dict[tuple[int, int], tuple[BarLook, Layout]] = {}


class BarLayer:
    """Bars of which none covers another."""

    def __init__(self, now_x: float, lanes_left: float) -> None:
        self._now_x, self._left = now_x, lanes_left
        self._bars: list[tuple[QRectF, BarLook]] = []

    def add(self, rect: QRectF, look: BarLook) -> None:
        self._bars.append((rect, look))

    def paint(self, painter: QPainter, lit: bool) -> None:
        if self._bars:
            self._frames(painter)
            self._progress(painter)
            self._words(painter, lit)

    def _frames(self, painter: QPainter) -> None:
        outer: dict[str, list[QRectF]] = {}
        inner: dict[str, list[QRectF]] = {}
        dashed: list[QRectF] = []
        hatched: list[QRectF] = []
        for rect, look in self._bars:
            kind = look.kind
            if kind == "missed":
                dashed.append(rect.adjusted(0.5, 0.5, -0.5, -0.5))
                continue
            outer.setdefault("p2" if look.priority else EDGE[kind], []).append(rect)
            inside = rect.adjusted(1, 1, -1, -1)
            inner.setdefault(FILL[kind], []).append(inside)
            if kind == "failed":
                hatched.append(inside)
        painter.setPen(Qt.PenStyle.NoPen)
        for boxes in (outer, inner):
            for token, rects in boxes.items():
                painter.setBrush(theme.colour(token))
                painter.drawRects(rects)
        if hatched:
            painter.setBrush(cross_hatch())
            painter.drawRects(hatched)
        if dashed:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.colour(EDGE["missed"]), 1, Qt.PenStyle.DashLine))
            painter.drawRects(dashed)

    def _progress(self, painter: QPainter) -> None:
        done: list[QRectF] = []
        lines: list[QRectF] = []
        held: list[QRectF] = []
        for rect, look in self._bars:
            if look.kind in ("running", "stopping"):
                left, top, right = rect.left(), rect.top(), min(max(self._now_x, rect.left()), rect.right())
                done.append(QRectF(left + 1, top + 1, max(0.0, right - left - 1), rect.height() - 2))
                lines.append(QRectF(left, rect.bottom() - 3, right - left, 3))
                lines.append(QRectF(left, top, 4, rect.height()))
            elif look.kind == "held":
                held.append(QRectF(rect.left(), rect.top(), 4, rect.height()))
        painter.setPen(Qt.PenStyle.NoPen)
        for rects, token in ((done, "live_dim"), (lines, "live_line"), (held, "inv")):
            if rects:
                painter.setBrush(theme.colour(token))
                painter.drawRects(rects)

    def _words(self, painter: QPainter, lit: bool) -> None:
        """Text never hides behind the headers: what begins left of the lanes is read at their edge."""
        said: dict[tuple[str, str], list[tuple[QPointF, QStaticText]]] = {}
        plates: list[QRectF] = []
        marks: list[Mark] = []
        alarms: list[Alarm] = []
        for rect, look in self._bars:
            kind = look.kind
            if rect.width() < TITLE_FROM:
                _mark_alone(rect, look, self._left, marks, alarms)
                continue
            inset = 12 if kind in ("running", "stopping", "held") else 8
            x = max(rect.left() + inset, self._left + 8)
            room = rect.right() - x - 5
            if room < 10:
                continue
            top = rect.top() + 2
            words, repeat, wide = _layout(look, room)
            ink = INK.get(kind, "t1")
            low = top if words else top + 8  # a mark by itself stands in the middle
            if kind == "failed":
                plates.append(QRectF(x - 4, rect.top() + 1, min(wide + 8, room + 6), rect.height() - 2))
            if look.priority:
                alarms.append((look.priority, round(x) - 1, low + 1))
            else:
                token = "live_line" if kind in ("running", "stopping") else ink
                marks.append((look.mark, round(x), low + 2, token))
            if repeat >= 0:
                marks.append(("repeat", round(x + repeat), top + 2, "t3" if ink == "t3" else "t2"))
            for dx, line, text, font, token in words:
                at = QPointF(x + dx, top + line * LINE + texts.lift(font, LINE))
                said.setdefault((font, token), []).append((at, text))
        if plates:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("bg0"))
            painter.drawRects(plates)
        for name, left, y, token in marks:
            stamp(painter, name, left, y, token)
        for priority, left, y in alarms:
            stamp_priority(painter, priority, left, y, lit)
        for (font, token), lines in said.items():
            painter.setFont(texts.font_of(font))
            painter.setPen(theme.colour(token))
            for at, text in lines:
                painter.drawStaticText(at, text)


def _mark_alone(
    rect: QRectF, look: BarLook, lanes_left: float, marks: list[Mark], alarms: list[Alarm]
) -> None:
    x, y = round(max(rect.left() + (rect.width() - 12) / 2, lanes_left + 4)), rect.top() + 12
    if x + 12 > rect.right():
        return
    if look.priority:
        alarms.append((look.priority, x - 1, y - 1))
    else:
        token = "live_line" if look.kind in ("running", "stopping") else INK.get(look.kind, "t1")
        marks.append((look.mark, x, y, token))


def _layout(look: BarLook, room: float) -> Layout:
    key = (id(look), int(room) // ROOM_STEP)
    known = _layouts.get(key)
    if known is not None and known[0] is look:
        return known[1]
    made = _lay_out(look, float(key[1] * ROOM_STEP))
    if len(_layouts) >= MOST_LAYOUTS:
        _layouts.clear()
    _layouts[key] = (look, made)
    return made


def _lay_out(look: BarLook, room: float) -> Layout:
    ink = INK.get(look.kind, "t1")
    title = texts.fitted(look.title, "title", room - 18) if room - 18 >= TITLE_PX else ""
    if not title:
        return (), -1.0, 12.0
    wide = texts.width(title, "title")
    repeat = 24 + wide if look.repeats and wide + 36 <= room else -1.0
    words: list[Word] = [(18.0, 0, texts.prepared(title, "title"), "title", ink)]
    at = 0.0
    for text, font, token in _second(look, room):
        words.append((at, 1, texts.prepared(text, font), font, token))
        at += texts.width(text, font) + 6
    return tuple(words), repeat, max(18 + wide + (18 if repeat >= 0 else 0), at)


def _second(look: BarLook, room: float) -> list[tuple[str, str, str]]:
    """The second line in parts, as many as fit whole; what is wrong is cut rather than left out."""
    ink = "t3" if look.kind in ("completed", "cancelled") else "t2"
    plain = look.kind in ("failed", "missed", "cancelled")
    parts = [(look.state, "line" if plain else "bold", ink if plain else "t1")] if look.state else []
    both = f"{look.span}  {look.length}" if look.length else look.span
    parts += [(both if texts.width(both, "line") <= room else look.span, "line", ink)]
    found: list[tuple[str, str, str]] = []
    for text, font, token in parts:
        wide = texts.width(text, font)
        if wide > room:
            break
        found.append((text, font, token))
        room -= wide + 6
    if look.worry and (cut := texts.fitted(look.worry, "line", room)):
        found.append((cut, "line", "p2"))
    return found
