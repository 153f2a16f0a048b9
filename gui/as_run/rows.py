"""The as-run log as a table model: as many rows as the log has, of which some are held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt

from core.playout.model import AsRunRow
from gui.as_run.pages import Pages, key_of
from gui.table import Cell, Column, Rows
from gui.table.model import CELL_ROLE, NOWHERE, ROW_ROLE, AnyIndex

WAITING = Cell("…", "t3")


class AsRunRows(Rows):
    def __init__(
        self, columns: Sequence[Column], tip: Callable[[Any], str], parent: QObject | None = None
    ) -> None:
        super().__init__(columns, lambda row: row.id, tip, parent)
        self.pages = Pages()

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.pages)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self.pages):
            return None
        if role == ROW_ROLE:
            return self.pages.row(index.row())
        if role == CELL_ROLE:
            return self.cell(index)
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self.cell(index).text
        if role == Qt.ItemDataRole.ToolTipRole:
            row = self.pages.row(index.row())
            return (self._tip(row) or None) if row is not None else None
        return None

    def cell(self, index: AnyIndex) -> Cell:
        row = self.pages.row(index.row())
        if row is None:
            return WAITING if index.column() == 0 else Cell()
        return self.columns[index.column()].cell(row)

    # Changing

    def start(self, head: Sequence[AsRunRow], total: int) -> None:
        self.beginResetModel()
        self.pages.start(head, total)
        self.endResetModel()

    def grow(self, total: int) -> None:
        """Says how long the log is, below the newest rows that are shown."""
        here = len(self.pages)
        if total > here:
            self.beginInsertRows(NOWHERE, here, total - 1)
            self.pages.below += total - here
            self.endInsertRows()

    def put(self, page: int, rows: Sequence[AsRunRow]) -> None:
        first, last = self.pages.put(page, rows)
        self.dataChanged.emit(self.index(first, 0), self.index(last, len(self.columns) - 1))

    def update_row(self, row: AsRunRow) -> None:
        for at, old in self.pages.open_rows():
            if old.id == row.id:
                self.pages.replace(at, row)
                self._row_changed(at)

    def merge(self, newest: Sequence[AsRunRow]) -> int | None:
        """Brings the head up to what the newest page says. How many came; None when it cannot be put in."""
        known = {row.id: at for at, row in enumerate(self.pages.head)}
        if newest:
            there, reach = {row.id for row in newest}, key_of(newest[-1])
            gone = [r for r in self.pages.head if key_of(r) >= reach and r.id not in there]
            if gone:
                return None  # it no longer matches the filter
        for row in newest:
            at = known.get(row.id)
            if at is not None and self.pages.head[at] != row:
                self.pages.head[at] = row
                self._row_changed(at)
        new = [row for row in reversed(newest) if row.id not in known]
        for row in new:
            place = self.pages.place(row)
            if place is None:
                # Older than the newest page and yet on it: only when the log is shorter than a page.
                return None
            self.beginInsertRows(NOWHERE, place, place)
            self.pages.head.insert(place, row)
            self.endInsertRows()
        return len(new)

    def tick(self, column: int) -> None:
        """Has the growing durations painted again."""
        for at, _ in self.pages.open_rows():
            self.dataChanged.emit(self.index(at, column), self.index(at, column))
