"""Two steps for what ends something: the first press arms, the second, elsewhere, fires.

One thing is armed at a time. It disarms by itself after five seconds, and by pressing the same control
again, so that a double click does nothing. For a second after firing every press is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from PySide6.QtCore import QObject, Signal

from core.clock import steady

ARMED_FOR = 5.0
DEAF_FOR = 1.0


class Guard(QObject):
    changed = Signal()

    def __init__(self, parent: QObject | None = None, time: Callable[[], float] = steady) -> None:
        super().__init__(parent)
        self._time = time
        self._armed: Hashable | None = None
        self._since = 0.0
        self._fired_at: float | None = None

    @property
    def armed(self) -> Hashable | None:
        return self._armed

    def left(self) -> float:
        """Seconds until it disarms."""
        return max(0.0, self._since + ARMED_FOR - self._time()) if self._armed is not None else 0.0

    def press(self, key: Hashable) -> None:
        if self._deaf():
            return
        if self._armed == key:
            self.disarm()
            return
        self._armed, self._since = key, self._time()
        self.changed.emit()

    def fire(self, key: Hashable) -> bool:
        """Whether the second step counts; it does once."""
        if self._armed != key or self._deaf() or self.left() <= 0:
            return False
        self._fired_at = self._time()
        self.disarm()
        return True

    def disarm(self) -> None:
        if self._armed is not None:
            self._armed = None
            self.changed.emit()

    def look(self) -> None:
        """To be called at every frame while something is armed."""
        if self._armed is not None and self.left() <= 0:
            self.disarm()

    def _deaf(self) -> bool:
        return self._fired_at is not None and self._time() - self._fired_at < DEAF_FOR
