"""The theme in use: its colours, applied to the whole application and switchable while it runs.

Widgets that paint themselves read `theme.palette` when they paint and are repainted when `changed` is
emitted.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QToolTip

from gui import fonts
from gui.palette import DARK, LIGHT, Palette
from gui.stylesheet import style_sheet

CHOICES = ("dark", "light", "system")


class Theme(QObject):
    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.palette: Palette = DARK
        self.choice = "dark"
        self._colours: dict[str, QColor] = {}
        self._follows_system = False

    def colour(self, token: str) -> QColor:
        found = self._colours.get(token)
        if found is None:
            found = self._colours[token] = QColor(getattr(self.palette, token))
        return found

    def apply(self, app: QApplication, choice: str) -> None:
        """Dresses the application. Cheap enough to be called while it runs."""
        self.choice = choice if choice in CHOICES else "dark"
        self.palette = self._chosen()
        self._colours.clear()
        app.setStyle("Fusion")
        app.setFont(fonts.text())
        QToolTip.setFont(fonts.text(12))
        app.setPalette(_qt_palette(self.palette))
        app.setStyleSheet(style_sheet(self.palette))
        if not self._follows_system:
            self._follows_system = True
            QGuiApplication.styleHints().colorSchemeChanged.connect(lambda _: self._system_changed(app))
        self.changed.emit()

    def _chosen(self) -> Palette:
        if self.choice == "system":
            light = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Light
            return LIGHT if light else DARK
        return LIGHT if self.choice == "light" else DARK

    def _system_changed(self, app: QApplication) -> None:
        if self.choice == "system" and self._chosen() is not self.palette:
            self.apply(app, "system")


def _qt_palette(colours: Palette) -> QPalette:
    """For the few things that Qt paints by palette and not by style sheet."""
    qt = QPalette()
    role = QPalette.ColorRole
    for which, token in (
        (role.Window, colours.gap),
        (role.WindowText, colours.t1),
        (role.Base, colours.bg0),
        (role.AlternateBase, colours.bg1alt),
        (role.Text, colours.t1),
        (role.Button, colours.bg3),
        (role.ButtonText, colours.t1),
        (role.Highlight, colours.selbg),
        (role.HighlightedText, colours.t1),
        (role.PlaceholderText, colours.t3),
        (role.ToolTipBase, colours.well),
        (role.ToolTipText, colours.t1),
        (role.Link, colours.sel),
    ):
        qt.setColor(which, QColor(token))
    for which in (role.WindowText, role.Text, role.ButtonText):
        qt.setColor(QPalette.ColorGroup.Disabled, which, QColor(colours.dis))
    return qt


theme = Theme()
