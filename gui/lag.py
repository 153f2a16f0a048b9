"""How long the desktop's event loop keeps things waiting.

A Qt timer ticks; how late a tick is, is how long anything else would have waited at that instant. A stall
counts once for every tick that it swallowed, as if each had been seen: otherwise one long stall would weigh
no more than one short delay, and a percentile would flatter. What is shorter than the period is sampled: a
stall of half a period is seen every second time.
"""

from __future__ import annotations

import heapq
import time
from collections import deque

from PySide6.QtCore import QObject, Qt, QTimer

# Waking an idle process is what costs, about a quarter of a millisecond each time: this takes 0.25 % of a
# processor, 47 ms would take 0.5 %. No multiple of a frame, or each tick would meet the painting at the same
# point of it.
PERIOD = 0.097
KEPT = round(60 / PERIOD)


class LagMeter(QObject):
    """Lag in seconds: the last tick's, and over the last minute. Must be made in the loop's thread."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lags: deque[float] = deque([0.0], KEPT)
        self._last_tick = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(round(PERIOD * 1000))
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        self._last_tick = time.monotonic()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    @property
    def last(self) -> float:
        return self._lags[-1]

    @property
    def maximum(self) -> float:
        return max(self._lags)

    @property
    def p999(self) -> float:
        """A minute holds fewer than a thousand ticks, so this is its worst unless the period is shortened."""
        above = len(self._lags) // 1000
        return heapq.nlargest(above + 1, self._lags)[-1]

    def _tick(self) -> None:
        now = time.monotonic()
        lag = now - self._last_tick - PERIOD
        self._last_tick = now
        swallowed = min(int(lag / PERIOD), KEPT)
        for n in range(swallowed, 0, -1):
            self._lags.append(lag - n * PERIOD)
        self._lags.append(max(0.0, lag))
