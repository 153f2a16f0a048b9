"""The recorders panel: every recorder with its controls, the schedule beside them, and the form of a window."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from core.recording.commands import create_window
from core.recording.model import Window
from gui import fonts
from gui.actions import Actions
from gui.freshness import Freshness
from gui.parts import Button, Label, SearchField, Surface, Toolbar
from gui.recorders.buttons import MarkButton
from gui.recorders.controls import EXTENSIONS, Controls
from gui.recorders.deeds import Deeds
from gui.recorders.form import WindowForm
from gui.recorders.growth import Growth
from gui.recorders.guard import Guard
from gui.recorders.plan import Plan
from gui.recorders.roster import Roster
from gui.recorders.schedule import SchedulePane
from gui.session import Session
from gui.words import plural

BESIDE = 1280  # px of width from which the schedule stands beside the recorders
BELOW = 480  # px of height from which it stands below them
LEAST_HEIGHT = 36 + 4 * 72
LEAST_IN_DOCK = 200
LEAST_TABLE = 120  # px that the schedule needs under an open form


class Centre(Protocol):
    """Who takes what is asked of the plan while this panel is not the centre: the timeline and its inspector."""

    def new(self, recorder: int | None) -> None: ...

    def edit(self, window: Window) -> None: ...

    def extend(self, minutes: int) -> None: ...

    def focus_filter(self) -> None: ...


class RecordersPanel(Surface):
    wanted = Signal()  # somebody asked to see it

    def __init__(self, session: Session, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__("panel", parent)
        self.setAccessibleName("Recorders")
        self.setMinimumHeight(LEAST_HEIGHT)
        self._session = session
        self._actions = actions
        self._manner = ""
        self._moved = False
        self.centre: Centre | None = None
        self.plan = Plan(session.model)
        self.destroyed.connect(self.plan.close)
        self.growth = Growth()
        self.guard = Guard(self)
        self.deeds = Deeds(session, self.plan, self)
        self._add_actions()
        self.roster = Roster(session, actions, self.plan, self.deeds, self.guard, self.growth)
        self.schedule = SchedulePane(session, actions, self.plan, self.deeds, self.guard)
        self.form = WindowForm(session)
        self.setFocusProxy(self.roster)
        self._build()
        self._connect()
        self._refresh_all()

    def _add_actions(self) -> None:
        add = self._actions.add
        add("recorders.go", "Go to Recorders", "Recorders", self._go, "Alt+0")
        add("recorders.schedule", "Go to the schedule", "Recorders", self._go_to_schedule, "Alt+9")
        add("recorders.filter", "Filter recorders and windows", "Recorders", self._focus_filter, "/")
        add("recorders.new", "New window", "Schedule", self.new_window, "N")
        add("recorders.start", "Start the selected recorder", "Recorders", self._start, "Shift+R")
        add("recorders.start_for", "Start it for a length", "Recorders", self._start_for, "Ctrl+Shift+R")
        add("recorders.stop", "Stop the selected recorder (two steps)", "Recorders", self._stop, "Shift+S")
        keys = dict(zip(EXTENSIONS, ("E", "Shift+E", "Ctrl+E"), strict=True))
        for minutes, key in keys.items():
            title = f"Extend the recording by {minutes} min"
            add(f"recorders.extend_{minutes}", title, "Recorders", partial(self._extend, minutes), key)
        add("recorders.mode", "Switch between auto and manual", "Recorders", self._mode, "Shift+M")

    def _build(self) -> None:
        self.summary = Label("", fonts.text(12), "second", elide=True)
        self.search = SearchField("Filter name, source, title")
        self.search.setMinimumWidth(120)
        self.search.setMaximumWidth(260)
        self.search.setToolTip("Filter recorders and windows (/)")
        self.new_button = MarkButton("New window", "plus", key="N")
        self._actions.bind(self.new_button, "recorders.new")
        self.toolbar = Toolbar(surface="bar")
        self.toolbar.add(Label("Recorders", fonts.text(13, 600)), self.summary)
        self.toolbar.row.setStretchFactor(self.summary, 1)
        self.swap = Button("Schedule")
        self.swap.setCheckable(True)
        self.swap.setToolTip("Show the schedule instead of the recorders (Alt+9)")
        self.toolbar.add(Freshness(self._session, read_only=True), self.swap, self.new_button)
        self.toolbar.row.addWidget(self.search, 1)
        self.side = Surface("gap")
        beside = QVBoxLayout(self.side)
        beside.setContentsMargins(0, 0, 0, 0)
        beside.setSpacing(1)
        beside.addWidget(self.form)
        beside.addWidget(self.schedule, 1)
        self.split = QSplitter(Qt.Orientation.Horizontal)
        self.split.setHandleWidth(4)
        self.split.setChildrenCollapsible(False)
        self.split.addWidget(self.roster)
        self.split.addWidget(self.side)
        self.split.setStretchFactor(0, 1)
        self.split.setStretchFactor(1, 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.toolbar)
        column.addWidget(self.split, 1)
        # Only while something is armed: otherwise these keys belong to whoever has the focus.
        self._armed_keys = [
            self._armed_key("Esc", self.guard.disarm),
            self._armed_key("Ctrl+Return", self._fire),
            self._armed_key("Ctrl+Enter", self._fire),
        ]

    def _armed_key(self, keys: str, run: object) -> QShortcut:
        shortcut = QShortcut(QKeySequence(keys), self)
        shortcut.setContext(Qt.ShortcutContext.WindowShortcut)
        shortcut.setEnabled(False)
        shortcut.activated.connect(run)
        return shortcut

    def _connect(self) -> None:
        session = self._session
        session.bridge.changed.connect(self._changed)
        session.alarms_changed.connect(self.roster.alarms_changed)
        session.pending_changed.connect(self._refresh)
        session.abilities_changed.connect(self._refresh)
        session.bridge.stale_changed.connect(lambda _: self.roster.viewport().update())
        session.ticker.second.connect(self._second)
        session.ticker.flash.connect(lambda _: self.roster.flash())
        session.ticker.frame.connect(self._frame)
        self.guard.changed.connect(self._guard_changed)
        self.search.textChanged.connect(self._filter)
        self.schedule.edit.connect(self.edit_window)
        self.form.closed.connect(self._form_closed)
        self.form.saved.connect(self._saved)
        self.form.resized.connect(self._fit)
        self.swap.toggled.connect(self._fit)
        self.split.splitterMoved.connect(self._handle_moved)

    # Public

    def go_to(self, recorder_id: int) -> None:
        """Shows a recorder, as an alarm asks for it."""
        if recorder_id not in self.roster.in_order():
            self.search.clear()
        self._go()
        self.roster.select(recorder_id)
        self.roster.reveal(recorder_id)

    def new_window(self) -> None:
        if self.centre is not None:
            self.centre.new(self.roster.selected if self._has_hand() else None)
            return
        self.form.open_new(self.roster.selected)
        self._fit()

    def edit_window(self, window: Window) -> None:
        if self.centre is not None:
            self.centre.edit(window)
            return
        self.form.open_window(window)
        self._fit()

    def _has_hand(self) -> bool:
        """Whether the keyboard is here. Otherwise the keys are meant for the centre."""
        focus = self.window().focusWidget()
        return focus is not None and (focus is self or self.isAncestorOf(focus))

    # Keeping up

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        touched: set[int] = self.plan.touched() | changes.get("recorders", frozenset())
        for id in changes.get("assets", ()):
            if (asset := self._session.model.assets.get(id)) is not None:
                self.growth.note(asset)
        if "nodes" in changes:
            nodes = changes["nodes"]
            touched |= {r.id for r in self._session.model.recorders.values() if r.node_id in nodes}
        if "recorders" in changes or (self.search.text() and "recorder_schedules" in changes):
            self.roster.arrange()
        if changes.keys() & {"plant"}:
            self._refresh_all()
        elif touched:
            self.roster.refresh(touched)
        if changes.keys() & {"recorder_schedules", "recorders", "recorder_series"}:
            self.schedule.refresh()
            self._summarise()

    def _refresh_all(self) -> None:
        self.roster.arrange()
        self.roster.alarms_changed()
        self.schedule.refresh()
        self._summarise()
        self._allow()

    def _refresh(self) -> None:
        self.roster.refresh()
        self.schedule.refresh()
        self._allow()

    def _second(self) -> None:
        self.roster.refresh()
        if self._session.ticker.whole_second % 10 == 0:
            self.schedule.refresh()  # what time alone brings into the list and out of it

    def _summarise(self) -> None:
        recorders = self._session.model.recorders.values()
        busy = sum(r.status == "recording" for r in recorders)
        self.summary.show_text(f"{plural(len(recorders), 'recorder')} · {busy} recording")

    def _allow(self) -> None:
        self._actions.allow("recorders.new", self._session.why_not(create_window))

    def _filter(self, words: str) -> None:
        self.roster.set_filter(words)
        self.schedule.set_filter(words)

    # Two steps

    def _frame(self) -> None:
        if self.guard.armed is not None:
            self.guard.look()
            self.roster.frame()
            self.schedule.frame()

    def _guard_changed(self) -> None:
        for shortcut in self._armed_keys:
            shortcut.setEnabled(self.guard.armed is not None)

    def _fire(self) -> None:
        self.roster.fire_armed()
        self.schedule.fire()

    # The selected recorder by key

    def _controls(self) -> Controls | None:
        row = self.roster.selected_row()
        if row is None:
            return None
        self.roster.reveal(row.recorder.id)
        return row.build()

    def _start(self) -> None:
        if (controls := self._controls()) is not None:
            controls.do_start(None)

    def _start_for(self) -> None:
        if (controls := self._controls()) is not None:
            controls.open_lengths()

    def _stop(self) -> None:
        if (controls := self._controls()) is not None:
            controls.press_stop()

    def _extend(self, minutes: int) -> None:
        if self.centre is not None and not self._has_hand():
            self.centre.extend(minutes)
            return
        if (controls := self._controls()) is not None:
            controls.do_extend(minutes)

    def _mode(self) -> None:
        if (controls := self._controls()) is not None:
            controls.do_mode()

    def _go(self) -> None:
        self.wanted.emit()
        self.swap.setChecked(False)
        self.roster.setFocus()

    def _go_to_schedule(self) -> None:
        self.wanted.emit()
        self.swap.setChecked(True)
        if self.schedule.table.chosen_row() is None and self.schedule.model.rows:
            self.schedule.table.choose(0)
        self.schedule.table.setFocus()

    def _focus_filter(self) -> None:
        if self.centre is not None and not self._has_hand():
            self.centre.focus_filter()
            return
        self.search.setFocus()
        self.search.selectAll()

    # The form

    def _saved(self, made: object) -> None:
        """A new window is selected when it comes; of a series, nothing is known but that it was saved."""
        if isinstance(made, int) and self.form.window_ is None and self.form.repeats.current() == "once":
            self.schedule.choose(made)
        self._session.say(f"{self.form.title.text().strip()} is saved.", refused=False)

    def _form_closed(self) -> None:
        self._fit()
        self.schedule.table.setFocus()

    # Where things stand

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Shares the room: side by side, one above the other, or one at a time."""
        room = max(0, self.height() - self.toolbar.height())
        manner = "beside" if self.width() >= BESIDE else "below" if room >= BELOW else "alone"
        if manner != self._manner:
            self._manner, self._moved = manner, False
            beside = manner == "beside"
            self.split.setOrientation(Qt.Orientation.Horizontal if beside else Qt.Orientation.Vertical)
            self.swap.setVisible(manner == "alone")
        form, wanted = not self.form.isHidden(), self.form.sizeHint().height()
        least = self.toolbar.height() + wanted if form else 0
        self.setMinimumHeight(max(LEAST_HEIGHT, least) if self.centre is None else LEAST_IN_DOCK)
        alone = manner == "alone"
        self.schedule.setVisible(not form or (manner == "beside" and room - wanted >= LEAST_TABLE))
        self.side.setVisible(not alone or form or self.swap.isChecked())
        self.roster.setVisible(not alone or self.side.isHidden())
        if manner == "beside" and not self._moved:
            side = min(600, max(408, self.width() * 30 // 100))
            self.split.setSizes([self.width() - side, side])
        elif manner == "below" and (form or not self._moved):
            side = wanted if form else room * 38 // 100
            self.split.setSizes([max(1, room - side), side])

    def _handle_moved(self) -> None:
        self._moved = True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and not self.form.isHidden():
            self.form.shut()
            return
        super().keyPressEvent(event)
