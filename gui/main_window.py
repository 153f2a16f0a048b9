"""The window: first the page that says how far the opening is, then the control room; dialogs; the close."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QStackedWidget, QVBoxLayout, QWidget

from gui.actions import Actions
from gui.docking import rectangle
from gui.glyphs import application_icon
from gui.message_strip import MessageStrip
from gui.messages import Message
from gui.opening import OpeningPage
from gui.preferences import Preferences
from gui.theme import theme

if TYPE_CHECKING:
    from core.station import Station
    from gui.control_room import ControlRoom

GOES_ON = "Recordings and channels go on."
STOP_EVERYTHING = (
    "All recordings of this plant's local recorders end now, its local channels go off air, and the embedded "
    "database stops. Other stations and nodes are not touched. To leave everything running, close the window."
)


class MainWindow(QWidget):
    closing = Signal()
    stop_everything = Signal()  # asked for and confirmed
    retry_opening = Signal()
    live = Signal()  # once, after the first paint of the open plant

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self.setWindowTitle("Airlock")
        self.setAccessibleName("Airlock control room")
        self.setWindowIcon(application_icon())
        self.setProperty("surface", "gap")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setMinimumSize(1100, 600)
        self.preferences = preferences
        self.actions_ = Actions(self)
        self.room: ControlRoom | None = None
        self.opening = OpeningPage()
        self.opening.retry.connect(self.retry_opening)
        self.opening.leave.connect(self.close)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.opening)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._pages)
        self.strip = MessageStrip(self)
        self._add_actions()
        self._restore_geometry()

    # Opening

    def progress(self, sentence: str) -> None:
        self.opening.progress(sentence)

    def fail(self, sentence: str) -> None:
        if self.room is not None:
            room, self.room = self.room, None
            room.shut()
            self._pages.removeWidget(room)
            room.deleteLater()
        self._pages.setCurrentWidget(self.opening)
        self.opening.fail(sentence)

    def attach(self, station: Station) -> ControlRoom:
        """Shows the open plant."""
        # Not at the top: the window is on the screen before the control room and the core are read from disk.
        from gui.control_room import ControlRoom
        from gui.welcome import WelcomeStrip

        self._add_room_actions()
        room = ControlRoom(station, self.actions_, self.preferences.sound, self)
        self.room = room
        self.welcome = WelcomeStrip(room.session, self.actions_, self.preferences)
        room.left.insertWidget(1, self.welcome)
        room.session.message.connect(self.strip.show_message)
        room.painted.connect(self.live)
        room.panels.restore(self.preferences.layout)
        self._pages.addWidget(room)
        self._pages.setCurrentWidget(room)
        room.panels.reveal("alarms")
        return room

    def say(self, text: str, *, refused: bool = True) -> None:
        self.strip.show_message(Message(text, refused))

    # Actions

    def _add_actions(self) -> None:
        add = self.actions_.add
        add("window.palette", "Command palette", "Window", self.open_palette, "Ctrl+K")
        add("window.shortcuts", "Keyboard shortcuts", "Window", self.open_shortcuts, "F1")
        add("window.theme", "Switch between dark and light", "Window", self._switch_theme, "Ctrl+Shift+L")
        add("window.full_screen", "Full screen", "Window", self._full_screen, "F11")
        add("window.close", "Close the window", "Window", self._close, "Ctrl+Q", GOES_ON)

    def _add_room_actions(self) -> None:
        add = self.actions_.add
        add("window.settings", "Settings", "Window", self.open_settings, "Ctrl+,")
        add("window.about", "About Airlock", "Window", self.open_about, "Shift+F1")
        add("window.reset_layout", "Reset the layout", "Window", self.reset_layout, "Ctrl+Shift+0")
        add(
            "window.stop_everything",
            "Quit and stop everything",
            "Window",
            self.ask_stop_everything,
            "Ctrl+Shift+Q",
        )

    # The dialogs are imported when they are opened: the first paint does not wait for them.

    def open_palette(self) -> None:
        from gui.dialogs.palette import CommandPalette

        CommandPalette(self.actions_, self).open()

    def open_shortcuts(self) -> None:
        from gui.dialogs.shortcuts import ShortcutsDialog

        ShortcutsDialog(self.actions_, self).open()

    def open_settings(self) -> None:
        from gui.dialogs.settings import SettingsDialog

        assert self.room is not None
        SettingsDialog(self.preferences, self.room.sound, self).open()

    def open_about(self) -> None:
        from gui.dialogs.about import AboutDialog

        assert self.room is not None
        AboutDialog(self.room.session, self).open()

    def ask_stop_everything(self) -> None:
        from gui.dialogs.question import Question

        question = Question("Quit and stop everything", STOP_EVERYTHING, "Stop everything", self)
        question.accepted.connect(self.stop_everything)
        question.open()

    def reset_layout(self) -> None:
        if self.room is not None:
            self.room.panels.reset()
        self.preferences.layout = {}

    def _switch_theme(self) -> None:
        choice = "light" if theme.palette.name == "dark" else "dark"
        self.preferences.theme = choice
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        theme.apply(app, choice)

    def _full_screen(self) -> None:
        if self.isFullScreen():
            self.showNormal()
        else:
            self.showFullScreen()

    def _close(self) -> None:
        self.close()

    # Remembering and leaving

    def _restore_geometry(self) -> None:
        frame = self.preferences.layout.get("window")
        screen = QApplication.primaryScreen()
        room = screen.availableGeometry() if screen is not None else None
        if isinstance(frame, list) and len(frame) == 4 and room is not None:
            # A screen that was there yesterday may be gone: never open outside of what there is.
            x, y, width, height = (int(v) for v in frame)
            width, height = min(width, room.width()), min(height, room.height())
            x = min(max(x, room.left()), room.right() - width + 1)
            y = min(max(y, room.top()), room.bottom() - height + 1)
            self.setGeometry(x, y, width, height)
        else:
            self.resize(1920, 1080)
            if room is not None and (room.width() <= 1920 or room.height() <= 1080):
                self.resize(min(1920, room.width()), min(1080, room.height()))

    def save_layout(self) -> None:
        layout = {} if self.room is None else self.room.panels.saved()
        layout["window"] = rectangle(self)
        self.preferences.layout = layout
        self.preferences.save()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.strip.hide()
            return
        super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        self.save_layout()
        if self.room is not None:
            for floating in list(self.room.panels.floats.values()):
                floating.hide()
        event.accept()
        self.closing.emit()
