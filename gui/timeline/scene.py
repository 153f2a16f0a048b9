"""The one picture of the timeline: everything in the order in which it lies, painted into one item.

1. lanes, and the hatch over what is old   2. grid   3. the now-line   4. bars with their text
5. row headers, what is dragged, overlaps, the callout
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from core.recording.model import ACTIVE, Window
from gui.theme import theme
from gui.timeline import texts
from gui.timeline.axis import ticks_of
from gui.timeline.bar_layer import BarLayer
from gui.timeline.hits import Place
from gui.timeline.knowledge import Knowledge
from gui.timeline.lanes import is_shown
from gui.timeline.overview import Overview
from gui.timeline.paint_drag import Hand, paint_guides, paint_hand, paint_waiting
from gui.timeline.paint_frame import paint_axis, paint_grid, paint_header, paint_lanes, paint_now_line
from gui.timeline.playlist import Block
from gui.timeline.rows import AXIS_PX, BAR_PX, HEADER_PX, ITEM_PX, OVERVIEW_PX, Row
from gui.timeline.slivers import NARROW, slivers
from gui.words import plural

EMPTY = (
    "There are no recorders yet. A node's agent brings its own: python main.py agent --node NAME. Those of other "
    "systems are rows of the table recorders."
)


class Scene:
    def __init__(self, known: Knowledge, overview: Overview) -> None:
        self.known = known
        self.overview = overview
        self.hand = Hand()
        self.selected: set[int] = set()
        self.selected_row: tuple[str, int] | None = None
        self.focused = False

    def paint(self, painter: QPainter, place: Place) -> None:
        session = self.known.session
        now = session.now()
        at = now.timestamp()
        now_x = place.axis.x(at)
        ticks = ticks_of(place.axis, session.zone)
        painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
        painter.setClipRect(QRectF(0, AXIS_PX, place.width, place.lanes_bottom - AXIS_PX))
        paint_lanes(painter, place, now_x, session.stale)
        paint_grid(painter, place, ticks)
        painter.setClipRect(QRectF(HEADER_PX, AXIS_PX, place.width - HEADER_PX, place.lanes_bottom - AXIS_PX))
        paint_now_line(painter, place, now_x)
        paint_guides(painter, place, self.hand)
        rows = place.visible()
        self._lanes(painter, place, [r for r in rows if r.kind == "recorder"], now, now_x)
        for row in rows:
            if row.kind == "channel":
                self._channel(painter, place, row, at, now_x)
        paint_waiting(painter, place, self.hand)
        paint_hand(painter, place, self.hand, session)
        painter.setClipRect(QRectF(0, AXIS_PX, HEADER_PX, place.lanes_bottom - AXIS_PX))
        painter.fillRect(QRectF(0, AXIS_PX, HEADER_PX, place.lanes_bottom - AXIS_PX), theme.colour("bg1"))
        for row in rows:
            look = self.known.header(row, now)
            if look is not None:
                rect = QRectF(0, place.y(row), HEADER_PX, row.height)
                paint_header(painter, rect, look, self._row_selected(row), session.ticker.lit)
        if place.rows.gap_top >= 0:
            y = AXIS_PX + place.rows.gap_top - place.scroll
            painter.fillRect(QRectF(0, y, HEADER_PX, 4), theme.colour("gap"))
        painter.setClipping(False)
        shown = session.local(datetime.fromtimestamp(session.ticker.whole_second, UTC))
        recorders, channels = session.model.recorders, session.model.channels
        corner = f"{plural(len(recorders), 'recorder')} · {plural(len(channels), 'channel')}"
        flags = [
            (place.axis.x(t), f"{session.local(datetime.fromtimestamp(t, UTC)):%H:%M:%S}")
            for t in self.hand.flags()
        ]
        paint_axis(painter, place, ticks, now_x, f"{shown:%H:%M:%S}", corner, flags)
        self.overview.paint(painter, place.axis, place.width, place.height - OVERVIEW_PX, at)
        if not place.rows.all:
            self._empty(painter, place)

    def _row_selected(self, row: Row) -> bool:
        return self.selected_row == (row.kind, row.id)

    # Recorders

    def _lanes(
        self, painter: QPainter, place: Place, rows: Sequence[Row], now: datetime, now_x: float
    ) -> None:
        """What is over lies under what is planned, and what the filter does not ask for under everything."""
        layers = {
            key: BarLayer(now_x, HEADER_PX)
            for key in ((True, False), (True, True), (False, False), (False, True))
        }
        for row in rows:
            self._lane(painter, place, row, now, layers)
        lit = self.known.session.ticker.lit
        for (dim, _), layer in layers.items():
            painter.setOpacity(0.35 if dim else 1.0)
            layer.paint(painter, lit)
        for window in self.selected_bars():
            rect = self.bar_rect(place, window)
            if rect is not None and window.id not in self.hand.hidden:
                self._selection(painter, rect.toRect().toRectF())

    def _lane(
        self,
        painter: QPainter,
        place: Place,
        row: Row,
        now: datetime,
        layers: dict[tuple[bool, bool], BarLayer],
    ) -> None:
        lane = self.known.lanes.lane(row.id)
        axis = place.axis
        found = lane.between(axis.begin, axis.end)
        if not found:
            return
        part = slice(found.start, found.stop)
        scale = axis.width / axis.span
        lefts = np.round(axis.left + (lane.starts[part] - axis.begin) * scale)
        rights = np.round(axis.left + (lane.ends[part] - axis.begin) * scale)
        shown = rights > HEADER_PX
        if hidden := self.hand.hidden:
            shown &= ~np.isin(lane.ids[part], list(hidden))
        top = place.y(row) + (row.height - BAR_PX) / 2
        narrow = rights - lefts < NARROW
        if (few := shown & narrow).any():
            picture = slivers(lefts[few], rights[few], lane.codes[part][few], HEADER_PX, int(place.width))
            painter.drawImage(QPointF(HEADER_PX, top), picture)
        filtered = bool(self.known.words)
        for n in np.flatnonzero(shown & ~narrow).tolist():
            window = lane.windows[found.start + n]
            rect = QRectF(lefts[n], top, rights[n] - lefts[n], BAR_PX)
            dim = filtered and not self.known.matches(window)
            layers[dim, window.status in ACTIVE].add(rect, self.known.look(window, now))

    def selected_bars(self) -> list[Window]:
        known = self.known.lanes
        return [w for id in self.selected if (w := known.window(id)) is not None and is_shown(w)]

    def _selection(self, painter: QPainter, rect: QRectF) -> None:
        painter.setPen(QPen(theme.colour("sel"), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(rect.adjusted(1, 1, -1, -1))

    # Channels

    def _channel(self, painter: QPainter, place: Place, row: Row, at: float, now_x: float) -> None:
        channel = self.known.session.model.channels.get(row.id)
        if channel is None:
            return
        top = place.y(row) + (row.height - ITEM_PX) / 2
        found = self.known.blocks(row.id, place.axis.end) if channel.on_air else []
        if not found:
            word = "No playlist times known yet" if channel.on_air else "OFF AIR"
            painter.setPen(theme.colour("t3"))
            texts.draw(painter, max(HEADER_PX, now_x) + 12, top, ITEM_PX, word, "source")
        for block in found:
            if block.start >= place.axis.end:
                break
            end = max(block.end, at) if block.current else block.end
            left, right = round(place.axis.x(block.start)), round(place.axis.x(end))
            if right <= HEADER_PX:
                continue
            self._item(painter, QRectF(left, top, max(1, right - left), ITEM_PX), block, now_x)

    def _item(self, painter: QPainter, rect: QRectF, block: Block, now_x: float) -> None:
        if rect.width() < 5:
            painter.fillRect(rect, theme.colour("on_now" if block.current else "line2"))
            return
        painter.setPen(theme.colour("plan_edge" if block.current else "line2"))
        painter.setBrush(theme.colour("on_now" if block.current else "bg1"))
        painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))
        if block.current:
            done = min(max(now_x, rect.left()), rect.right())
            painter.fillRect(
                QRectF(rect.left(), rect.bottom() - 3, done - rect.left(), 3), theme.colour("live_line")
            )
        x = max(rect.left(), HEADER_PX) + 8
        room = rect.right() - x - 4
        font = "item_bold" if block.current else "item"
        if block.current and room > 60:
            painter.fillRect(QRectF(x, rect.top() + 12, 10, 8), theme.colour("live_line"))
            x, room = x + 18, room - 18
        words = (
            texts.fitted(block.title, font, room)
            if room >= 40 or texts.width(block.title, font) <= room
            else ""
        )
        painter.setPen(theme.colour("t1" if block.current else "t2"))
        texts.draw(painter, x, rect.top(), ITEM_PX - 1, words, font)

    def _empty(self, painter: QPainter, place: Place) -> None:
        words = f"Nothing matches “{self.known.words}”." if self.known.words else EMPTY
        painter.setFont(texts.font_of("item"))
        painter.setPen(theme.colour("t2"))
        painter.drawText(
            QRectF(HEADER_PX + 12, AXIS_PX + 12, place.width - HEADER_PX - 24, 60),
            int(Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap),
            words,
        )

    def bar_rect(self, place: Place, window: Window) -> QRectF | None:
        """Where a window's bar is, whether in view or not; None when its recorder is not shown."""
        row = place.rows.of("recorder", window.recorder_id)
        if row is None:
            return None
        left = place.axis.x(window.start_at.timestamp())
        right = place.axis.x(window.end_at.timestamp())
        top = place.y(row) + (row.height - BAR_PX) / 2
        return QRectF(QPointF(left, top), QPointF(max(right, left + 1), top + BAR_PX))
