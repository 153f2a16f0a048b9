"""Tables as every panel has them: rows of 28 px, a header of 24, one selected row, text painted by us."""

from gui.table.columns import Cell, Column
from gui.table.model import Rows
from gui.table.view import Table

__all__ = ["Cell", "Column", "Rows", "Table"]
