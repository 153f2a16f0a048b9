"""The buttons of one recorder: Start, Stop in two steps, Extend, and the mode."""

from __future__ import annotations

import math
from datetime import timedelta
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QMenu, QWidget

from core.recording.model import Recorder
from gui import fonts
from gui.actions import Actions, tooltip
from gui.parts import Button, Label, styled
from gui.recorders.buttons import ConfirmButton, MarkButton
from gui.recorders.deeds import Deeds
from gui.recorders.guard import ARMED_FOR, Guard

WIDTH, HEIGHT, GAP = 232, 60, 4
LENGTHS: tuple[tuple[str, timedelta | None], ...] = (
    ("Until stopped", None),
    ("15 min", timedelta(minutes=15)),
    ("30 min", timedelta(minutes=30)),
    ("1 h", timedelta(hours=1)),
)
EXTENSIONS = (5, 15, 30)


class Armed(QWidget):
    """Stands left of the buttons while Stop is armed, away from where it was pressed."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.confirm = ConfirmButton(self)
        self.confirm.move(0, 0)
        self.hint = Label("", fonts.text(12, 600), parent=self)
        self.hint.setGeometry(0, 32, ConfirmButton.WIDTH, 16)
        self.resize(ConfirmButton.WIDTH, HEIGHT - 4)

    def drain(self, left: float) -> None:
        self.confirm.drain(left / ARMED_FOR)
        self.hint.show_text(f"ARMED {math.ceil(left)} s · Esc cancels")


class Controls(QWidget):
    done = Signal()  # something was pressed

    def __init__(
        self, recorder: Recorder, deeds: Deeds, guard: Guard, actions: Actions, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._row = parent
        self._recorder = recorder
        self._deeds = deeds
        self._guard = guard
        self._actions = actions
        self.resize(WIDTH, HEIGHT)
        self.armed = Armed(parent)
        self.armed.hide()
        self.armed.confirm.clicked.connect(self.fire)
        self.start = MarkButton("Start", "start", self)
        self.more = MarkButton("", "more", self)
        self.more.setAccessibleName("Start for a length")
        self.stop = MarkButton("Stop", "stop", self, guarded=True)
        self.extend = {m: Button(f"+{m}", self) for m in EXTENSIONS}
        self.mode = Button("Go manual", self)
        self._place()
        self.start.clicked.connect(lambda: self.do_start(None))
        self.more.clicked.connect(self._menu)
        self.stop.clicked.connect(self.press_stop)
        self.mode.clicked.connect(self.do_mode)
        for minutes, button in self.extend.items():
            button.setProperty("segment", "true")
            button.clicked.connect(partial(self.do_extend, minutes))

    @property
    def key(self) -> tuple[str, int]:
        return ("stop", self._recorder.id)

    def _place(self) -> None:
        half = (WIDTH - GAP) // 2
        self.start.setGeometry(0, 0, half - 23, 28)
        self.more.setGeometry(half - 24, 0, 24, 28)
        self.stop.setGeometry(half + GAP, 0, half, 28)
        each = [36, 40, 40]
        x = 0
        for button, width in zip(self.extend.values(), each, strict=True):
            button.setGeometry(x, 32, width, 28)
            x += width - 1
        self.mode.setGeometry(half + GAP, 32, half, 28)

    def place_armed(self) -> None:
        self.armed.move(self.x() - ConfirmButton.WIDTH - 8, self.y())

    # What can be done now

    def refresh(self, recorder: Recorder) -> None:
        self._recorder = recorder
        name = recorder.name
        start, stop = self._deeds.why_not_start(recorder), self._deeds.why_not_stop(recorder)
        self._dress(self.start, f"Start {name} until it is stopped", "recorders.start", start)
        self._dress(self.more, f"Start {name} for a length", "recorders.start_for", start)
        for minutes, button in self.extend.items():
            title = f"Extend the recording of {name} by {minutes} min"
            self._dress(button, title, f"recorders.extend_{minutes}", self._deeds.why_not_extend(recorder))
        manual = recorder.mode == "manual"
        self.mode.show_text("Go auto" if manual else "Go manual")
        title = (
            f"Let the scheduler run {name} again" if manual else f"Take {name} out of the scheduler's hand"
        )
        self._dress(self.mode, title, "recorders.mode", self._deeds.why_not_mode(recorder))
        if stop is not None and self._guard.armed == self.key:
            self._guard.disarm()
        self.refresh_guard(stop)

    def refresh_guard(self, stop: str | None) -> None:
        armed = self._guard.armed == self.key
        name = self._recorder.name
        if armed:
            self.stop.show_mark("Cancel", "cross", False)
            self._dress(self.stop, f"Leave {name} recording", "", None, keys="Esc")
            self.armed.confirm.show_text(f"Confirm stop {name}")
            self.armed.drain(self._guard.left())
            self.place_armed()
            self.armed.raise_()
        else:
            self.stop.show_mark("Stop", "stop", True)
            self._dress(self.stop, f"Stop {name}: two steps", "recorders.stop", stop)
        styled(self.stop, armed="true" if armed else "")
        if self.armed.isVisible() != armed:
            if not armed and self.armed.confirm.hasFocus():
                self.stop.setFocus()
            self.armed.setVisible(armed)
            self._row.update()  # what stands in it makes room

    def drain(self) -> None:
        self.armed.drain(self._guard.left())

    def _dress(self, button: Button, title: str, action: str, reason: str | None, keys: str = "") -> None:
        shortcut = keys or (self._actions[action].shortcut if action in self._actions else "")
        tip = tooltip(title, shortcut, reason)
        if button.toolTip() != tip:
            button.setToolTip(tip)
            button.setAccessibleDescription(reason or title)
        if button.isEnabled() != (reason is None):
            button.setEnabled(reason is None)

    # What is done

    def do_start(self, length: timedelta | None) -> None:
        if self._deeds.why_not_start(self._recorder) is None:
            self._deeds.start(self._recorder, length)
            self.done.emit()

    def _menu(self) -> None:
        self.open_lengths()

    def open_lengths(self) -> QMenu:
        menu = QMenu(self)
        menu.setAccessibleName("Start for")
        for title, length in LENGTHS:
            menu.addAction(title).triggered.connect(partial(self.do_start, length))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.start.mapToGlobal(QPoint(0, self.start.height())))
        return menu

    def press_stop(self) -> None:
        if self._guard.armed == self.key or self._deeds.why_not_stop(self._recorder) is None:
            self._guard.press(self.key)

    def fire(self) -> None:
        if self._guard.fire(self.key) and self._deeds.why_not_stop(self._recorder) is None:
            self._deeds.stop(self._recorder)
            self.done.emit()

    def do_extend(self, minutes: int) -> None:
        if self._deeds.why_not_extend(self._recorder) is None:
            self._deeds.extend(self._recorder, minutes)
            self.done.emit()

    def do_mode(self) -> None:
        if self._deeds.why_not_mode(self._recorder) is None:
            self._deeds.switch_mode(self._recorder)
            self.done.emit()
