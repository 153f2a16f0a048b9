"""The fields of the window form and how they stand; what they mean is in form.py."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from gui import fonts
from gui.parts import Button, Label, Segments, Surface
from gui.recorders.orders import ALL, CRON, DAILY, FOLLOWING, ONCE, THIS, WEEKLY

RECORDER_TIP = "The recorder that is to record it"
DAY_TIP = "2026-10-16, today or tomorrow (Up and Down: a day)"
TIME_TIP = "19:40 or 19:40:30, plant time (Up and Down: five minutes)"
DAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
REPEATS = {ONCE: "Once", DAILY: "Daily", WEEKLY: "Weekly", CRON: "By rule"}
SCOPES = {THIS: "This one", FOLLOWING: "This and following", ALL: "All"}
FIELDS = ("title", "recorder", "source", "start", "length", "repeats", "form")


class _Field(QLineEdit):
    """An input that steps with the arrow keys."""

    stepped = Signal(int)

    def __init__(self, name: str, tip: str, width: int = 0) -> None:
        super().__init__()
        self.setFixedHeight(28)
        self.setFont(fonts.text(13))
        self.setAccessibleName(name)
        self.setToolTip(tip)
        if width:
            self.setFixedWidth(width)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.stepped.emit(1 if event.key() == Qt.Key.Key_Up else -1)
            return
        super().keyPressEvent(event)


class FormFields(Surface):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("bar", parent)
        self.setAccessibleName("Window form")
        self._make_fields()
        self._build()

    def _make_fields(self) -> None:
        self.heading = Label("New window", fonts.text(13, 600), elide=True)
        self.title = _Field("Title", "What the recording is called")
        self.title.setMaxLength(200)
        self.recorder = QComboBox()
        self.recorder.setAccessibleName("Recorder")
        self.recorder.setToolTip(RECORDER_TIP)
        self.recorder.setFixedHeight(28)
        self.source = _Field("Source", "Another source than the recorder's own; empty for its own")
        self.day = _Field("Day", DAY_TIP, 104)
        self.time = _Field("Start time", TIME_TIP, 88)
        self.length = _Field("Length", "00:45:00, 45 min or 1 h 30 (Up and Down: five minutes)", 88)
        self.zone = Label("", fonts.text(12), "second", elide=True)
        self.end = Label("", fonts.text(12), "second", elide=True)
        self.meaning = Label("", fonts.text(12), "second", elide=True)
        self.repeats = Segments(REPEATS, "Repeats")
        for key, button in self.repeats.buttons.items():
            button.setToolTip(f"Repeats: {REPEATS[key].lower()}")
        self.days = [Button(name) for name in DAYS]
        for button, name in zip(self.days, DAY_NAMES, strict=True):
            button.setCheckable(True)
            button.setProperty("segment", "true")
            button.setAccessibleName(name)
            button.setToolTip(f"On {name}s")
        self.scopes = {key: QRadioButton(words) for key, words in SCOPES.items()}
        group = QButtonGroup(self)
        for radio in self.scopes.values():
            radio.setFont(fonts.text(13))
            radio.setAccessibleName(radio.text())
            radio.setToolTip(f"Apply the change to: {radio.text().lower()}")
            group.addButton(radio)
        self.errors = {name: Label("", fonts.text(12, 600), "abnormal") for name in FIELDS}
        for label in self.errors.values():
            label.setWordWrap(True)
            label.hide()
        self.save_button = Button("Save", key="Enter")
        self.close_button = Button("Close", key="Esc")
        self.again = Button("Show it as it is now")
        self.again.setToolTip("Fills the form with the window as it is now")
        self.again.hide()

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        bar = Surface("bar", edge="bottom")
        bar.setFixedHeight(36)
        head = QHBoxLayout(bar)
        head.setContentsMargins(12, 0, 12, 0)
        head.addWidget(self.heading, 1)
        column.addWidget(bar)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(12, 8, 12, 8)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnMinimumWidth(0, 64)
        self._grid.setColumnStretch(1, 1)
        self._line("Title", [self.title], "title")
        self._line("Recorder", [self.recorder, self.source], "recorder", "source")
        self._line("Start", [self.day, self.time, self.zone], "start")
        self._line("Length", [self.length, self.end], "length")
        self.how_often = self._line("Repeats", [self.repeats, None], "repeats")
        self.on_days = self._line("On days", [*self.days, None])
        self._line("", [self.meaning])
        self.apply_to = self._line("Apply to", [*self.scopes.values(), None])
        self._line("", [], "form")
        column.addLayout(self._grid)
        answers = QHBoxLayout()
        answers.setContentsMargins(12, 0, 12, 12)
        answers.setSpacing(8)
        answers.addWidget(self.save_button)
        answers.addWidget(self.again)
        answers.addStretch(1)
        answers.addWidget(self.close_button)
        column.addLayout(answers)
        column.addStretch(1)
        self.setTabOrder(self.title, self.recorder)

    def _line(self, name: str, widgets: list[QWidget | None], *errors: str) -> tuple[QWidget, Label]:
        holder, label = QWidget(), Label(name, fonts.text(13), "second")
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8 if widgets and not isinstance(widgets[0], Button) else 0)
        for widget in widgets:
            if widget is None:
                row.addStretch(1)
            else:
                stretch = isinstance(widget, QLineEdit) and widget.maximumWidth() > 1000
                row.addWidget(widget, 1 if stretch or isinstance(widget, QComboBox | Label) else 0)
        at = self._grid.rowCount()
        if widgets:
            self._grid.addWidget(label, at, 0)
            self._grid.addWidget(holder, at, 1)
        for number, error in enumerate(errors):
            self._grid.addWidget(self.errors[error], at + 1 + number, 1)
        return holder, label
