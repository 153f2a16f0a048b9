"""The buttons of a channel: Start at one press; Stop, Failover and Skip in two steps.

While one of them is armed, the confirm button stands where the pressed one was not, so that no second press at the
same place fires: for Failover and Skip at the left, with Cancel where Failover was; for Stop the other way round.
"""

from __future__ import annotations

import math
from functools import partial

from PySide6.QtCore import QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QWidget

from core.playout.model import Channel
from gui import fonts
from gui.actions import Actions, tooltip
from gui.channels.deeds import Deeds
from gui.parts import Label
from gui.recorders.buttons import ConfirmButton, MarkButton
from gui.recorders.guard import ARMED_FOR, Guard
from gui.recorders.marks import paint_mark

HEIGHT, BUTTON, STEP = 32, 96, 100
PENDING = {"start": "Starting…", "stop": "Stopping…", "failover": "Moving…", "skip": "Skipping…"}
NAMES = {"start": "Start", "stop": "Stop", "failover": "Failover", "skip": "Skip"}
MARKS = {"start": "start", "stop": "stop", "failover": "swap", "skip": "skip"}
Key = tuple[str, int, str, int | None]


class FailoverButton(MarkButton):
    """Its right end, a right click and the Down key open the list of nodes; that list is harmless."""

    menu_wanted = Signal()
    CHEVRON = 18

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.text() == NAMES["failover"]:
            painter = QPainter(self)
            spot = QRectF(self.width() - 15, self.height() / 2 - 4, 8, 8)
            paint_mark(painter, "more", spot, self._ink())
            painter.end()

    def _content_width(self) -> int:
        return super()._content_width() + (14 if self.text() == NAMES["failover"] else 0)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.position().x() > self.width() - self.CHEVRON and event.button() == Qt.MouseButton.LeftButton:
            self.menu_wanted.emit()
            return
        super().mousePressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_wanted.emit()
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down:
            self.menu_wanted.emit()
            return
        super().keyPressEvent(event)


class Controls(QWidget):
    done = Signal()  # something was pressed

    def __init__(
        self, channel: Channel, deeds: Deeds, guard: Guard, actions: Actions, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._channel = channel
        self._deeds = deeds
        self._guard = guard
        self._actions = actions
        self.resize(4 * STEP - 4, HEIGHT)
        self.buttons: dict[str, MarkButton] = {}
        for number, (kind, name) in enumerate(NAMES.items()):
            make = FailoverButton if kind == "failover" else MarkButton
            button = make(name, MARKS[kind], self, guarded=kind != "start")
            button.setGeometry(number * STEP, 0, BUTTON, HEIGHT)
            button.setFixedSize(BUTTON, HEIGHT)
            button.clicked.connect(partial(self.press, kind))
            self.buttons[kind] = button
        self.failover.menu_wanted.connect(self.open_nodes)
        self.confirm = ConfirmButton(self)
        self.confirm.setFixedSize(ConfirmButton.WIDTH, HEIGHT)
        self.cancel = MarkButton("Cancel", "cross", self)
        self.cancel.setFixedSize(BUTTON, HEIGHT)
        self.cancel.setProperty("armed", "true")
        self.cancel.setToolTip(tooltip("Leave it as it is", "Esc"))
        self.hint = Label("", fonts.figures(12, 700), parent=self)
        self.escape = Label("Esc cancels", fonts.text(12), "second", parent=self)
        self.confirm.clicked.connect(self.fire)
        self.cancel.clicked.connect(self._guard.disarm)
        self._show_armed(None)

    @property
    def failover(self) -> FailoverButton:
        button = self.buttons["failover"]
        assert isinstance(button, FailoverButton)
        return button

    @property
    def armed(self) -> Key | None:
        """What is armed here: the kind of thing, the channel, which deed, and for a failover the node."""
        key = self._guard.armed
        mine = isinstance(key, tuple) and key[:2] == ("channel", self._channel.id)
        return key if mine else None  # type: ignore[return-value]

    # What can be done now

    def refresh(self, channel: Channel) -> None:
        self._channel = channel
        for kind, button in self.buttons.items():
            why = self._deeds.why_not(kind, channel)
            waits = self._deeds.doing(kind, channel)
            button.show_mark(
                PENDING[kind] if waits else NAMES[kind],
                "" if waits else MARKS[kind],
                kind != "start" and why is None,
            )
            self._dress(button, kind, why)
            if why is not None and (armed := self.armed) is not None and armed[2] == kind:
                self._guard.disarm()
        self._show_armed(self.armed)

    def _dress(self, button: MarkButton, kind: str, why: str | None) -> None:
        name = self._channel.name
        titles = {
            "start": f"Start {name}",
            "stop": f"Take {name} off air: two steps",
            "failover": f"Move {name} to another node: two steps",
            "skip": f"Skip to the next clip of {name}: two steps",
        }
        shortcut = self._actions[f"channels.{kind}"].shortcut if f"channels.{kind}" in self._actions else ""
        tip = tooltip(titles[kind], shortcut, why)
        if kind == "failover" and why is None:
            tip += "\nRight click or Down chooses the node."
        if button.toolTip() != tip:
            button.setToolTip(tip)
            button.setAccessibleName(f"{NAMES[kind]} {name}")
            button.setAccessibleDescription(why or titles[kind])
        if button.isEnabled() != (why is None):
            button.setEnabled(why is None)

    # Two steps

    def press(self, kind: str) -> None:
        if self._deeds.why_not(kind, self._channel) is not None:
            return
        if kind == "start":
            self._deeds.do("start", self._channel)
            self.done.emit()
            return
        nodes = self._deeds.nodes(self._channel) if kind == "failover" else []
        self.arm(kind, nodes[0].id if nodes else None)

    def arm(self, kind: str, node: int | None = None) -> None:
        if self._deeds.why_not(kind, self._channel) is None:
            self._guard.press(("channel", self._channel.id, kind, node))

    def open_nodes(self) -> QMenu | None:
        """The nodes that can take the channel; choosing one arms."""
        if self._deeds.why_not("failover", self._channel) is not None:
            return None
        menu = QMenu(self)
        menu.setAccessibleName(f"Fail {self._channel.name} over to")
        for number, node in enumerate(self._deeds.nodes(self._channel)):
            title = f"{node.name} (best)" if number == 0 else node.name
            menu.addAction(title).triggered.connect(partial(self.arm, "failover", node.id))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.failover.mapToGlobal(QPoint(0, self.failover.height())))
        return menu

    def fire(self) -> None:
        armed = self.armed
        if armed is not None and self._guard.fire(armed):
            _, _, kind, node = armed
            if self._deeds.why_not(kind, self._channel) is None:
                self._deeds.do(kind, self._channel, node)
                self.done.emit()

    def refresh_guard(self) -> None:
        self._show_armed(self.armed)

    def _show_armed(self, armed: Key | None) -> None:
        for widget in (self.confirm, self.cancel, self.hint, self.escape):
            widget.setVisible(armed is not None)
        for button in self.buttons.values():
            button.setVisible(armed is None)
        if armed is not None:
            _, _, kind, node = armed
            self._place_armed(mirrored=kind == "stop")
            nodes = {n.id: n.name for n in self._deeds.nodes(self._channel)}
            to = nodes.get(node, "") if node is not None else ""
            deed = {"stop": "stop", "skip": "skip", "failover": f"failover to {to}" if to else "failover"}[
                kind
            ]
            self.confirm.show_text(f"Confirm {deed}")
            self.confirm.setAccessibleName(f"Confirm {deed} of {self._channel.name}")
            self.drain()

    def _place_armed(self, *, mirrored: bool) -> None:
        self.confirm.move(2 * STEP if mirrored else 0, 0)
        self.cancel.move(STEP if mirrored else 2 * STEP, 0)
        words = 0 if mirrored else 3 * STEP + 8
        self.hint.setGeometry(words, 1, BUTTON - 8, 15)
        self.escape.setGeometry(words, 16, BUTTON - 8, 15)

    def drain(self) -> None:
        left = self._guard.left()
        self.confirm.drain(left / ARMED_FOR)
        self.hint.show_text(f"ARMED {math.ceil(left)} s")
