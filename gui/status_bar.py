"""The line at the bottom: how alive the picture is, and the keys that matter most."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui import fonts
from gui.actions import Actions
from gui.lag import LagMeter
from gui.parts import Chip, Label, Surface
from gui.session import Session
from gui.words import clock, milliseconds

HEIGHT = 28
HINTS = (
    ("alarms.acknowledge_visible", "acknowledge"),
    ("window.palette", "commands"),
    ("window.settings", "settings"),
    ("window.shortcuts", "all keys"),
)


class _Figure(QWidget):
    """A name and a value that never move each other: the value has room for its longest form."""

    def __init__(self, name: str, widest: str, tip: str) -> None:
        super().__init__()
        self.setToolTip(tip)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 12, 0)
        row.setSpacing(8)
        row.addWidget(Label(name, fonts.text(12), "second"))
        self.value = Label("–", fonts.figures(12, 600))
        self.value.setMinimumWidth(self.value.fontMetrics().horizontalAdvance(widest) + 2)
        row.addWidget(self.value)


class _Hint(QWidget):
    clicked = Signal()

    def __init__(self, keys: str, words: str, tip: str) -> None:
        super().__init__()
        self.setToolTip(tip)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(Chip(keys, "key"))
        row.addWidget(Label(words, fonts.text(12), "second"))

    def mousePressEvent(self, _event: QMouseEvent) -> None:
        self.clicked.emit()


class StatusBar(Surface):
    def __init__(
        self, session: Session, actions: Actions, lag: LagMeter, parent: QWidget | None = None
    ) -> None:
        super().__init__("bar", parent, edge="top")
        self.setAccessibleName("Status")
        self.setFixedHeight(HEIGHT)
        self._session = session
        self._lag = lag
        self.reply = _Figure(
            "Last reply", "00:00:00  10 s ago", "When the database last confirmed what is shown"
        )
        self.round_trip = _Figure("Database", "100.0 ms", "How long the database takes to answer")
        self.epoch = _Figure("Epoch", "100000", "The leader's term; everything it writes carries it")
        self.loop = _Figure(
            "Loop",
            "100.0 ms, worst 100.0 ms",
            "How long this window keeps things waiting, now and at worst in the last minute",
        )
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 12, 0)
        row.setSpacing(0)
        self.figures = (self.reply, self.round_trip, self.epoch, self.loop)
        for figure in self.figures:
            row.addWidget(figure)
            rule = Surface("gap")
            rule.setFixedWidth(1)
            row.addWidget(rule)
        row.addStretch(1)
        self.hints: list[_Hint] = []
        for id, words in HINTS:
            action = actions[id]
            hint = _Hint(action.keys, words, f"{action.title} ({action.keys})")
            hint.clicked.connect(lambda id=id: actions.trigger(id))
            row.addWidget(hint)
            row.addSpacing(12)
            self.hints.append(hint)
        session.ticker.second.connect(self.refresh)
        session.bridge.stale_changed.connect(lambda _: self.refresh())
        self.refresh()

    def refresh(self) -> None:
        session = self._session
        state = session.feed.state
        if state.as_of is None:
            self.reply.value.show_text("none yet")
        else:
            age = max(0.0, (session.shown_now() - state.as_of).total_seconds())
            old = "" if age < 1.5 else f"  {age:.0f} s ago" if age < 60 else f"  {clock(age)} ago"
            self.reply.value.show_text(f"{session.local(state.as_of):%H:%M:%S}{old}")
        trip = session.clock.round_trip
        self.round_trip.value.show_text(
            "no reply" if session.stale else milliseconds(None if trip is None else trip * 1000)
        )
        leader = session.model.leader
        self.epoch.value.show_text("–" if leader is None else str(leader.epoch))
        worst = self._lag.maximum * 1000
        self.loop.value.show_text(f"{milliseconds(self._lag.last * 1000)}, worst {milliseconds(worst)}")
