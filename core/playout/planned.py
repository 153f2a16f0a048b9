"""What a channel was to play on a day beside what it played. Pure: rows and playlist in, lines out.

A playlist has an order and lengths, no times of day. The plan is therefore counted from the instant at which the
channel went on air: each item was to begin when the one before it, at its full length, was to end. An item that is no
longer in the playlist has no known length; the plan goes on from where it really ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.playout.model import AsRunRow, Item

GAP = timedelta(
    seconds=1
)  # a longer hole between two rows: the channel was off air, and the plan begins anew
MOST_COMING = 500
Length = Callable[[Item], float | None]


@dataclass(frozen=True)
class Line:
    clip: str
    planned_at: datetime | None  # None: it goes on with what was interrupted, or nobody planned it
    planned_s: float | None
    row: AsRunRow | None  # None: still to come

    @property
    def late_s(self) -> float | None:
        """How much later than planned it began; negative is early."""
        if self.row is None or self.planned_at is None:
            return None
        return (self.row.started_at - self.planned_at).total_seconds()

    @property
    def over_s(self) -> float | None:
        """How much longer than planned it ran; negative is shorter."""
        if self.row is None or self.row.duration_s is None or self.planned_s is None:
            return None
        return self.row.duration_s - self.planned_s


def against_plan(
    rows: Sequence[AsRunRow], items: Sequence[Item], length: Length, looping: bool, until: datetime
) -> list[Line]:
    """`rows` in the order of airing; behind the one on air, what is to come before `until`."""
    known = {item.id: item for item in items}
    lines: list[Line] = []
    before: AsRunRow | None = None
    due: datetime | None = None  # when the next item is to begin
    for row in rows:
        off_air = before is None or before.ended_at is None or row.started_at - before.ended_at > GAP
        resumed = before is not None and before.result == "interrupted" and before.item_id == row.item_id
        item = None if row.item_id is None else known.get(row.item_id)
        planned_s = None if item is None else length(item)
        if resumed and row.item_id is not None:
            lines.append(Line(row.clip_name or "", None, None, row))
        elif row.item_id is None:
            # A slate, or time that nobody can account for: it is in no plan, and what follows is due as it was.
            lines.append(Line(row.clip_name or "", None, None, row))
            due = None if off_air else due
        else:
            at = row.started_at if off_air or due is None else due
            lines.append(Line(row.clip_name or "", at, planned_s, row))
            due = None if planned_s is None else at + timedelta(seconds=planned_s)
        before = row
    last = rows[-1] if rows else None
    if last is not None and last.ended_at is None and last.item_id in known and due is not None:
        lines += _coming(items, last.item_id, due, length, looping, until)
    return lines


def _coming(
    items: Sequence[Item], on_air: int | None, due: datetime, length: Length, looping: bool, until: datetime
) -> list[Line]:
    ordered = sorted(items, key=lambda i: (i.position, i.id))
    here = next(n for n, item in enumerate(ordered) if item.id == on_air) + 1
    made: list[Line] = []
    while due < until and len(made) < MOST_COMING and (here < len(ordered) or looping):
        item = ordered[here % len(ordered)]
        lasts = length(item)
        made.append(Line(item.clip_name, due, lasts, None))
        if not lasts:
            break  # from here on nobody can say when
        due += timedelta(seconds=lasts)
        here += 1
    return made
