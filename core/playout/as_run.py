"""What goes into the as-run log, as pure functions: what it holds and what was reported in, rows out.

What must stay true, whatever is reported: at most one row is open, rows never overlap and never end before they
begin, an event is entered once, and time between two rows of one run that nobody can account for is a row with
`unknown`. Instants are the sidecar's own; they are moved only as far as those rules ask.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from core.playout.model import Event, Status

HOLE = timedelta(milliseconds=50)  # a little more than a frame: less than that between two rows is no hole
AHEAD = timedelta(seconds=1)  # nothing reported lies further in the future than clocks may differ
ABSENCE = timedelta(
    seconds=5
)  # a sidecar without events may have played anything while unwatched for so long
ENDS = frozenset({"played", "interrupted", "skipped", "failed"})


@dataclass(frozen=True, slots=True)
class Entry:
    """A row to be entered; without an end it stays open."""

    item_id: int | None
    asset_id: int | None
    clip: str | None
    started_at: datetime
    ended_at: datetime | None
    result: str
    event_seq: int | None


@dataclass(frozen=True, slots=True)
class Logged:
    """What the log holds of a channel, and how far its sidecar's events are in it."""

    open: Entry | None = None
    tail: datetime | None = None  # where the last closed row ends
    seq: int = 0
    offset: float = 0.0  # where in its clip the open item began
    mark: str | None = None
    fill: bool = False  # whether the time since the tail belongs to this run
    last_seen: datetime | None = None


@dataclass(frozen=True, slots=True)
class Writing:
    """What to write, in one transaction: the open row's end, then rows, of which the last may be open."""

    close: tuple[datetime, str] | None
    rows: tuple[Entry, ...]
    after: Logged

    @property
    def nothing(self) -> bool:
        return self.close is None and not self.rows


class _Book:
    def __init__(self, logged: Logged, now: datetime, shift: timedelta) -> None:
        self.was = logged
        self.open, self.tail, self.offset = logged.open, logged.tail, logged.offset
        self.fill = logged.fill
        self._latest = now + AHEAD
        self._shift = shift
        self.rows: list[Entry] = []
        self.closed: tuple[datetime, str] | None = None

    def instant(self, at: datetime) -> datetime:
        """As reported, but neither in the future nor before what is in the log already."""
        at = min(at + self._shift, self._latest)
        floor = self.open.started_at if self.open is not None else self.tail
        return at if floor is None else max(at, floor)

    def end(self, at: datetime, result: str) -> None:
        if self.open is None:
            return
        if self.rows and self.rows[-1] is self.open:
            self.rows[-1] = replace(self.open, ended_at=at, result=result)
        elif self.open in self.rows:  # a clip failed while it was on air: its row came after
            self.rows[self.rows.index(self.open)] = replace(self.open, ended_at=at, result=result)
        else:
            self.closed = (at, result)
        self.open, self.tail, self.fill = None, at, True

    def begin(self, entry: Entry, offset: float = 0.0) -> None:
        self.account(entry.started_at)
        self.rows.append(entry)
        self.open, self.offset, self.fill = entry, offset, True

    def account(self, until: datetime) -> None:
        """Enters the time since the last row as unknown, when this run was on air then."""
        if self.fill and self.open is None and self.tail is not None and until - self.tail > HOLE:
            self.rows.append(Entry(None, None, None, self.tail, until, "unknown", None))
            self.tail = until

    def done(self, seq: int, mark: str | None) -> Writing:
        after = replace(
            self.was, open=self.open, tail=self.tail, seq=seq, offset=self.offset, mark=mark, fill=self.fill
        )
        return Writing(self.closed, tuple(self.rows), after)


def log_events(
    logged: Logged, events: Iterable[Event], now: datetime, shift: timedelta = timedelta(0)
) -> Writing:
    """Enters the events that are not in the log yet. `shift` is what the sidecar's clock lacks to the database's."""
    book, seq = _Book(logged, now, shift), logged.seq
    for event in sorted(events, key=lambda e: e.seq):
        if event.seq <= seq:
            continue
        if event.seq > seq + 1:
            _lost(book, event)
        seq = event.seq
        _enter(book, event)
    return book.done(seq, logged.mark)


def _enter(book: _Book, event: Event) -> None:
    at = book.instant(event.at)
    if event.type == "start":
        book.end(at, "played")  # only when its end was not reported
        at = book.instant(event.at)
        entry = Entry(event.item_id, event.asset_id, event.clip, at, None, "played", event.seq)
        book.begin(entry, event.offset_s)
    elif event.type == "end":
        if book.open is not None:
            book.end(at, event.result if event.result in ENDS else "played")
        else:
            # Its beginning was lost: that it was on air until now is all that is known.
            began = book.tail if book.fill and book.tail is not None else at
            book.rows.append(
                Entry(event.item_id, event.asset_id, event.clip, began, at, "unknown", event.seq)
            )
            book.tail, book.fill = at, True
    elif event.type == "failed":
        book.account(at)
        book.rows.append(Entry(event.item_id, event.asset_id, event.clip, at, at, "failed", event.seq))
        if book.open is None:
            book.tail, book.fill = at, True


def _lost(book: _Book, event: Event) -> None:
    """Events are missing: nobody knows when what was on air ended, only when it was last seen."""
    if book.open is not None:
        seen = min(book.was.last_seen or book.open.started_at, book.instant(event.at))
        book.end(max(seen, book.open.started_at), "unknown")
    elif book.tail is not None:
        book.fill = True


def settle(
    logged: Logged,
    events: Iterable[Event],
    ended_at: datetime | None,
    now: datetime,
    shift: timedelta = timedelta(0),
) -> Writing:
    """The last of a sidecar that is over: its remaining events, then the end of what it was still playing.

    Without an instant from its node, that is when it was last seen; what follows is then unknown.
    """
    written = log_events(logged, events, now, shift)
    if written.after.open is None:
        return written
    book = _Book(written.after, now, shift)
    book.rows, book.closed = list(written.rows), written.close
    at = ended_at if ended_at is not None else (logged.last_seen or book.was.open.started_at) - shift  # type: ignore[union-attr]
    book.end(book.instant(at), "interrupted")
    return book.done(written.after.seq, logged.mark)


def mark_of(status: Status) -> str:
    """What a sidecar without events plays, so that the same thing seen twice is known for the same."""
    if status.item_id is None and not status.clip:
        return ""
    started = status.started_at.isoformat() if status.started_at is not None else ""
    return f"{status.item_id if status.item_id is not None else ''}|{status.clip or ''}|{started}"


def observe(logged: Logged, status: Status, now: datetime) -> Writing:
    """For a sidecar that says only what it plays and since when: an item that is another, or began anew."""
    book, mark = _Book(logged, now, timedelta(0)), mark_of(status)
    if mark == (logged.mark or "") and (logged.open is not None or not mark):
        return book.done(logged.seq, mark)
    at = book.instant(status.started_at if mark and status.started_at is not None else now)
    seen = logged.last_seen
    if book.open is not None:
        unwatched = seen is not None and now - seen > ABSENCE and at - seen > HOLE
        if unwatched and seen is not None:
            book.end(max(seen, book.open.started_at), "unknown")
        else:
            book.end(at, "played")
    if mark:
        book.begin(Entry(status.item_id, None, status.clip, at, None, "played", None))
    return book.done(logged.seq, mark)
