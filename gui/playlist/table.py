"""The table of a playlist: several rows can be chosen and dragged to where they shall stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QLineF, QMimeData, QPointF, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QAbstractItemView

from core.playout.model import Item
from gui.table import Rows, Table
from gui.table.model import AnyIndex
from gui.table.view import ROW_HEIGHT
from gui.theme import theme

MIME = "application/x-airlock-items"


class PlaylistRows(Rows):
    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        base = super().flags(index)
        return (
            base | Qt.ItemFlag.ItemIsDragEnabled if index.isValid() else base | Qt.ItemFlag.ItemIsDropEnabled
        )

    def mimeTypes(self) -> list[str]:
        return [MIME]

    def mimeData(self, indexes: Any) -> QMimeData:
        ids = [self.rows[row].item.id for row in sorted({i.row() for i in indexes})]
        data = QMimeData()
        data.setData(MIME, ",".join(map(str, ids)).encode())
        return data


class PlaylistTable(Table):
    moved = Signal(object, object)  # ids, in their order, and the id to stand before (None: the end)
    removed = Signal(object)  # ids
    nudged = Signal(int)  # one up or down

    def __init__(self, model: PlaylistRows, name: str, empty: str, why_not: Callable[[], str | None]) -> None:
        super().__init__(model, name, empty)
        self._why_not = why_not
        self._gap: int | None = None  # above which row a drop would go
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setDragEnabled(True)
        self.setAcceptDrops(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.setDropIndicatorShown(False)  # painted here, as an operator's hand is: white

    def chosen_items(self) -> list[Item]:
        rows = sorted(i.row() for i in self.selectionModel().selectedRows())
        return [self.rows_model.rows[row].item for row in rows]

    # Dragging

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasFormat(MIME) and self._why_not() is None:
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        if not event.mimeData().hasFormat(MIME) or self._why_not() is not None:
            event.ignore()
            return
        self._show_gap(self._gap_at(event.position()))
        event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._show_gap(None)

    def dropEvent(self, event: QDropEvent) -> None:
        gap = self._gap_at(event.position())
        self._show_gap(None)
        if not event.mimeData().hasFormat(MIME) or self._why_not() is not None:
            event.ignore()
            return
        ids = [int(n) for n in bytes(event.mimeData().data(MIME).data()).decode().split(",") if n]
        # The model is told by the feed; Qt must not take the rows out by itself.
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        self.move_to(ids, gap)

    def move_to(self, ids: list[int], gap: int) -> None:
        """Asks for the items to stand above the row `gap`."""
        rows = [row.item.id for row in self.rows_model.rows]
        before = next((id for id in rows[gap:] if id not in ids), None)
        rest = [id for id in rows if id not in ids]
        at = len(rest) if before is None else rest.index(before)
        if [*rest[:at], *ids, *rest[at:]] != rows:
            self.moved.emit(ids, before)

    def _gap_at(self, position: QPointF) -> int:
        y = position.y() + self.verticalScrollBar().value()
        return min(max(0, round(y / ROW_HEIGHT)), self.rows_model.rowCount())

    def _show_gap(self, gap: int | None) -> None:
        if gap != self._gap:
            self._gap = gap
            self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._gap is not None:
            painter = QPainter(self.viewport())
            y = max(1.0, self._gap * ROW_HEIGHT - self.verticalScrollBar().value())
            painter.setPen(QPen(theme.colour("inv"), 2))
            painter.drawLine(QLineF(0, y, self.viewport().width(), y))
            painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        alt = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        if event.key() == Qt.Key.Key_Delete:
            self.removed.emit([item.id for item in self.chosen_items()])
        elif alt and event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.nudged.emit(-1 if event.key() == Qt.Key.Key_Up else 1)
        else:
            super().keyPressEvent(event)
