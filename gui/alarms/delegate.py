"""Paints a row of the alarm list: the band, the flashing shape, the section titles and the Ack button."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractItemModel, QEvent, QModelIndex, QPersistentModelIndex, QRect, QRectF, Qt
from PySide6.QtGui import QMouseEvent, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from gui import fonts
from gui.alarms.listing import ACK, SHAPE, AlarmRow
from gui.glyphs import paint_priority
from gui.table.delegate import EDGE, RowDelegate
from gui.table.model import ROW_ROLE
from gui.theme import theme

if TYPE_CHECKING:
    from core.alarms.model import Alarm
    from gui.session import Session
    from gui.table import Table

AnyIndex = QModelIndex | QPersistentModelIndex


class AlarmDelegate(RowDelegate):
    def __init__(self, table: Table, session: Session, acknowledge: Callable[[Alarm], None]) -> None:
        super().__init__(table)
        self._session = session
        self._acknowledge = acknowledge
        self.why_not: Callable[[Alarm], str | None] = lambda alarm: None
        self._pressed: int | None = None

    def is_old(self, index: AnyIndex) -> bool:
        row: AlarmRow = index.data(ROW_ROLE)
        return self.table.old and (row.alarm is None or not row.alarm.local)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row: AlarmRow = index.data(ROW_ROLE)
        if row.alarm is None:
            self._paint_section(painter, option.rect, row.section)
            return
        super().paint(painter, option, index)
        if index.column() == SHAPE:
            self._paint_shape(painter, option.rect, row.alarm)
        elif index.column() == ACK and self._asks(row):
            self._paint_button(painter, option.rect, row, index)

    def _asks(self, row: AlarmRow) -> bool:
        return row.alarm is not None and row.alarm.open and row.alarm.unacked

    def _paint_section(self, painter: QPainter, rect: QRect, title: str) -> None:
        painter.fillRect(rect, theme.colour("bg2"))
        painter.setFont(fonts.text(12))
        painter.setPen(theme.colour("t2"))
        # Every cell paints its part of the one line that runs across all of them.
        painter.save()
        painter.setClipRect(rect)
        whole = QRectF(EDGE, rect.top(), self.table.viewport().width(), rect.height())
        painter.drawText(whole, Qt.AlignmentFlag.AlignVCenter, title)
        painter.restore()

    def _paint_shape(self, painter: QPainter, rect: QRect, alarm: Alarm) -> None:
        shelved = alarm.shelved(self._session.now())
        asks = alarm.open and alarm.unacked and not shelved
        token = f"p{int(alarm.rank)}" if alarm.active and not shelved else "t3"
        if asks:
            painter.fillRect(rect.left(), rect.top(), 4, rect.height() - 1, theme.colour(token))
        area = QRectF(rect.left() + EDGE, rect.top() + (rect.height() - 1 - 20) / 2, 20, 20)
        paint_priority(painter, int(alarm.rank), area, filled=asks and self._session.ticker.lit, token=token)

    # The button

    def button_rect(self, rect: QRect) -> QRect:
        return QRect(rect.right() - EDGE - 40, rect.top() + 3, 41, 20)

    def _paint_button(self, painter: QPainter, rect: QRect, row: AlarmRow, index: AnyIndex) -> None:
        assert row.alarm is not None
        works = not row.pending and self.why_not(row.alarm) is None
        area = self.button_rect(rect)
        over = area.contains(self.table.viewport().mapFromGlobal(self.table.cursor().pos()))
        down = works and self._pressed == index.row()
        painter.fillRect(area, theme.colour("bg4" if down else "bg3" if works else "bg1"))
        painter.setPen(theme.colour("line" if not works else "line3" if over else "line2"))
        painter.drawRect(area.adjusted(0, 0, -1, -1))
        painter.setFont(fonts.text(12))
        painter.setPen(theme.colour("t1" if works else "dis"))
        painter.drawText(area, Qt.AlignmentFlag.AlignCenter, "Ack")

    def editorEvent(
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: AnyIndex
    ) -> bool:
        row: AlarmRow = index.data(ROW_ROLE)
        if index.column() != ACK or not self._asks(row) or not isinstance(event, QMouseEvent):
            return super().editorEvent(event, model, option, index)
        inside = self.button_rect(option.rect).contains(event.position().toPoint())
        if (
            event.type() == QEvent.Type.MouseButtonPress
            and inside
            and event.button() == Qt.MouseButton.LeftButton
        ):
            self._pressed = index.row()
            self.table.viewport().update()
            return True
        if event.type() == QEvent.Type.MouseButtonRelease:
            hit = inside and self._pressed == index.row()
            self._pressed = None
            self.table.viewport().update()
            if hit and not row.pending and row.alarm is not None and self.why_not(row.alarm) is None:
                self._acknowledge(row.alarm)
            return hit
        return super().editorEvent(event, model, option, index)
