"""Who leads, and whether the database answers. A diamond for a scheduler, a crossed square for none."""

from __future__ import annotations

from datetime import timedelta

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from core.roles import Role
from gui import fonts
from gui.glyphs import paint_glyph
from gui.header.cell import Cell, line, put
from gui.parts import styled
from gui.session import Session
from gui.theme import theme
from gui.words import milliseconds

LATE = timedelta(seconds=0.5)  # the picture of the lease is up to this old


class BadgeCell(Cell):
    wide, least, narrow = 280, 264, 204

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__("Scheduler", parent)
        self._session = session
        self._glyph = "follower"
        self.lost = False
        self.title = line(self, fonts.text(24, 700, 0.4))
        self.detail = line(self, fonts.text(12), "second", elide=True)
        self.reply = line(self, fonts.figures(12), "second")
        session.ticker.second.connect(self.refresh)
        session.bridge.lead_changed.connect(self.refresh)
        session.bridge.feed_changed.connect(self.refresh)
        session.bridge.stale_changed.connect(lambda _: self.refresh())
        theme.changed.connect(self.update)
        self.refresh()

    def refresh(self) -> None:
        title, detail, reply, self._glyph = self._words()
        self.lost = self._session.stale
        self.title.show_text(title)
        self.detail.show_text(detail)
        self.reply.show_text(reply)
        tone = "on-critical" if self.lost else ""
        styled(self, surface="critical" if self.lost else "bar")
        styled(self.title, tone=tone)
        for label in (self.detail, self.reply):
            styled(label, tone=tone or "second")
        self.detail.setFont(fonts.text(12, 500 if self.lost else 400))
        self.setAccessibleDescription(f"{title}, {detail} {reply}")
        self.arrange()
        self.update()

    def _words(self) -> tuple[str, str, str, str]:
        station = self._session.station
        leader = self._session.model.leader
        round_trip = station.clock.round_trip
        reply = milliseconds(None if round_trip is None else round_trip * 1000)
        if not self.dense:
            reply = f"database {reply}"
        reply = f" · {reply}"
        if self._session.stale:
            was = (
                f"FOLLOWER of {leader.station}"
                if leader is not None and leader.station != station.name
                else station.name
            )
            return "NO DATABASE", f"{was} · no reply", "", "close"
        if station.leading:
            return "LEADER", station.name, reply, "leader"
        if leader is None or not leader.leads_at(self._session.now() - LATE):
            return "NO LEADER", "election under way", reply, "follower"
        if station.role == Role.VIEWER:
            return "VIEWER", f"{leader.station} leads", reply, "follower"
        return "FOLLOWER", f"of {leader.station}", reply, "follower"

    def set_dense(self, dense: bool) -> None:
        super().set_dense(dense)
        self.refresh()

    def arrange(self) -> None:
        left = 38 if self.dense else 48
        self.title.setFont(fonts.text(20 if self.dense else 24, 700, 0.4))
        put(self.title, left, 4, 28)
        reply = (
            self.reply.fontMetrics().horizontalAdvance(self.reply.full_text) + 3
            if self.reply.full_text
            else 0
        )
        name = self.detail.fontMetrics().horizontalAdvance(self.detail.full_text) + 2
        end = put(self.detail, left, 32, 16, min(name, self.width() - left - reply - 6))
        put(self.reply, end, 32, 16, reply)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        left = 10 if self.dense else 16
        if self.lost:
            self._paint_cross(painter, left - 2)
        else:
            size = 16 if self.dense else 20
            paint_glyph(painter, self._glyph, QRectF(left, 27 - size / 2, size, size), "t1")
        painter.end()

    def _paint_cross(self, painter: QPainter, left: float) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        size = 20.0 if self.dense else 24.0
        square = QRectF(left + 1, 28 - size / 2, size - 2, size - 2)
        painter.fillRect(square, theme.colour("on_p"))
        painter.setPen(QPen(QColor(theme.palette.p1), 3))
        inner = square.adjusted(5, 5, -5, -5)
        painter.drawLine(inner.topLeft(), inner.bottomRight())
        painter.drawLine(QPointF(inner.right(), inner.top()), QPointF(inner.left(), inner.bottom()))
