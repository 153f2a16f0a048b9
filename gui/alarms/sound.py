"""The sound of alarms: one soft pair of tones for each priority, repeated until somebody answers.

Qt's audio is not among the packages that come with Airlock. Where it is installed it is used; Windows can
play a file by itself; anywhere else there is the system's beep, and the settings say so.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, QUrl, Signal
from PySide6.QtWidgets import QApplication

from core.alarms.model import Priority
from core.clock import steady
from gui.resources import SOUNDS

if TYPE_CHECKING:
    from gui.session import Session

EVERY = {Priority.CRITICAL: 2.0, Priority.HIGH: 4.0, Priority.MEDIUM: 8.0, Priority.LOW: 16.0}
MUTES = (5, 15, 60)  # minutes

Play = Callable[[Priority], None]


def _player() -> tuple[Play, str]:
    """What plays a sound on this machine, and the sentence about it for the settings."""
    if importlib.util.find_spec("PySide6.QtMultimedia") is not None:
        effects: dict[Priority, Any] = {}

        def play(priority: Priority) -> None:
            # Loaded with the first alarm and not with the window: the audio system takes its time.
            if priority not in effects:
                effect = importlib.import_module("PySide6.QtMultimedia").QSoundEffect()
                effect.setSource(QUrl.fromLocalFile(str(SOUNDS / f"{priority.word}.wav")))
                effects[priority] = effect
            effects[priority].play()

        return play, "Alarms sound by this machine's audio output."
    if sys.platform == "win32":
        winsound: Any = importlib.import_module("winsound")

        def play_file(priority: Priority) -> None:
            flags = winsound.SND_FILENAME | winsound.SND_ASYNC | winsound.SND_NODEFAULT
            winsound.PlaySound(str(SOUNDS / f"{priority.word}.wav"), flags)

        return play_file, "Alarms sound by Windows' own player."
    return lambda priority: QApplication.beep(), (
        "Alarms sound as the system's beep, which may be silent here; PySide6-Addons has Airlock's tones."
    )


class AlarmSound(QObject):
    changed = Signal()  # muted, or no longer

    def __init__(self, session: Session, enabled: bool, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._play, self.about = _player()
        self.enabled = enabled
        self._muted_until = 0.0
        self._next = 0.0
        self._worst: Priority | None = None
        self.played: dict[Priority, int] = {}
        self._timer = QTimer(self)
        self._timer.setInterval(250)
        self._timer.timeout.connect(self._tick)
        self._timer.start()
        session.alarms_changed.connect(self._look)
        self._look()

    def stop(self) -> None:
        self._timer.stop()

    def muted_for(self) -> float:
        """Seconds for which it stays silent, 0 when it is not muted."""
        return max(0.0, self._muted_until - steady())

    def mute(self, minutes: int) -> None:
        self._muted_until = steady() + minutes * 60
        self.changed.emit()

    def unmute(self) -> None:
        self._muted_until = 0.0
        self._next = 0.0
        self.changed.emit()

    def test(self) -> None:
        self._sound(Priority.HIGH)

    def _asking(self) -> Priority | None:
        now = self._session.now()
        asking = (a.rank for a in self._session.alarms() if a.active and a.unacked and not a.shelved(now))
        return min(asking, default=None)

    def _look(self) -> None:
        worst = self._asking()
        if worst is not None and (self._worst is None or worst < self._worst):
            self._next = 0.0  # something more urgent does not wait for its turn
        self._worst = worst

    def _tick(self) -> None:
        if self._worst is None or not self.enabled or self.muted_for() or steady() < self._next:
            return
        self._worst = self._asking()  # a shelf may have been put up or run out
        if self._worst is not None:
            self._sound(self._worst)
            self._next = steady() + EVERY[self._worst]

    def _sound(self, priority: Priority) -> None:
        self.played[priority] = self.played.get(priority, 0) + 1
        self._play(priority)
