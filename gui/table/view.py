"""The table widget: fixed heights, columns that share the width, empty text, keyboard first."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView, QWidget

from gui import fonts
from gui.table.columns import fit
from gui.table.delegate import EDGE, RowDelegate
from gui.table.model import ROW_ROLE, Rows
from gui.theme import theme

ROW_HEIGHT = 28
HEADER_HEIGHT = 24


class _Header(QHeaderView):
    """Column titles, painted so that they stand exactly over the text below them."""

    def __init__(self, table: Table) -> None:
        super().__init__(Qt.Orientation.Horizontal, table)
        self._table = table
        self.setFixedHeight(HEADER_HEIGHT)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setMinimumSectionSize(0)
        self.setSectionsClickable(False)
        self.setHighlightSections(False)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        painter.fillRect(rect, theme.colour("bg2"))
        painter.setPen(theme.colour("gap"))
        painter.drawLine(rect.topLeft(), rect.topRight())
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        left = EDGE if section == self._table.first_column else 0
        right = EDGE if section == self._table.last_column else 8
        side = Qt.AlignmentFlag.AlignRight if self._table.is_right(section) else Qt.AlignmentFlag.AlignLeft
        painter.setFont(fonts.text(12, 500))
        painter.setPen(theme.colour("t2"))
        title = self._table.rows_model.columns[section].title
        painter.drawText(
            QRectF(rect.adjusted(left, 0, -right, 0)), int(side | Qt.AlignmentFlag.AlignVCenter), title
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(self.viewport().rect(), theme.colour("bg2"))
        painter.end()
        super().paintEvent(event)


class Table(QTableView):
    opened = Signal(object)  # a row, by double click or Enter
    chosen = Signal(object)  # the selected row, or None

    def __init__(self, model: Rows, name: str, empty: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows_model = model
        self.empty = empty
        self.old = False
        self.first_column, self.last_column = 0, len(model.columns) - 1
        self.setAccessibleName(name)
        self.setHorizontalHeader(_Header(self))
        self.setModel(model)
        self.setItemDelegate(RowDelegate(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        self.setWordWrap(False)
        rows = self.verticalHeader()
        rows.hide()
        rows.setMinimumSectionSize(ROW_HEIGHT)
        rows.setDefaultSectionSize(ROW_HEIGHT)
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalScrollBar().setSingleStep(ROW_HEIGHT)
        self.doubleClicked.connect(lambda index: self.opened.emit(index.data(ROW_ROLE)))
        self.selectionModel().selectionChanged.connect(lambda *_: self.chosen.emit(self.chosen_row()))
        theme.changed.connect(self.viewport().update)

    def chosen_row(self) -> object | None:
        rows = self.selectionModel().selectedRows()
        return rows[0].data(ROW_ROLE) if rows else None

    def choose(self, row: int) -> None:
        flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        self.selectionModel().setCurrentIndex(self.rows_model.index(row, 0), flags)

    def is_right(self, column: int) -> bool:
        return self.rows_model.columns[column].right

    def set_old(self, old: bool) -> None:
        if old != self.old:
            self.old = old
            self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        widths = fit(self.rows_model.columns, self.viewport().width())
        shown = [i for i, width in enumerate(widths) if width]
        self.first_column, self.last_column = shown[0], shown[-1]
        for column, width in enumerate(widths):
            self.setColumnHidden(column, not width)
            if width:
                self.setColumnWidth(column, width)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and (row := self.chosen_row()) is not None:
            self.opened.emit(row)
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.rows_model.rowCount() == 0 and self.empty:
            painter = QPainter(self.viewport())
            painter.setFont(fonts.text(13))
            painter.setPen(theme.colour("t2"))
            area = QRectF(self.viewport().rect()).adjusted(EDGE, 12, -EDGE, -12)
            flags = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
            painter.drawText(area, int(flags), self.empty)
            painter.end()
