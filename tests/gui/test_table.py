"""The table model changes in place, so that what the operator looks at stays where it is."""

from __future__ import annotations

import random

from PySide6.QtWidgets import QApplication

from gui.table import Cell, Column, Rows, Table
from gui.table.columns import fit

COLUMNS = [Column("Name", 80, lambda r: Cell(r[1]), share=1), Column("Far", 60, lambda r: Cell("x"), drop=1)]


def table() -> Table:
    return Table(Rows(COLUMNS, lambda row: row[0]), "test", "empty")


def test_the_selection_follows_its_row(dressed: QApplication) -> None:
    view = table()
    view.rows_model.show([(1, "a"), (2, "b"), (3, "c")])
    view.choose(1)
    view.rows_model.show([(3, "c"), (9, "new"), (2, "B"), (1, "a")])
    assert view.chosen_row() == (2, "B")
    view.rows_model.show([(3, "c")])
    assert view.chosen_row() is None or view.chosen_row() == (3, "c")


def test_any_list_becomes_any_other(dressed: QApplication) -> None:
    chance = random.Random(5)
    view = table()
    for _ in range(200):
        wanted = [(i, str(chance.random())) for i in chance.sample(range(12), chance.randint(0, 12))]
        view.rows_model.show(wanted)
        assert view.rows_model.rows == wanted
        assert view.model().rowCount() == len(wanted)


def test_rows_and_header_have_their_heights(dressed: QApplication) -> None:
    view = table()
    view.rows_model.show([(i, str(i)) for i in range(50)])
    view.resize(400, 300)
    view.show()
    assert {view.rowHeight(i) for i in range(50)} == {28}
    assert view.horizontalHeader().height() == 24
    view.close()


def test_narrow_tables_drop_columns_and_use_all_the_width() -> None:
    assert fit(COLUMNS, 400) == [340, 60]
    assert fit(COLUMNS, 100) == [100, 0]
    assert sum(fit(COLUMNS, 1001)) == 1001
