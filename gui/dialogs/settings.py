"""The few things an operator may like differently. Each takes effect at once."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QCheckBox, QHBoxLayout, QLabel, QWidget

from gui import fonts
from gui.alarms.sound import AlarmSound
from gui.dialogs.sheet import Sheet
from gui.parts import Button, Label, Segments
from gui.preferences import Preferences
from gui.theme import theme

THEMES = {"dark": "Dark", "light": "Light", "system": "As the system"}


class SettingsDialog(Sheet):
    def __init__(self, preferences: Preferences, sound: AlarmSound, window: QWidget) -> None:
        super().__init__("Settings", window, 520)
        self._preferences = preferences
        self._sound = sound
        self.themes = Segments(THEMES, "Theme")
        self.themes.choose(theme.choice)
        self.themes.chosen.connect(self._theme)
        self.sound = QCheckBox("Alarms sound until they are acknowledged")
        self.sound.setFont(fonts.text(13))
        self.sound.setChecked(sound.enabled)
        self.sound.setToolTip("Switch the sound of alarms on or off")
        self.sound.toggled.connect(self._switch_sound)
        test = Button("Play")
        test.setToolTip("Play the sound of a high-priority alarm")
        test.clicked.connect(sound.test)
        self._row("Theme", self.themes)
        self._row("Sound", self.sound, test)
        about = QLabel(sound.about)
        about.setFont(fonts.text(12))
        about.setProperty("tone", "second")
        about.setWordWrap(True)
        about.setContentsMargins(96, 0, 0, 8)
        self.body.addWidget(about)

    def _row(self, name: str, *widgets: QWidget) -> None:
        row = QHBoxLayout()
        row.setSpacing(8)
        label = Label(name, fonts.text(13), "second")
        label.setFixedWidth(88)
        row.addWidget(label)
        for widget in widgets:
            row.addWidget(widget)
        row.addStretch(1)
        self.body.addLayout(row)

    def _theme(self, choice: str) -> None:
        self._preferences.theme = choice
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        theme.apply(app, choice)

    def _switch_sound(self, on: bool) -> None:
        self._preferences.sound = on
        self._sound.enabled = on
        self._sound.changed.emit()
