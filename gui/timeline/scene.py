"""The one picture of the timeline: everything in the order in which it lies, painted into one item.

1. lanes, and the hatch over what is old   2. grid   3. the now-line   4. bars with their text
5. row headers, what is dragged, overlaps, the callout
"""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from core.recording.model import Window
from gui.theme import theme
from gui.timeline import texts
from gui.timeline.axis import ticks_of
from gui.timeline.hits import Place
from gui.timeline.knowledge import Knowledge
from gui.timeline.overview import Overview
from gui.timeline.paint_bars import EDGE, FILL, SLIVER, paint_bar
from gui.timeline.paint_drag import Hand, paint_guides, paint_hand, paint_waiting
from gui.timeline.paint_frame import paint_axis, paint_grid, paint_header, paint_lanes, paint_now_line
from gui.timeline.playlist import Block
from gui.timeline.rows import AXIS_PX, BAR_PX, HEADER_PX, ITEM_PX, OVERVIEW_PX, Row
from gui.words import plural

CODE_KINDS = ("pending", "starting", "running", "stopping", "completed", "failed", "missed", "cancelled")
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
        for row in rows:
            if row.kind == "recorder":
                self._lane(painter, place, row, now, now_x)
            else:
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

    def _lane(self, painter: QPainter, place: Place, row: Row, now: datetime, now_x: float) -> None:
        lane = self.known.lanes.lane(row.id)
        axis = place.axis
        found = lane.between(axis.begin, axis.end)
        if not found:
            return
        part = slice(found.start, found.stop)
        lefts = axis.left + (lane.starts[part] - axis.begin) * (axis.width / axis.span)
        rights = axis.left + (lane.ends[part] - axis.begin) * (axis.width / axis.span)
        lefts, rights = np.round(lefts), np.round(rights)
        wide = rights - lefts
        top = place.y(row) + (row.height - BAR_PX) / 2
        slivers = wide < SLIVER
        if slivers.any():
            self._slivers(
                painter, lefts[slivers], np.maximum(wide[slivers], 1.0), lane.codes[part][slivers], top
            )
        lit = self.known.session.ticker.lit
        hidden = self.hand.hidden
        for n in np.flatnonzero(~slivers):
            window = lane.windows[found.start + int(n)]
            rect = QRectF(lefts[n], top, wide[n], BAR_PX)
            if window.id in hidden:
                continue
            dim = not self.known.matches(window)
            if dim:
                painter.setOpacity(0.35)
            paint_bar(painter, rect, self.known.look(window, now), now_x, HEADER_PX, lit)
            if dim:
                painter.setOpacity(1.0)
            if window.id in self.selected:
                self._selection(painter, rect)

    def _slivers(
        self, painter: QPainter, lefts: np.ndarray, wide: np.ndarray, codes: np.ndarray, top: float
    ) -> None:
        """Bars too narrow to be more than a rectangle, all of one status at once."""
        for code in np.unique(codes):
            kind = CODE_KINDS[code]
            mine = codes == code
            rects = [
                QRectF(x, top, w, BAR_PX)
                for x, w in zip(lefts[mine].tolist(), wide[mine].tolist(), strict=True)
            ]
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(
                theme.colour(
                    EDGE[kind] if kind in ("pending", "missed", "failed") else FILL.get(kind, "line3")
                )
            )
            if kind in ("running", "starting", "stopping"):
                painter.setBrush(theme.colour("live_line"))
            painter.drawRects(rects)

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
        if rect.width() < SLIVER:
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
