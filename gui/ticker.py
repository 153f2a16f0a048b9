"""The window's one pulse, cut from the database clock: frames, seconds, and the half-seconds of flashing.

Everything that counts or flashes hangs on it, so all of it moves in the same instant. A timer never means
that the instant has come: the clock is asked, and a clock that was corrected backwards shows no second
twice in a row.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer, Signal


class Ticker(QObject):
    frame = Signal()
    second = Signal()
    flash = Signal(bool)  # whether shapes are filled in this half-second

    def __init__(self, timestamp: Callable[[], float], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._timestamp = timestamp
        self._rate = 25.0
        self._second = 0
        self.lit = True
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._tick)

    def set_rate(self, rate: float) -> None:
        self._rate = min(max(rate, 1.0), 120.0)

    def start(self) -> None:
        self._timer.start(0)

    def stop(self) -> None:
        self._timer.stop()

    @property
    def whole_second(self) -> int:
        """The second that is on the screen. Ages and countdowns take it, so that all change together."""
        return self._second or int(self._timestamp())

    def frame_of(self, instant: float) -> int:
        return int((instant % 1.0) * self._rate)

    def _tick(self) -> None:
        now = self._timestamp()
        self.frame.emit()
        whole = int(now)
        if whole != self._second:
            self._second = whole
            self.second.emit()
        lit = now % 1.0 < 0.5
        if lit != self.lit:
            self.lit = lit
            self.flash.emit(lit)
        fraction = self._timestamp() % 1.0
        following = min((int(fraction * self._rate) + 1) / self._rate, 1.0)
        # One millisecond over, because Qt counts whole ones and would wake just before the boundary.
        self._timer.start(int((following - fraction) * 1000) + 1)
