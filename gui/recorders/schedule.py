"""The windows under way and of the next 24 hours, with what can be done to the selected one."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget

from core.recording.model import Window
from gui import fonts
from gui.actions import Actions, tooltip
from gui.parts import Label, Surface, Toolbar
from gui.recorders.buttons import ConfirmButton, MarkButton
from gui.recorders.deeds import Deeds
from gui.recorders.guard import ARMED_FOR, Guard
from gui.recorders.listing import Listed, ScheduleDelegate, columns, listed, tip
from gui.recorders.plan import Plan
from gui.session import Session
from gui.table import Rows, Table
from gui.words import plural

EMPTY = "No windows in the next 24 hours. New window (N) plans one."
COUNTED = 460  # px of width from which there is room for the number of windows


class SchedulePane(Surface):
    edit = Signal(object)  # a window

    def __init__(
        self,
        session: Session,
        actions: Actions,
        plan: Plan,
        deeds: Deeds,
        guard: Guard,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("panel", parent)
        self.setAccessibleName("Schedule")
        self._session = session
        self._actions = actions
        self._plan = plan
        self._deeds = deeds
        self._guard = guard
        self._filter = ""
        self._wanted: int | None = None
        self.model = Rows(columns(session), lambda x: x.window.id, lambda x: tip(session, x), self)
        self.table = Table(self.model, "Schedule", EMPTY)
        self.table.setItemDelegate(ScheduleDelegate(self.table))
        self.setFocusProxy(self.table)
        self.count = Label("", fonts.text(12), "second", elide=True)
        self.buttons: dict[str, MarkButton] = {}
        self._deed: dict[
            str, tuple[str, str, Callable[[Window], None], Callable[[Window | None], str | None]]
        ]
        self._deed = {
            "skip": ("Skip", "windows.skip", deeds.skip, deeds.why_not_skip),
            "cancel": ("Cancel", "windows.cancel", deeds.cancel, deeds.why_not_cancel),
            "delete": ("Delete", "windows.delete", deeds.delete, deeds.why_not_delete),
        }
        self._add_actions()
        self._build()
        self._connect()
        self.refresh()

    def _add_actions(self) -> None:
        add = self._actions.add
        add("windows.edit", "Edit the selected window", "Schedule", self._edit_chosen, "F2")
        add(
            "windows.skip", "Skip the selected occurrence", "Schedule", partial(self.press, "skip"), "Shift+K"
        )
        add(
            "windows.cancel",
            "Cancel the selected window",
            "Schedule",
            partial(self.press, "cancel"),
            "Shift+C",
        )
        add(
            "windows.delete",
            "Delete the selected window",
            "Schedule",
            partial(self.press, "delete"),
            "Shift+Del",
        )

    def _build(self) -> None:
        self.toolbar = Toolbar(surface="bar")
        self.edit_button = MarkButton("Edit")
        self._actions.bind(self.edit_button, "windows.edit")
        self.toolbar.add(Label("Schedule", fonts.text(13, 600)))
        self.toolbar.row.addWidget(self.count, 1)
        self.toolbar.stretch()
        self.toolbar.add(self.edit_button)
        for key, (words, _, _, _) in self._deed.items():
            button = self.buttons[key] = MarkButton(words, guarded=True)
            button.clicked.connect(partial(self.press, key))
            self.toolbar.add(button)
        self.confirm = ConfirmButton(self.toolbar)
        self.confirm.move(8, 4)
        self.confirm.clicked.connect(self.fire)
        self.confirm.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.toolbar)
        column.addWidget(self.table, 1)

    def _connect(self) -> None:
        session = self._session
        self.table.chosen.connect(self._chosen)
        self.table.opened.connect(lambda x: self._edit(x))
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._context_menu)
        session.bridge.stale_changed.connect(self.table.set_old)
        self._guard.changed.connect(self._show_guard)
        self.table.set_old(session.stale)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.count.setVisible(self.width() >= COUNTED)

    # What is shown

    def set_filter(self, words: str) -> None:
        self._filter = words.strip().casefold()
        self.refresh()

    def refresh(self) -> None:
        now = self._session.now()
        rows = [x for w in self._plan.listed(now) if self._matches(x := listed(self._session, w))]
        self.table.empty = f"No window matches “{self._filter}”." if self._filter else EMPTY
        self.model.show(rows)
        self.count.show_text(plural(len(rows), "window"))
        if self._wanted is not None:
            self.choose(self._wanted)
        self._chosen(self.table.chosen_row())

    def _matches(self, x: Listed) -> bool:
        return not self._filter or any(
            self._filter in text.casefold() for text in (x.window.name, x.recorder, x.source)
        )

    def choose(self, window: int) -> None:
        """Selects a window, now or as soon as the feed brings it."""
        self._wanted = window
        row = self.model.position(window)
        if row is not None:
            self._wanted = None
            self.table.choose(row)
            self.table.scrollTo(self.model.index(row, 0))

    def chosen_window(self) -> Window | None:
        row = self.table.chosen_row()
        return row.window if isinstance(row, Listed) else None

    def _chosen(self, _row: object) -> None:
        window = self.chosen_window()
        self._actions.allow("windows.edit", self._deeds.why_not_edit(window))
        for _, action, _, why_not in self._deed.values():
            self._actions.allow(action, why_not(window))
        armed = self._guard.armed
        if isinstance(armed, tuple) and armed[0] == "window":
            _, key, id = armed
            if window is None or window.id != id or self._deed[key][3](window) is not None:
                self._guard.disarm()
        self._show_guard()

    # What is done

    def _edit(self, row: object) -> None:
        if isinstance(row, Listed):
            why = self._deeds.why_not_edit(row.window)
            if why is None:
                self.edit.emit(row.window)
            else:
                self._session.say(why)

    def _edit_chosen(self) -> None:
        self._edit(self.table.chosen_row())

    def press(self, key: str) -> None:
        window = self.chosen_window()
        if window is not None:
            armed = ("window", key, window.id)
            if self._guard.armed == armed or self._deed[key][3](window) is None:
                self._guard.press(armed)

    def fire(self) -> None:
        armed, window = self._guard.armed, self.chosen_window()
        if not isinstance(armed, tuple) or armed[0] != "window" or window is None or window.id != armed[2]:
            return
        if self._guard.fire(armed):
            self._deed[armed[1]][2](window)

    def frame(self) -> None:
        if not self.confirm.isHidden():
            self.confirm.drain(self._guard.left() / ARMED_FOR)

    def _show_guard(self) -> None:
        armed, window = self._guard.armed, self.chosen_window()
        mine = isinstance(armed, tuple) and armed[0] == "window"
        for key, (words, action, _, why_not) in self._deed.items():
            on = mine and isinstance(armed, tuple) and armed[1] == key
            button = self.buttons[key]
            button.show_mark("Keep" if on else words, "", not on)
            reason = None if on else why_not(window)
            title = (
                f"Leave it as it is (Esc), {math.ceil(ARMED_FOR)} s" if on else self._actions[action].title
            )
            button.setToolTip(tooltip(title, "" if on else self._actions[action].shortcut, reason))
            button.setEnabled(reason is None)
            if on and window is not None:
                self.confirm.show_text(f"{words} {window.name}")
                self.confirm.drain(self._guard.left() / ARMED_FOR)
        self.confirm.setVisible(mine)
        self.confirm.raise_()

    def _context_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        for action in ("windows.edit", "windows.skip", "windows.cancel", "windows.delete"):
            menu.addAction(self._actions[action].qt)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.table.viewport().mapToGlobal(at))
