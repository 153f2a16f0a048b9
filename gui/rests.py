"""When a station with a window may pause to collect garbage: not while a hand holds something.

The leader's lane rests by what is about to start; this is for everybody else, so that no frame of a follower waits
for a look at every object there is.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from core.pauses import Collector
from core.station import Station

EVERY_MS = 2000


class Rests(QObject):
    def __init__(self, station: Station, busy: Callable[[], bool], parent: QObject) -> None:
        super().__init__(parent)
        self._station, self._busy = station, busy
        self._collector = Collector()
        self.began = False  # what was loaded at the start is set aside
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._rest)

    def start(self) -> None:
        self._timer.start(EVERY_MS)

    def stop(self) -> None:
        self._timer.stop()

    def _rest(self) -> None:
        if not self._station.leading:
            self._collector.rest(not self._busy())
            self.began = True
