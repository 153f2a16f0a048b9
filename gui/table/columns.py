"""What a column is, and how the columns of a table share its width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Cell:
    """How one cell looks. `tone` names a colour of the palette."""

    text: str = ""
    tone: str = "t1"
    bold: bool = False
    mono: bool = False
    figures: bool = False  # changes with time
    glyph: str = ""
    glyph_tone: str = ""
    indent: int = 0


@dataclass(frozen=True)
class Column:
    title: str
    width: int  # of a column with a share: the least it may have
    cell: Callable[[Any], Cell]
    share: int = 0  # of the width that is left over
    drop: int = 0  # goes when the table is narrow, the highest first; 0 stays
    right: bool = False


def fit(columns: Sequence[Column], width: int) -> list[int]:
    """The width of each column, 0 for one that had to go."""
    shown = set(range(len(columns)))
    while sum(columns[i].width for i in shown) > width:
        droppable = [i for i in shown if columns[i].drop]
        if not droppable:
            break
        shown.discard(max(droppable, key=lambda i: columns[i].drop))
    left = max(0, width - sum(columns[i].width for i in shown))
    shares = sum(columns[i].share for i in shown)
    widths = [0] * len(columns)
    given = 0
    for i in sorted(shown):
        extra = left * columns[i].share // shares if shares else 0
        widths[i] = columns[i].width + extra
        given += extra
    sharing = [i for i in sorted(shown) if columns[i].share]
    if sharing:
        widths[sharing[-1]] += left - given
    return widths
