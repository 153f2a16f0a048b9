"""Which rows there are, where they stand, and which one a point is in. No Qt here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.playout.model import Channel
from core.recording.model import Recorder

RECORDER_PX = 44
CHANNEL_PX = 40
GAP_PX = 4
HEADER_PX = 216
AXIS_PX = 32
OVERVIEW_PX = 24
BAR_PX = 36  # of a window; centred in its row
ITEM_PX = 32  # of a playlist item


@dataclass(frozen=True, slots=True)
class Row:
    kind: str  # recorder or channel
    id: int
    top: int  # from the top of all rows
    height: int

    @property
    def bottom(self) -> int:
        return self.top + self.height


class Rows:
    def __init__(self, recorders: Sequence[int] = (), channels: Sequence[int] = ()) -> None:
        self.all: list[Row] = []
        top = 0
        for id in recorders:
            self.all.append(Row("recorder", id, top, RECORDER_PX))
            top += RECORDER_PX
        self.gap_top = top if recorders and channels else -1
        if self.gap_top >= 0:
            top += GAP_PX
        for id in channels:
            self.all.append(Row("channel", id, top, CHANNEL_PX))
            top += CHANNEL_PX
        self.height = top
        self._of = {(r.kind, r.id): r for r in self.all}
        self.recorders = list(recorders)

    def at(self, y: float) -> Row | None:
        return next((r for r in self.between(y, y + 1) if r.top <= y < r.bottom), None)

    def between(self, top: float, bottom: float) -> list[Row]:
        """Those that can be seen between two heights."""
        low, high = 0, len(self.all)
        while low < high:
            middle = (low + high) // 2
            if self.all[middle].bottom <= top:
                low = middle + 1
            else:
                high = middle
        found = []
        while low < len(self.all) and self.all[low].top < bottom:
            found.append(self.all[low])
            low += 1
        return found

    def of(self, kind: str, id: int) -> Row | None:
        return self._of.get((kind, id))

    def step(self, recorder: int, by: int) -> int | None:
        """The recorder so many rows below (above when negative)."""
        if recorder not in self.recorders:
            return None
        place = self.recorders.index(recorder) + by
        return self.recorders[place] if 0 <= place < len(self.recorders) else None


def arrange(
    recorders: Sequence[Recorder],
    channels: Sequence[Channel],
    words: str,
    has_window: Callable[[int, str], bool],
) -> Rows:
    """All in their order; with words, only rows that have them in a name, a source or a window's title."""
    wanted = words.strip().casefold()
    order = sorted(recorders, key=lambda r: (r.position, r.name, r.id))
    wall = sorted(channels, key=lambda c: (c.position, c.name, c.id))
    if wanted:
        order = [
            r
            for r in order
            if wanted in r.name.casefold() or wanted in r.source.casefold() or has_window(r.id, wanted)
        ]
        wall = [c for c in wall if wanted in c.name.casefold() or wanted in c.title.casefold()]
    return Rows([r.id for r in order], [c.id for c in wall])
