"""The welcome over a demonstration plant: three things to try. Gone for good when dismissed, or with the plant."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui import fonts
from gui.actions import Actions
from gui.parts import Button, Label, Surface
from gui.preferences import Preferences
from gui.session import Session

HEIGHT = 36
WELCOME = "A demonstration plant: all of it is real. Drag on an empty stretch to plan a recording, or try:"
TRY = (
    ("recorders.new", "New window"),
    ("recorders.go", "Start a recorder"),
    ("window.palette", "Every command"),
)


class WelcomeStrip(Surface):
    def __init__(
        self, session: Session, actions: Actions, preferences: Preferences, parent: QWidget | None = None
    ) -> None:
        super().__init__("well", parent, edge="bottom")
        self.setAccessibleName("Welcome")
        self.setFixedHeight(HEIGHT)
        self._session = session
        self._preferences = preferences
        self.text = Label(WELCOME, fonts.text(13), elide=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 4, 0)
        row.setSpacing(8)
        row.addWidget(self.text, 1)
        self.tries: list[Button] = []
        for id, words in TRY:
            if id in actions:
                button = Button(words, key=actions[id].keys)
                actions.bind(button, id)
                row.addWidget(button)
                self.tries.append(button)
        self.dismiss = Button("", glyph="close")
        self.dismiss.setAccessibleName("Dismiss the welcome")
        actions.add("window.welcome", "Dismiss the welcome", "Window", self._dismiss)
        actions.bind(self.dismiss, "window.welcome")
        row.addWidget(self.dismiss)
        session.bridge.changed.connect(self._changed)
        session.bridge.stale_changed.connect(lambda _: self._look())
        self._look()

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        if "plant" in changes:
            self._look()

    def _look(self) -> None:
        plant = self._session.model.plant
        demo = plant is not None and plant.demo
        # While the database is gone the banner has something more important to say in its place.
        self.setVisible(demo and not self._preferences.welcomed and not self._session.stale)

    def _dismiss(self) -> None:
        self._preferences.welcomed = True
        self._preferences.save()
        self._look()
