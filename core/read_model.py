"""What a station knows of its plant: the rows it shows, kept current by the feed.

Only the feed writes here. Everybody else reads, and hears which rows changed. Subscribers are
called once per batch of changes, never once per row.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from core.alarms.model import Alarm
from core.model import LeaderRow, Plant, Row, StationRow, builder
from core.playout.model import AsRunRow, Channel, Item
from core.recording.model import ACTIVE, Asset, Node, Recorder, Series, Window, WindowStatus

log = logging.getLogger(__name__)

KEPT_PAST = timedelta(hours=36)
KEPT_FUTURE = timedelta(days=15)

Changes = Mapping[str, frozenset[int]]
Subscriber = Callable[[Changes], None]


@dataclass
class ReadModel:
    plant: Plant | None = None
    leader: LeaderRow | None = None
    stations: dict[int, StationRow] = field(default_factory=dict)
    alarms: dict[int, Alarm] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)
    recorders: dict[int, Recorder] = field(default_factory=dict)
    series: dict[int, Series] = field(default_factory=dict)
    windows: dict[int, Window] = field(default_factory=dict)
    assets: dict[int, Asset] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    items: dict[int, Item] = field(default_factory=dict)
    on_air: dict[int, AsRunRow] = field(default_factory=dict)  # what each channel plays, by channel
    _subscribers: list[Subscriber] = field(default_factory=list)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Calls `subscriber` with the ids changed, by table name. Returns what ends the subscription."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def announce(self, changes: Changes) -> None:
        if not changes:
            return
        for subscriber in list(self._subscribers):
            try:
                subscriber(changes)
            except Exception:
                # One broken view must not keep the others, or the scheduler, from hearing.
                log.exception("a subscriber of the read model failed")

    def next_window(self, now: datetime) -> Window | None:
        """The next recording to start."""
        coming = (w for w in self.windows.values() if w.status == "pending" and w.start_at >= now)
        return min(coming, key=lambda w: w.start_at, default=None)


@dataclass(frozen=True)
class Table:
    """How a table of the database comes into the model."""

    name: str
    attribute: str
    build: Callable[[Row], Any]
    keep: Callable[[Any, datetime], bool] = lambda row, now: True

    def rows(self, model: ReadModel) -> dict[int, Any]:
        rows: dict[int, Any] = getattr(model, self.attribute)
        return rows

    def put(self, model: ReadModel, records: Iterable[Row], now: datetime) -> set[int]:
        """Takes rows in, lets go of those no longer kept, and says which ids really changed."""
        rows = self.rows(model)
        changed: set[int] = set()
        for record in records:
            row = self.build(record)
            if not self.keep(row, now):
                if rows.pop(row.id, None) is not None:
                    changed.add(row.id)
            elif rows.get(row.id) != row:
                rows[row.id] = row
                changed.add(row.id)
        return changed


def _keep_window(window: Window, now: datetime) -> bool:
    """The same as load_recorder_schedules asks for, or a reload would show something else."""
    if window.status in ACTIVE and window.status != WindowStatus.PENDING:
        return True
    return window.end_at > now - KEPT_PAST and window.start_at < now + KEPT_FUTURE


TABLES = [
    Table("stations", "stations", builder(StationRow), lambda s, now: s.status != "left"),
    Table("alarms", "alarms", builder(Alarm), lambda a, now: a.open or a.raised_at > now - KEPT_PAST),
    Table("nodes", "nodes", builder(Node)),
    Table("recorders", "recorders", builder(Recorder)),
    Table("recorder_series", "series", builder(Series)),
    Table("recorder_schedules", "windows", builder(Window), _keep_window),
    Table(
        "assets",
        "assets",
        builder(Asset),
        lambda a, now: a.status == "live" or a.created_at > now - KEPT_PAST,
    ),
    Table("playout_channels", "channels", builder(Channel)),
    Table("playout_items", "items", builder(Item)),
]


def forget(model: ReadModel, now: datetime) -> dict[str, frozenset[int]]:
    """Drops what is over and further back than any view shows; says what that was."""
    gone = {t.name: [i for i, row in t.rows(model).items() if not t.keep(row, now)] for t in TABLES}
    for table in TABLES:
        for row_id in gone[table.name]:
            del table.rows(model)[row_id]
    return {name: frozenset(ids) for name, ids in gone.items() if ids}
