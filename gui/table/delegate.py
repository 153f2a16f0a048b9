"""Paints the cells of a table: ground, hairline, selection, glyph, text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gui import fonts
from gui.glyphs import paint_glyph
from gui.hatch import hatch
from gui.table.columns import Cell
from gui.table.model import CELL_ROLE
from gui.theme import theme

if TYPE_CHECKING:
    from gui.table.view import Table

EDGE = 12  # kept free at both ends of a row
GAP = 8  # kept free at the end of each cell


class RowDelegate(QStyledItemDelegate):
    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.table = table

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        self.paint_ground(painter, option, index)
        cell: Cell = index.data(CELL_ROLE)
        self.paint_cell(
            painter, self.content(option.rect, index.column()), cell, self.table.is_right(index.column())
        )

    def content(self, rect: QRect, column: int) -> QRect:
        """Where the text of a cell goes: rows have a margin at both ends."""
        left = EDGE if column == self.table.first_column else 0
        right = EDGE if column == self.table.last_column else GAP
        return rect.adjusted(left, 0, -right, -1)

    def is_old(self, index: QModelIndex | QPersistentModelIndex) -> bool:
        """Whether what the row shows can no longer be confirmed."""
        return self.table.old

    def paint_ground(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        rect = option.rect
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.fillRect(rect, theme.colour("selbg" if selected else "bg1alt" if index.row() % 2 else "bg1"))
        if self.is_old(index) and not selected:
            painter.save()
            painter.setBrushOrigin(QPoint(0, rect.top() - index.row() * rect.height()))
            painter.fillRect(rect, hatch(theme.colour("hatch")))
            painter.restore()
        painter.setPen(theme.colour("row"))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        if selected:
            self._paint_selection(painter, rect, index.column())

    def _paint_selection(self, painter: QPainter, rect: QRect, column: int) -> None:
        painter.setPen(theme.colour("sel" if self.table.hasFocus() else "line3"))
        bottom = rect.bottom() - 1
        painter.drawLine(rect.left(), rect.top(), rect.right(), rect.top())
        painter.drawLine(rect.left(), bottom, rect.right(), bottom)
        if column == self.table.first_column:
            painter.drawLine(rect.left(), rect.top(), rect.left(), bottom)
        if column == self.table.last_column:
            painter.drawLine(rect.right(), rect.top(), rect.right(), bottom)

    @staticmethod
    def font(cell: Cell) -> QFont:
        weight = 600 if cell.bold else 400
        if cell.mono:
            return fonts.mono(13, weight)
        return fonts.figures(13, weight) if cell.figures else fonts.text(13, weight)

    def paint_cell(self, painter: QPainter, rect: QRect, cell: Cell, right: bool = False) -> None:
        area = QRectF(rect).adjusted(cell.indent, 0, 0, 0)
        if cell.glyph:
            paint_glyph(
                painter,
                cell.glyph,
                QRectF(area.left(), area.center().y() - 6, 12, 12),
                cell.glyph_tone or cell.tone,
            )
            area.setLeft(area.left() + 20)
        font = self.font(cell)
        text = QFontMetricsF(font).elidedText(cell.text, Qt.TextElideMode.ElideRight, area.width())
        painter.setFont(font)
        painter.setPen(theme.colour(cell.tone))
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.drawText(area, int(side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine), text)
