"""Bars too narrow for a mark: a row of them is one small picture, worked out by columns however many there are.

Each status keeps its pattern: hollow is missed, hatched is failed, solid is over or under way, framed is to come.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PySide6.QtGui import QImage

from gui.theme import theme
from gui.timeline.lanes import CODES, Floats
from gui.timeline.rows import BAR_PX

NARROW = 36.0  # px below which a bar is one of these
FRAMED = 8  # px from which there is room for a frame around the fill

Pixels = npt.NDArray[np.uint32]

_FILL = {
    "pending": "bg2", "starting": "live_line", "running": "live_dim", "stopping": "live_dim", "completed": "done",
    "failed": "bg0", "missed": "bg0", "cancelled": "done",
}  # fmt: skip
_EDGE = {
    "pending": "plan_edge", "starting": "live_line", "running": "live_line", "stopping": "live_line",
    "completed": "done_edge", "failed": "line3", "missed": "line3", "cancelled": "done_edge",
}  # fmt: skip
_FAILED = CODES["failed"]


@lru_cache(maxsize=4)
def _colours(_theme: str) -> tuple[Pixels, Pixels]:
    names = sorted(CODES, key=lambda n: CODES[n])
    made = [np.array([theme.colour(t[n]).rgba() for n in names], np.uint32) for t in (_FILL, _EDGE)]
    return made[0], made[1]


@lru_cache(maxsize=4)
def _hatch(width: int) -> npt.NDArray[np.bool_]:
    y, x = np.ogrid[:BAR_PX, :width]
    crossed: npt.NDArray[np.bool_] = ((x + y) % 8 == 0) | ((x - y) % 8 == 0)
    return crossed


def slivers(lefts: Floats, rights: Floats, codes: npt.NDArray[np.uint8], begin: int, end: int) -> QImage:
    """The picture of a row from one x to another. `lefts` increase; each bar is at least a pixel wide."""
    fills, edges = _colours(theme.palette.name)
    xs = np.arange(begin, end, dtype=np.float64)
    place = np.searchsorted(lefts, xs, "right") - 1
    known = np.maximum(place, 0)
    right = np.maximum(rights, lefts + 1)[known]
    inside = (place >= 0) & (xs < right)
    code, left = codes[known], lefts[known]
    room = right - left >= FRAMED
    frame = inside & room & ((xs == left) | (xs == right - 1))
    # Too narrow for a frame: the edge's colour says more than the fill's. A pixel stays free between two.
    thin = inside & ~room
    inside &= room | (xs < right - 1) | (right - left < 3)
    body = np.where(frame | thin, edges[code], fills[code]) * inside
    picture: Pixels = np.empty((BAR_PX, end - begin), np.uint32)
    picture[:] = body
    cap = edges[code] * inside
    picture[0] = picture[-1] = cap
    failed = inside & (code == _FAILED)
    if failed.any():
        picture[_hatch(end - begin) & failed] = edges[_FAILED]
    return QImage(
        picture.data, end - begin, BAR_PX, picture.strides[0], QImage.Format.Format_ARGB32_Premultiplied
    ).copy()
