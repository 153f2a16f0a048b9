"""The selected alarm in full: what it means, what to do now, and the answers to it."""

from __future__ import annotations

from datetime import timedelta

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from core.alarms.model import Alarm
from gui import fonts
from gui.actions import Actions
from gui.alarms.listing import state_words
from gui.glyphs import paint_priority
from gui.parts import Button, Label, Segments, Surface, styled
from gui.session import Session
from gui.words import long_date

SHELVES = {"15": "15 min", "60": "1 h", "240": "4 h", "720": "12 h"}


class _Shape(QWidget):
    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFixedSize(20, 20)
        self._session = session
        self.alarm: Alarm | None = None
        session.ticker.flash.connect(lambda _: self.update())

    def paintEvent(self, _event: QPaintEvent) -> None:
        if (alarm := self.alarm) is None:
            return
        shelved = alarm.shelved(self._session.now())
        asks = alarm.open and alarm.unacked and not shelved
        painter = QPainter(self)
        token = f"p{int(alarm.rank)}" if alarm.active and not shelved else "t3"
        paint_priority(
            painter,
            int(alarm.rank),
            QRectF(self.rect()),
            filled=asks and self._session.ticker.lit,
            token=token,
        )
        painter.end()


def _text(parent: QWidget) -> QLabel:
    label = QLabel(parent)
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setFont(fonts.text(13))
    label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


class AlarmDetail(Surface):
    resized = Signal()  # needs more room, or less
    shelve = Signal(object, object, str)  # alarm, for how long, why

    def __init__(self, session: Session, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__("bar", parent)
        self.setAccessibleName("Selected alarm")
        self._session = session
        self.alarm: Alarm | None = None
        self._shape = _Shape(session, self)
        self.title = Label("", fonts.text(15, 600), elide=True)
        self.subtitle = Label("", fonts.text(12), "second", elide=True)
        self.facts = {name: _text(self) for name in ("Effect", "Do now", "Raised", "Answer")}
        self.acknowledge = Button("Acknowledge")
        self.shelve_button = Button("Shelve 15 min")
        self.unshelve = Button("Take off the shelf")
        self.goto = Button("Go to")
        actions.bind(self.acknowledge, "alarms.acknowledge")
        actions.bind(self.shelve_button, "alarms.shelve")
        actions.bind(self.goto, "alarms.goto")
        actions.bind(self.unshelve, "alarms.unshelve")
        self._build()
        self._build_shelf()
        self.show_alarm(None)

    def _build(self) -> None:
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(16, 12, 16, 12)
        self._column.setSpacing(8)
        head = QHBoxLayout()
        head.setSpacing(12)
        head.addWidget(self._shape)
        head.addWidget(self.title, 1)
        self._column.addLayout(head)
        self._column.addWidget(self.subtitle)
        grid = QGridLayout()
        grid.setContentsMargins(0, 8, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(10)
        grid.setColumnMinimumWidth(0, 72)
        grid.setColumnStretch(1, 1)
        self._names: dict[str, Label] = {}
        for row, (name, label) in enumerate(self.facts.items()):
            self._names[name] = Label(name, fonts.text(13), "second")
            grid.addWidget(self._names[name], row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(label, row, 1)
        self._column.addLayout(grid)
        self._column.addStretch(1)

    def _build_shelf(self) -> None:
        """The inline question for a shelf: how long, and why."""
        self.shelf = QWidget(self)
        column = QVBoxLayout(self.shelf)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        self.duration = Segments(SHELVES, "Shelve for")
        self.reason = QLineEdit()
        self.reason.setFixedHeight(28)
        self.reason.setMaxLength(200)
        self.reason.setPlaceholderText("Why? (required)")
        self.reason.setAccessibleName("Reason for shelving")
        self.confirm = Button("Shelve")
        self.confirm.setToolTip("Put the alarm on the shelf (Enter)")
        cancel = Button("Cancel")
        cancel.setToolTip("Leave the alarm where it is (Esc)")
        times, answer = QHBoxLayout(), QHBoxLayout()
        for row in (times, answer):
            row.setSpacing(8)
            column.addLayout(row)
        times.addWidget(Label("Shelve for", fonts.text(13), "second"))
        times.addWidget(self.duration)
        times.addStretch(1)
        answer.addWidget(self.reason, 1)
        answer.addWidget(self.confirm)
        answer.addWidget(cancel)
        self._column.addWidget(self.shelf)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for button in (self.acknowledge, self.shelve_button, self.unshelve, self.goto):
            buttons.addWidget(button)
        buttons.addStretch(1)
        self._column.addLayout(buttons)
        self.shelf.hide()
        self.reason.textChanged.connect(self._may_confirm)
        self.reason.returnPressed.connect(self._shelve)
        self.confirm.clicked.connect(self._shelve)
        cancel.clicked.connect(self.close_shelf)
        self._may_confirm("")

    def _may_confirm(self, text: str) -> None:
        self.confirm.setEnabled(bool(text.strip()))

    def open_shelf(self) -> None:
        self.shelf.show()
        self.shelve_button.hide()
        self.acknowledge.hide()
        self.resized.emit()
        self.reason.setFocus()

    def close_shelf(self) -> None:
        self.shelf.hide()
        self.reason.clear()
        self._show_buttons()
        self.resized.emit()

    def _shelve(self) -> None:
        reason = self.reason.text().strip()
        if self.alarm is not None and reason:
            self.shelve.emit(self.alarm, timedelta(minutes=int(self.duration.current())), reason)
            self.close_shelf()

    def _show_buttons(self) -> None:
        shelved = self.alarm is not None and self.alarm.shelved(self._session.now())
        self.acknowledge.setVisible(self.alarm is not None and not self.shelf.isVisible())
        self.unshelve.setVisible(shelved)
        self.shelve_button.setVisible(not shelved and not self.shelf.isVisible())

    def show_alarm(self, alarm: Alarm | None) -> None:
        if self.alarm is None or alarm is None or alarm.id != self.alarm.id:
            self.shelf.hide()
            self.reason.clear()
        self.alarm = self._shape.alarm = alarm
        for button in (self.acknowledge, self.shelve_button, self.unshelve, self.goto):
            button.setVisible(alarm is not None)
        if alarm is None:
            self.title.show_text("No alarm selected")
            self.subtitle.show_text("Select one to read what it means and what to do")
            self._facts({})
            self._shape.hide()
            return
        self._shape.show()
        self._show_buttons()
        self.title.show_text(alarm.message)
        words = state_words(alarm, self._session.now())
        self.subtitle.show_text(
            f"{alarm.source_name or alarm.source_kind} · {alarm.rank.word} priority · {words}"
        )
        styled(self.acknowledge, priority=str(int(alarm.rank)) if alarm.unacked else "")
        self._facts(
            {
                "Effect": alarm.effect,
                "Do now": alarm.action,
                "Raised": self._raised(alarm),
                "Answer": self._answer(alarm),
            }
        )
        self._shape.update()

    def _facts(self, facts: dict[str, str]) -> None:
        for name, label in self.facts.items():
            text = facts.get(name, "")
            label.setText(text)
            label.setVisible(bool(text))
            self._names[name].setVisible(bool(text))

    def _raised(self, alarm: Alarm) -> str:
        local = self._session.local
        text = long_date(local(alarm.raised_at))
        if alarm.count > 1:
            text = f"{alarm.count} times, first {text}, last {local(alarm.last_raised_at):%H:%M:%S}"
        if alarm.cleared_at is not None:
            text += f"; cleared {local(alarm.cleared_at):%H:%M:%S}"
        return text

    def _answer(self, alarm: Alarm) -> str:
        local = self._session.local
        words = []
        if alarm.acked_at is not None:
            words.append(f"Acknowledged by {alarm.acked_by} at {local(alarm.acked_at):%H:%M:%S}.")
        if alarm.shelved_until is not None and alarm.shelved(self._session.now()):
            words.append(
                f"Shelved by {alarm.shelved_by} until {local(alarm.shelved_until):%H:%M}: "
                f"{alarm.shelve_reason}"
            )
        return " ".join(words)
