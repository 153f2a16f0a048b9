"""A table model over a list of rows that is replaced as a whole and changed in place.

`show` works out what was removed, inserted, moved and changed, so that the selection and the scroll
position stay where they are. Meant for lists of some hundred rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gui.table.columns import Cell, Column

AnyIndex = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()
ROW_ROLE = Qt.ItemDataRole.UserRole
CELL_ROLE = Qt.ItemDataRole.UserRole + 1


class Rows(QAbstractTableModel):
    def __init__(
        self,
        columns: Sequence[Column],
        key: Callable[[Any], Hashable],
        tip: Callable[[Any], str] = lambda row: "",
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.columns = list(columns)
        self.rows: list[Any] = []
        self._key = key
        self._tip = tip

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Horizontal and section < len(self.columns):
            if role == Qt.ItemDataRole.DisplayRole:
                return self.columns[section].title
            if role == Qt.ItemDataRole.TextAlignmentRole:
                side = (
                    Qt.AlignmentFlag.AlignRight if self.columns[section].right else Qt.AlignmentFlag.AlignLeft
                )
                return int(side | Qt.AlignmentFlag.AlignVCenter)
        return None

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row = self.rows[index.row()]
        if role == ROW_ROLE:
            return row
        if role == CELL_ROLE:
            return self.cell(index)
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self.cell(index).text
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(row) or None
        return None

    def cell(self, index: AnyIndex) -> Cell:
        return self.columns[index.column()].cell(self.rows[index.row()])

    def position(self, key: Hashable) -> int | None:
        return next((i for i, row in enumerate(self.rows) if self._key(row) == key), None)

    def show(self, wanted: Sequence[Any]) -> None:
        if not wanted or not self.rows:
            # Nothing to keep in place.
            self.beginResetModel()
            self.rows = list(wanted)
            self.endResetModel()
            return
        target = {self._key(row) for row in wanted}
        for i in range(len(self.rows) - 1, -1, -1):
            if self._key(self.rows[i]) not in target:
                self.beginRemoveRows(NOWHERE, i, i)
                del self.rows[i]
                self.endRemoveRows()
        for i, row in enumerate(wanted):
            key = self._key(row)
            if i < len(self.rows) and self._key(self.rows[i]) == key:
                if self.rows[i] != row:
                    self.rows[i] = row
                    self._row_changed(i)
                continue
            found = next((j for j in range(i + 1, len(self.rows)) if self._key(self.rows[j]) == key), None)
            if found is None:
                self.beginInsertRows(NOWHERE, i, i)
                self.rows.insert(i, row)
                self.endInsertRows()
            else:
                self.beginMoveRows(NOWHERE, found, found, NOWHERE, i)
                del self.rows[found]
                self.rows.insert(i, row)
                self.endMoveRows()
                self._row_changed(i)

    def append(self, rows: Sequence[Any]) -> None:
        if rows:
            self.beginInsertRows(NOWHERE, len(self.rows), len(self.rows) + len(rows) - 1)
            self.rows.extend(rows)
            self.endInsertRows()

    def insert(self, at: int, row: Any) -> None:
        self.beginInsertRows(NOWHERE, at, at)
        self.rows.insert(at, row)
        self.endInsertRows()

    def touch(self, *columns: int) -> None:
        """Has cells painted again whose text depends on the time."""
        if self.rows:
            for column in columns:
                self.dataChanged.emit(self.index(0, column), self.index(len(self.rows) - 1, column))

    def _row_changed(self, row: int) -> None:
        self.dataChanged.emit(self.index(row, 0), self.index(row, len(self.columns) - 1))
