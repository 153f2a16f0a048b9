"""Every action of the window in one registry: its name, its keys, where it belongs, and why it cannot work
now.

Buttons, menus, the command palette and the list of shortcuts all come from here, so that they cannot
disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QWidget


@dataclass
class Action:
    id: str
    title: str
    where: str
    shortcut: str
    run: Callable[[], None]
    qt: QAction
    about: str = ""
    reason: str | None = None  # why it cannot work now
    controls: list[tuple[QAbstractButton, str]] = field(default_factory=list)

    @property
    def keys(self) -> str:
        return shown(self.shortcut)


def shown(shortcut: str) -> str:
    return QKeySequence(shortcut).toString(QKeySequence.SequenceFormat.NativeText) if shortcut else ""


def tooltip(title: str, shortcut: str = "", reason: str | None = None) -> str:
    text = f"{title} ({shown(shortcut)})" if shortcut else title
    return f"{text}\n{reason}" if reason else text


class Actions(QObject):
    changed = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._actions: dict[str, Action] = {}

    def add(
        self, id: str, title: str, where: str, run: Callable[[], None], shortcut: str = "", about: str = ""
    ) -> Action:
        if (old := self._actions.pop(id, None)) is not None:
            # Its panel was made anew; two of one shortcut would make both silent.
            self._window.removeAction(old.qt)
            old.qt.deleteLater()
        qt = QAction(title, self._window)
        if shortcut:
            qt.setShortcut(QKeySequence(shortcut))
            qt.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
        qt.triggered.connect(lambda: self.trigger(id))
        self._window.addAction(qt)
        action = self._actions[id] = Action(id, title, where, shortcut, run, qt, about)
        self.changed.emit()
        return action

    def all(self) -> list[Action]:
        return list(self._actions.values())

    def __getitem__(self, id: str) -> Action:
        return self._actions[id]

    def __contains__(self, id: str) -> bool:
        return id in self._actions

    def trigger(self, id: str) -> None:
        action = self._actions[id]
        if action.reason is None:
            action.run()

    def attach(self, window: QWidget) -> None:
        """Has the shortcuts work in another window too, such as a floating panel."""
        window.addActions([a.qt for a in self._actions.values()])

    def bind(self, button: QAbstractButton, id: str, title: str = "") -> None:
        """Makes a button the control of an action: its tooltip has the keys, and why it cannot work."""
        action = self._actions[id]
        action.controls.append((button, title or action.title))
        button.clicked.connect(lambda: self.trigger(id))
        self._dress(action)

    def allow(self, id: str, reason: str | None) -> None:
        """Enables an action (None), or disables it and says why."""
        action = self._actions[id]
        if action.reason != reason or action.qt.isEnabled() != (reason is None):
            action.reason = reason
            self._dress(action)

    def rename(self, id: str, title: str) -> None:
        action = self._actions[id]
        if action.title != title:
            action.title = title
            action.qt.setText(title)
            action.controls = [(button, title) for button, _ in action.controls]
            self._dress(action)

    @staticmethod
    def _dress(action: Action) -> None:
        action.qt.setEnabled(action.reason is None)
        for button, title in action.controls:
            button.setEnabled(action.reason is None)
            button.setToolTip(tooltip(title, action.shortcut, action.reason))
            button.setAccessibleDescription(action.reason or "")
