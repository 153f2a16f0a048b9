"""What is under a point: a window's body or edge, an empty stretch, a row's header, the axis. No Qt here."""

from __future__ import annotations

from dataclasses import dataclass

from core.recording.model import Window
from gui.timeline.axis import TimeAxis
from gui.timeline.lanes import Lane, Lanes, shown_end
from gui.timeline.rows import AXIS_PX, BAR_PX, HEADER_PX, OVERVIEW_PX, Row, Rows

EDGE_PX = 6.0  # how near a pointer has to be to an edge
ROOM_PX = 20.0  # a bar narrower than this has only a body: it must be possible to move it
REACH_PX = 3.0  # a sliver can be hit beside itself

# Where: axis, overview, corner, header, body, start, end, empty, item, outside


@dataclass(frozen=True, slots=True)
class Hit:
    where: str
    row: Row | None = None
    window: Window | None = None
    instant: float = 0.0


@dataclass(frozen=True, slots=True)
class Place:
    """How the canvas is laid out at this moment."""

    axis: TimeAxis
    rows: Rows
    width: float
    height: float
    scroll: float = 0.0

    @property
    def lanes_bottom(self) -> float:
        return self.height - OVERVIEW_PX

    @property
    def room(self) -> float:
        """Px of height for rows."""
        return max(0.0, self.lanes_bottom - AXIS_PX)

    def y(self, row: Row) -> float:
        return AXIS_PX + row.top - self.scroll

    def visible(self) -> list[Row]:
        return self.rows.between(self.scroll, self.scroll + self.room)

    @property
    def most_scroll(self) -> float:
        return max(0.0, self.rows.height - self.room)


def hit(place: Place, lanes: Lanes, x: float, y: float) -> Hit:
    instant = place.axis.instant(x)
    if not (0 <= x < place.width and 0 <= y < place.height):
        return Hit("outside", instant=instant)
    if y >= place.lanes_bottom:
        return Hit("overview" if x >= HEADER_PX else "corner", instant=instant)
    if y < AXIS_PX:
        return Hit("axis" if x >= HEADER_PX else "corner", instant=instant)
    row = place.rows.at(y - AXIS_PX + place.scroll)
    if row is None:
        return Hit("outside", instant=instant)
    if x < HEADER_PX:
        return Hit("header", row, instant=instant)
    if row.kind == "channel":
        return Hit("item", row, instant=instant)
    margin = (row.height - BAR_PX) / 2
    inside = margin <= y - place.y(row) < row.height - margin
    window = _window_at(lanes.lane(row.id), place.axis, instant) if inside else None
    if window is None:
        return Hit("empty", row, instant=instant)
    return Hit(_part(window, place.axis, x), row, window, instant)


def _window_at(lane: Lane, axis: TimeAxis, instant: float) -> Window | None:
    found = lane.at(instant)
    if found is not None:
        return found
    reach = axis.seconds(REACH_PX)
    near = [
        (min(abs(lane.starts[i] - instant), abs(lane.ends[i] - instant)), lane.windows[i])
        for i in lane.between(instant - reach, instant + reach)
        if lane.ends[i] - lane.starts[i] < axis.seconds(2 * REACH_PX)
    ]
    return min(near, key=lambda n: n[0])[1] if near else None


def _part(window: Window, axis: TimeAxis, x: float) -> str:
    start, end = axis.x(window.start_at.timestamp()), axis.x(shown_end(window))
    if end - start < ROOM_PX:
        return "body"
    if x >= end - EDGE_PX:
        return "end"
    return "start" if x < start + EDGE_PX else "body"
