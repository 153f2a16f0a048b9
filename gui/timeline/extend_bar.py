"""The +5 / +15 / +30 beside a running window, shown while the pointer is on it or it is selected."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout

from core.recording.commands import extend_window
from core.recording.model import Window
from gui.actions import tooltip
from gui.parts import Button, Surface
from gui.timeline.canvas import Canvas
from gui.timeline.rows import AXIS_PX, HEADER_PX

EXTENSIONS = (5, 15, 30)
KEYS = {5: "E", 15: "Shift+E", 30: "Ctrl+E"}


class ExtendBar(Surface):
    wanted = Signal(object, int)  # the window, minutes

    def __init__(self, canvas: Canvas) -> None:
        super().__init__("panel", canvas.viewport())
        self._canvas = canvas
        self._hovered: int | None = None
        self._id: int | None = None
        self.buttons: dict[int, Button] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for minutes in EXTENSIONS:
            button = Button(f"+{minutes}", height=24)
            button.setAccessibleName(f"Extend by {minutes} minutes")
            button.setProperty("segment", "next" if self.buttons else "first")
            button.clicked.connect(partial(self._want, minutes))
            row.addWidget(button)
            self.buttons[minutes] = button
        self.adjustSize()
        self.hide()
        canvas.session.ticker.second.connect(self.refresh)
        canvas.session.pending_changed.connect(self.refresh)

    def hover(self, window: Window | None) -> None:
        self._hovered = None if window is None else window.id
        self.refresh()

    def window_(self) -> Window | None:
        known = self._canvas.known.lanes
        for id in (self._hovered, *self._canvas.scene_.selected):
            window = None if id is None else known.window(id)
            if window is not None and window.status == "running" and not window.open_ended:
                return window
        return None

    def refresh(self) -> None:
        window = None if self._canvas.held is not None else self.window_()
        place = self._canvas.place()
        rect = None if window is None else self._canvas.scene_.bar_rect(place, window)
        if window is None or rect is None or rect.top() < AXIS_PX or rect.bottom() > place.lanes_bottom:
            if not self.underMouse():
                self.hide()
            return
        self._id = window.id
        why = self._canvas.session.why_not(extend_window)
        if self._canvas.session.is_pending(("window", window.id)):
            why = "Waiting for the answer to what was asked last."
        for minutes, button in self.buttons.items():
            button.setEnabled(why is None)
            button.setToolTip(tooltip(f"Extend {window.name} by {minutes} min", KEYS[minutes], why))
        x = min(rect.right() - self.width() - 6, place.width - self.width() - 14)
        self.move(int(max(x, HEADER_PX + 4)), int(rect.top() + 6))
        self.show()
        self.raise_()

    def _want(self, minutes: int) -> None:
        window = None if self._id is None else self._canvas.known.lanes.window(self._id)
        if window is not None:
            self.wanted.emit(window, minutes)
