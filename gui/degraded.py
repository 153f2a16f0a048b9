"""The banner while the database does not answer: since when, what goes on, and what can be done."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from core.clock import steady
from gui import fonts
from gui.actions import Actions
from gui.glyphs import paint_priority
from gui.parts import Button, Label, Surface
from gui.session import Session
from gui.theme import theme
from gui.words import clock

HEIGHT = 36
GOES_ON = (
    "Running recordings and playout continue from their nodes. Schedule changes are locked on this station."
)
GOES_ON_SHORT = "Recordings and playout continue. Changes are locked."


class Banner(Surface):
    def __init__(self, session: Session, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__("well", parent)
        self.setAccessibleName("Database connection lost")
        self.setFixedHeight(HEIGHT)
        self._session = session
        self._actions = actions
        self.title = Label("", fonts.figures(14, 600))
        self.effect = Label(GOES_ON, fonts.text(12), "second", elide=True)
        self.attempt = Label("", fonts.figures(12), "second")
        self.retry = Button("Retry now")
        actions.add(
            "window.retry", "Try to reach the database now", "Window", session.feed.retry_now, "Ctrl+R"
        )
        actions.bind(self.retry, "window.retry")
        row = QHBoxLayout(self)
        row.setContentsMargins(44, 0, 4, 0)
        row.setSpacing(12)
        row.addWidget(self.title)
        row.addWidget(self.effect, 1)
        row.addWidget(self.attempt)
        row.addWidget(self.retry)
        session.bridge.stale_changed.connect(self._stale)
        session.bridge.feed_changed.connect(self.refresh)
        session.ticker.second.connect(self.refresh)
        session.ticker.flash.connect(lambda _: self.update(0, 0, 40, HEIGHT))
        self._stale(session.stale)

    def _stale(self, stale: bool) -> None:
        self.setVisible(stale)
        self._actions.allow("window.retry", None if stale else "The database answers.")
        self.refresh()

    def lost_for(self) -> float:
        as_of = self._session.feed.state.as_of
        return 0.0 if as_of is None else (self._session.shown_now() - as_of).total_seconds()

    def refresh(self) -> None:
        if not self._session.stale:
            return
        state = self._session.feed.state
        self.title.show_text(f"Database connection lost for {clock(self.lost_for())}.")
        wait = state.next_attempt - steady()
        words = (
            f"attempt {state.attempts + 1} in {wait + 0.999:.0f} s"
            if wait > 0.05
            else f"attempt {state.attempts + 1} under way"
        )
        self.attempt.show_text("waiting for an answer" if state.live else words)
        since = state.as_of or self._session.now()
        self.setToolTip(f"Last answer at {self._session.local(since):%H:%M:%S}. {state.problem}".strip())
        wide = self.width() > 1300
        self.effect.show_text(GOES_ON if wide else GOES_ON_SHORT)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setPen(theme.colour("p1"))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.drawRect(self.rect().adjusted(1, 1, -2, -2))
        acked = any(not a.unacked for a in self._session.station.local_alarms.all())
        paint_priority(painter, 1, QRectF(14, 9, 18, 18), filled=not acked and self._session.ticker.lit)
        painter.end()
