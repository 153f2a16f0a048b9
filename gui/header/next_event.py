"""What happens next and how long until then."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from core.recording.model import Window
from gui import fonts
from gui.header.cell import Cell, line, put
from gui.session import Session
from gui.words import clock


class NextCell(Cell):
    wide, least, narrow = 336, 296, 232
    share = 3

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__("Next event", parent)
        self._session = session
        self._next: Window | None = None
        self.title = line(self, fonts.text(14, 600), elide=True)
        self.detail = line(self, fonts.text(12), "second", elide=True)
        self.countdown = line(self, fonts.display(32, 600), right=True)
        session.bridge.changed.connect(self._changed)
        session.ticker.second.connect(self._second)
        self._find()

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        if changes.keys() & {"recorder_schedules", "recorders"}:
            self._find()

    def _find(self) -> None:
        self._next = self._session.model.next_window(self._session.now())
        self._second()

    def _second(self) -> None:
        now = self._session.shown_now()
        if self._next is not None and self._next.start_at <= now:
            self._next = self._session.model.next_window(now)
        if self._next is None:
            self.title.show_text("Nothing ahead")
            self.detail.show_text("No recording is scheduled")
            self.countdown.show_text("")
            self.setToolTip("No window is waiting to start.")
        else:
            recorder = self._session.model.recorders.get(self._next.recorder_id)
            name = recorder.name if recorder is not None else "A recorder"
            self.title.show_text(f"{name} starts in")
            self.detail.show_text(self._next.name)
            self.countdown.show_text(clock((self._next.start_at - now).total_seconds()))
            starts = self._session.local(self._next.start_at)
            self.setToolTip(f"{self._next.name} on {name}, {starts:%H:%M:%S}")
        self.arrange()

    def arrange(self) -> None:
        self.title.setFont(fonts.text(13 if self.dense else 14, 600))
        pad = 10 if self.dense else 16
        self.countdown.setFont(fonts.display(22 if self.dense else 32, 600))
        width = (
            self.countdown.fontMetrics().horizontalAdvance(self.countdown.full_text) + 2
            if self.countdown.full_text
            else 0
        )
        put(self.countdown, self.width() - pad - width, 10, 36, width)
        room = self.width() - 2 * pad - width - (8 if width else 0)
        put(self.title, pad, 9, 20, room)
        put(self.detail, pad, 30, 16, room)
