"""From the core's events to Qt's signals: once a frame at most, and only while the bridge stands.

The core calls its listeners in the loop that also paints. The bridge only notes what changed and passes it
on in one go, so that a burst of a thousand rows costs the panels one update.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal

if TYPE_CHECKING:
    from core.feed import FeedState
    from core.leadership import Lead
    from core.read_model import Changes
    from core.station import Station

FRAME_MS = 16


class Bridge(QObject):
    """`changed` carries the ids that changed by table; the others only say that something did."""

    changed = Signal(object)
    feed_changed = Signal()
    lead_changed = Signal()
    local_alarms_changed = Signal()
    stale_changed = Signal(bool)

    def __init__(self, station: Station, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._station = station
        self._tables: dict[str, frozenset[int]] = {}
        self._feed = self._lead = self._local = False
        self._open = True
        self.stale = station.feed.state.stale()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._emit)
        # A connection that has gone silent announces nothing: its age has to be looked at.
        self._watch = QTimer(self)
        self._watch.setInterval(50)
        self._watch.timeout.connect(self._look)
        self._watch.start()
        self._unsubscribe: list[Callable[[], None]] = [
            station.model.subscribe(self._model_changed),
            station.feed.on_state(self._feed_state),
            station.on_lead(self._leads),
            station.local_alarms.on_change(self._local_alarms),
        ]

    def close(self) -> None:
        """Hears nothing more."""
        if self._open:
            self._open = False
            for unsubscribe in self._unsubscribe:
                unsubscribe()
            self._timer.stop()
            self._watch.stop()

    def _model_changed(self, changes: Changes) -> None:
        for table, ids in changes.items():
            self._tables[table] = self._tables.get(table, frozenset()) | ids
        self._soon()

    def _feed_state(self, _state: FeedState) -> None:
        self._feed = True
        self._soon()

    def _leads(self, _lead: Lead | None) -> None:
        self._lead = True
        self._soon()

    def _local_alarms(self) -> None:
        self._local = True
        self._soon()

    def _soon(self) -> None:
        if self._open and not self._timer.isActive():
            self._timer.start(FRAME_MS)

    def _look(self) -> None:
        stale = self._station.feed.state.stale()
        if stale != self.stale:
            self.stale = stale
            self.stale_changed.emit(stale)

    def _emit(self) -> None:
        tables, self._tables = self._tables, {}
        feed, lead, local = self._feed, self._lead, self._local
        self._feed = self._lead = self._local = False
        # First whether the picture may be believed, then the picture.
        self._look()
        if feed:
            self.feed_changed.emit()
        if lead:
            self.lead_changed.emit()
        if local:
            self.local_alarms_changed.emit()
        if tables:
            self.changed.emit(tables)
