"""What a hand does to windows: draw, move, trim, copy. From where it took hold and where it is now to a draft.

Nothing here changes anything: a draft is what would be, with all that speaks against it. No Qt here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.recording.model import Window
from gui.timeline.collisions import Collision, Piece, collisions, repeat_collisions
from gui.timeline.lanes import Lanes
from gui.timeline.snapping import Snap

SHORTEST = 10.0  # seconds that a window drawn or trimmed by hand lasts at least
TAKES_HOLD_PX = 4.0  # a hand that moved less has clicked


@dataclass(frozen=True, slots=True)
class Grip:
    """Where a hand took hold, and of what."""

    kind: str  # draw, move, start, end
    recorder: int
    at: float  # the instant under the pointer
    windows: tuple[Window, ...] = ()  # the first is the one under the pointer


@dataclass(frozen=True, slots=True)
class Draft:
    kind: str
    pieces: tuple[Piece, ...]
    copy: bool = False
    found: tuple[Collision, ...] = ()
    repeats: tuple[Collision, ...] = ()
    refusal: str = ""  # what speaks against it besides collisions

    @property
    def lead(self) -> Piece:
        return self.pieces[0]

    @property
    def changed(self) -> bool:
        return self.copy or any(p.changed for p in self.pieces)

    @property
    def possible(self) -> bool:
        return not self.found and not self.refusal


def why_not_grip(kind: str, window: Window) -> str | None:
    """Why a window cannot be taken hold of in this way."""
    if window.status in ("starting", "running"):
        if kind == "end":
            return None
        return f"{window.name} is recording: only its end can move."
    if window.status != "pending":
        return f"{window.name} is {window.status} and can no longer be edited."
    return None


def draft(
    grip: Grip, instant: float, recorder: int, snap: Snap, lanes: Lanes, now: float, copy: bool = False
) -> Draft:
    """What the hand would do if it let go here."""
    own = set() if copy else {w.id for w in grip.windows}
    if grip.kind == "draw":
        edges = _edges(lanes, grip.recorder, instant, own)
        first = snap.edge(grip.at, _edges(lanes, grip.recorder, grip.at, own))
        other = snap.edge(instant, edges)
        start, end = min(first, other), max(first, other)
        made = Draft("draw", (Piece(None, grip.recorder, start, max(end, start + SHORTEST)),))
    elif grip.kind == "move":
        made = _moved(grip, instant, recorder, snap, lanes, own, copy)
    else:
        made = _trimmed(grip, instant, snap, lanes, own)
    return judged(made, lanes, now)


def judged(made: Draft, lanes: Lanes, now: float) -> Draft:
    """A draft with what speaks against it."""
    found = tuple(collisions(made.pieces, lanes, made.copy))
    lead = made.lead
    repeats: tuple[Collision, ...] = ()
    if len(made.pieces) == 1 and not made.copy and lead.window is not None and lead.changed:
        repeats = tuple(repeat_collisions(lead, lanes, now))
    refusal = ""
    if made.changed and any(p.end <= now for p in made.pieces):
        running = lead.window is not None and lead.window.status in ("starting", "running")
        refusal = (
            f"{lead.window.name} is recording: to end it now, use Stop."
            if running and lead.window is not None
            else "A window that is over cannot be recorded."
        )
    return replace(made, found=found, repeats=repeats, refusal=refusal)


def nudged(windows: Sequence[Window], by: float, lanes: Lanes, now: float, edge: str = "") -> Draft:
    """Windows moved by keys, or one of their edges."""
    pieces = []
    for w in windows:
        start, end = w.start_at.timestamp(), w.end_at.timestamp()
        if edge == "end":
            end = max(end + by, start + SHORTEST)
        elif edge == "start":
            start = min(start + by, end - SHORTEST)
        else:
            start, end = start + by, end + by
        pieces.append(Piece(w, w.recorder_id, start, end))
    return judged(Draft(edge or "move", tuple(pieces)), lanes, now)


def shifted(window: Window, recorder: int, lanes: Lanes, now: float) -> Draft:
    """A window on another recorder at the same time."""
    piece = Piece(window, recorder, window.start_at.timestamp(), window.end_at.timestamp())
    return judged(Draft("move", (piece,)), lanes, now)


def _moved(
    grip: Grip, instant: float, recorder: int, snap: Snap, lanes: Lanes, own: set[int], copy: bool
) -> Draft:
    lead = grip.windows[0]
    start, end = lead.start_at.timestamp(), lead.end_at.timestamp()
    target = recorder if len(grip.windows) == 1 else lead.recorder_id
    wanted = start + instant - grip.at
    if len(grip.windows) == 1 and target != lead.recorder_id and abs(wanted - start) <= snap.pull:
        new = start  # straight to another recorder: the time stays
    else:
        edges = [
            *_edges(lanes, target, wanted, own),
            *_edges(lanes, target, wanted + end - start, own),
        ]
        new = snap.whole(wanted, wanted + end - start, edges)
    by = new - start
    pieces = tuple(
        Piece(
            w,
            target if w is lead else w.recorder_id,
            w.start_at.timestamp() + by,
            w.end_at.timestamp() + by,
        )
        for w in grip.windows
    )
    return Draft("move", pieces, copy)


def _trimmed(grip: Grip, instant: float, snap: Snap, lanes: Lanes, own: set[int]) -> Draft:
    window = grip.windows[0]
    start, end = window.start_at.timestamp(), window.end_at.timestamp()
    was = end if grip.kind == "end" else start
    wanted = was + instant - grip.at
    at = snap.edge(wanted, _edges(lanes, window.recorder_id, wanted, own))
    if grip.kind == "end":
        end = max(at, start + SHORTEST)
    else:
        start = min(at, end - SHORTEST)
    return Draft(grip.kind, (Piece(window, window.recorder_id, start, end),))


def _edges(lanes: Lanes, recorder: int, instant: float, own: set[int]) -> list[float]:
    """The edges of the neighbours around an instant."""
    lane = lanes.lane(recorder)
    found: list[float] = []
    around = lane.between(instant - 43200, instant + 43200)
    for i in around:
        if lane.windows[i].id not in own:
            found += (float(lane.starts[i]), float(lane.ends[i]))
    return found
