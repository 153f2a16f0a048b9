"""Paints the cells of a table: ground, hairline, selection, glyph, text.

A table that scrolls paints a hundred cells a frame: what is the same for many of them is worked out once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPixmap
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from gui import fonts
from gui.glyphs import pixmap
from gui.hatch import hatch
from gui.table.columns import Cell
from gui.theme import theme

if TYPE_CHECKING:
    from gui.table.view import Table

EDGE = 12  # kept free at both ends of a row
GAP = 8  # kept free at the end of each cell
_LINE = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
SIDES = {False: int(Qt.AlignmentFlag.AlignLeft | _LINE), True: int(Qt.AlignmentFlag.AlignRight | _LINE)}


@lru_cache(maxsize=16)
def _face(mono: bool, figures: bool, bold: bool) -> tuple[QFont, QFontMetricsF]:
    weight = 600 if bold else 400
    made = fonts.mono if mono else fonts.figures if figures else fonts.text
    font = made(13, weight)
    return font, QFontMetricsF(font)


@lru_cache(maxsize=4096)
def _elided(text: str, mono: bool, figures: bool, bold: bool, width: float) -> str:
    _, metrics = _face(mono, figures, bold)
    return metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)


@lru_cache(maxsize=256)
def _stamp(glyph: str, tone: str, _palette: str, _ratio: float) -> QPixmap:
    """A glyph, drawn once for a palette and a screen."""
    return pixmap(glyph, tone, 12)


class RowDelegate(QStyledItemDelegate):
    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.table = table

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        self.paint_ground(painter, option, index)
        cell = self.table.rows_model.cell(index)
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
        selected = self.table.selectionModel().isSelected(index)
        painter.fillRect(rect, theme.colour("selbg" if selected else "bg1alt" if index.row() % 2 else "bg1"))
        if self.is_old(index) and not selected:
            painter.save()
            painter.setBrushOrigin(QPoint(0, rect.top() - index.row() * rect.height()))
            painter.fillRect(rect, hatch(theme.colour("hatch")))
            painter.restore()
        painter.fillRect(rect.x(), rect.bottom(), rect.width(), 1, theme.colour("row"))
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
        return _face(cell.mono, cell.figures, cell.bold)[0]

    def paint_cell(self, painter: QPainter, rect: QRect, cell: Cell, right: bool = False) -> None:
        area = QRectF(rect).adjusted(cell.indent, 0, 0, 0)
        if cell.glyph:
            ratio = self.table.devicePixelRatioF()
            stamp = _stamp(cell.glyph, cell.glyph_tone or cell.tone, theme.palette.name, ratio)
            painter.drawPixmap(round(area.left()), round(area.center().y() - 6), stamp)
            area.setLeft(area.left() + 20)
        if not cell.text:
            return
        painter.setFont(self.font(cell))
        painter.setPen(theme.colour(cell.tone))
        text = _elided(cell.text, cell.mono, cell.figures, cell.bold, area.width())
        painter.drawText(area, SIDES[right], text)
