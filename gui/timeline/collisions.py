"""What a planned change would run into, named, the repeats of a series included. No Qt here.

The database decides in the end; this is the same rule over what the station knows, so that a drop which
cannot succeed is never sent.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from core.recording.model import Window
from gui.timeline.lanes import Lanes
from gui.words import clock


@dataclass(frozen=True, slots=True)
class Piece:
    """A window as it would be. `window` is the one it comes from; None when it is drawn anew."""

    window: Window | None
    recorder: int
    start: float
    end: float

    @property
    def changed(self) -> bool:
        w = self.window
        return w is None or (self.recorder, self.start, self.end) != (
            w.recorder_id,
            w.start_at.timestamp(),
            w.end_at.timestamp(),
        )


@dataclass(frozen=True, slots=True)
class Collision:
    piece: Piece
    other: Window
    begin: float
    end: float
    repeat: bool = False  # a later occurrence of the series would collide, not this window

    @property
    def length(self) -> float:
        return self.end - self.begin

    def sentence(self, recorder: str, zone: tzinfo) -> str:
        other = self.other
        start = datetime.fromtimestamp(other.start_at.timestamp(), zone)
        end = datetime.fromtimestamp(other.end_at.timestamp(), zone)
        day = f"{start:%a} {start.day} {start:%b} " if self.repeat else ""
        return (
            f"{recorder} is taken by {other.name}, {day}{start:%H:%M}–{end:%H:%M} (for {clock(self.length)})"
        )


def collisions(
    pieces: Sequence[Piece], lanes: Lanes, copy: bool = False, gone: Collection[int] = ()
) -> list[Collision]:
    """Those of the pieces themselves, the longest overlap first. `gone` are windows that will not be there."""
    moved = set(gone) if copy else {p.window.id for p in pieces if p.window is not None} | set(gone)
    found = []
    for piece in pieces:
        for other in lanes.lane(piece.recorder).active_between(piece.start, piece.end):
            if other.id not in moved:
                found.append(_collision(piece, other))
    found.sort(key=lambda c: (-c.length, c.begin, c.other.id))
    return found


def repeat_collisions(piece: Piece, lanes: Lanes, now: float) -> list[Collision]:
    """What the later occurrences of the piece's series would run into if all of them moved as this one does."""
    window = piece.window
    if window is None or window.series_id is None:
        return []
    by_start = piece.start - window.start_at.timestamp()
    by_end = piece.end - window.end_at.timestamp()
    found = []
    for other in lanes.of_series(window.series_id):
        if other.id == window.id or other.status != "pending" or other.edited:
            continue
        start, end = other.start_at.timestamp() + by_start, other.end_at.timestamp() + by_end
        if end <= start or end <= now or other.start_at < window.start_at:
            continue
        moved = Piece(other, piece.recorder, start, end)
        for neighbour in lanes.lane(piece.recorder).active_between(start, end):
            if neighbour.series_id != window.series_id:
                found.append(_collision(moved, neighbour, repeat=True))
    return found


def free_recorder(piece: Piece, lanes: Lanes, recorders: Sequence[int]) -> int | None:
    """The first other recorder that has room for a piece."""
    own = piece.window.id if piece.window is not None else 0
    for id in recorders:
        if id != piece.recorder and all(
            w.id == own for w in lanes.lane(id).active_between(piece.start, piece.end)
        ):
            return id
    return None


def trimmed(piece: Piece, found: Sequence[Collision]) -> Piece | None:
    """The piece cut so that it ends where the first neighbour begins; None when nothing would be left."""
    mine = [c for c in found if c.piece == piece and not c.repeat]
    if not mine:
        return None
    end = min(c.other.start_at.timestamp() for c in mine)
    return Piece(piece.window, piece.recorder, piece.start, end) if end > piece.start else None


def _collision(piece: Piece, other: Window, repeat: bool = False) -> Collision:
    begin = max(piece.start, other.start_at.timestamp())
    end = min(piece.end, other.end_at.timestamp())
    return Collision(piece, other, begin, end, repeat)
