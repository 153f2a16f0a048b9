"""The live part of the window: header, banner, centre, panels, right column, status bar.

Until a centre is set, the panels fill the window.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from gui.actions import Actions
from gui.alarms.panel import AlarmPanel
from gui.alarms.sound import AlarmSound
from gui.as_run.panel import AsRunPanel
from gui.audit.panel import AuditPanel
from gui.channels.wall import ChannelWall
from gui.degraded import Banner
from gui.docking import DockArea, Panel
from gui.glyphs import paint_priority
from gui.header import HeaderBar
from gui.inspector.panel import Inspector
from gui.jobs.panel import JobsPanel
from gui.lag import LagMeter
from gui.measures.panel import MeasuresPanel
from gui.parts import Surface
from gui.playlist.panel import PlaylistPanel
from gui.recorders.panel import RecordersPanel
from gui.rests import Rests
from gui.session import Session
from gui.stations.panel import StationsPanel
from gui.status_bar import StatusBar
from gui.timeline.panel import TimelinePanel

if TYPE_CHECKING:
    from core.alarms.rules import Summary
    from core.recording.model import Window
    from core.station import Station

RIGHT_WIDTH = 420
PANEL_KEYS = {
    "audit": "Alt+1",
    "stations": "Alt+2",
    "alarms": "Alt+3",
    "jobs": "Alt+4",
    "measures": "Alt+5",
    "as_run": "Alt+6",
    "playlist": "Alt+7",
}


class ControlRoom(Surface):
    painted = Signal()  # once, after the first paint with a live picture

    def __init__(self, station: Station, actions: Actions, sound_on: bool, parent: QWidget) -> None:
        super().__init__("gap", parent)
        self._painted = False
        self._wall: QWidget | None = None
        self._actions = actions
        self.session = Session(station, self)
        self.lag = LagMeter(self)
        self.painted.connect(self.lag.start)  # building the room is not a gap in its work
        station.loop_lag_ms = lambda: self.lag.p999 * 1000
        self.sound = AlarmSound(self.session, sound_on, self)
        self._places: dict[str, Callable[[Any], None]] = {}
        self.alarms = AlarmPanel(self.session, actions, self.sound)
        actions.add(
            "alarms.acknowledge_open",
            "Acknowledge all open alarms",
            "Alarms",
            self._acknowledge_open,
            "Ctrl+Shift+A",
        )
        self.as_run = AsRunPanel(self.session, actions)
        self.playlist = PlaylistPanel(self.session, actions)
        self.audit = AuditPanel(self.session, actions)
        self.stations = StationsPanel(self.session)
        self.jobs = JobsPanel(self.session, actions)
        self.recorders = RecordersPanel(self.session, actions)
        self.timeline = TimelinePanel(self.session, actions, self.recorders.plan)
        self.inspector = Inspector(self.session, self.timeline.known, self.timeline.editor)
        self.rests = Rests(station, lambda: self.timeline.canvas.held is not None, self)
        self.painted.connect(self.rests.start)
        self.recorders.centre = self
        self.channels = ChannelWall(self.session, actions)
        self.measures = MeasuresPanel(self.session, actions, self.lag)
        self.header = HeaderBar(self.session, actions)
        self.banner = Banner(self.session, actions)
        self.panels = DockArea(
            {
                "left": [
                    Panel("as_run", "As-run log", self.as_run),
                    Panel("playlist", "Playlist", self.playlist),
                    Panel("recorders", "Recorders", self.recorders),
                    Panel("audit", "Audit", self.audit),
                    Panel("stations", "Stations", self.stations),
                ],
                "right": [
                    Panel("alarms", "Alarms", self.alarms, self._paint_alarm_mark),
                    Panel("jobs", "Jobs", self.jobs),
                    Panel("measures", "Measures", self.measures),
                ],
            }
        )
        self._add_actions()
        self.status = StatusBar(self.session, actions, self.lag)
        self._build()
        self.set_centre(self.timeline)
        self.set_right(self.channels)
        self._connect()

    def _build(self) -> None:
        self.middle = QSplitter(Qt.Orientation.Vertical)
        self.middle.setHandleWidth(4)
        self.middle.setChildrenCollapsible(False)
        self.middle.addWidget(self.panels)
        self.left = left = QVBoxLayout()
        left.setSpacing(0)
        left.addWidget(self.banner)
        left.addWidget(self.middle, 1)
        self._body = QHBoxLayout()
        self._body.setSpacing(4)
        self._body.addLayout(left, 1)
        # The right column: the channels, and under them the inspector while one is open.
        self.right = QVBoxLayout()
        self.right.setSpacing(4)
        self.right.addWidget(self.inspector, 1)
        self._body.addLayout(self.right)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addLayout(self._body, 1)
        column.addWidget(self.status)

    def _connect(self) -> None:
        session = self.session
        self.header.lamp.clicked.connect(lambda: self.panels.reveal("alarms"))
        self.alarms.goto.connect(self.goto)
        self.jobs.counted.connect(
            lambda count: self.panels.retitle("jobs", f"Jobs {count}" if count else "Jobs")
        )
        self.register_place("job", lambda _: self.panels.reveal("jobs"))
        self.panels.floated.connect(self._actions.attach)
        session.alarms_changed.connect(self._alarms_changed)
        session.pending_changed.connect(self._alarms_changed)
        session.abilities_changed.connect(self._alarms_changed)
        session.ticker.flash.connect(lambda _: self.panels.update_marks())
        self.register_place("station", self._go_to_station)
        self.register_place("recorder", self.timeline.show_recorder)
        self.register_place("window", self._go_to_window)
        self.register_place("node", self._go_to_node)
        self.register_place("database", lambda _: self.panels.reveal("stations"))
        self.register_place("scheduler", lambda _: self.panels.reveal("stations"))
        self.recorders.wanted.connect(lambda: self.panels.reveal("recorders"))
        self.timeline.open_window.connect(self.edit)
        self.timeline.new_window.connect(self.new)
        self.timeline.canvas.holding.connect(self.inspector.show_draft)
        self.timeline.canvas.dropped.connect(lambda _: self.inspector.put_back())
        self.inspector.preview.connect(self.timeline.canvas.hold)
        self.inspector.closed.connect(self._inspector_closed)
        self.register_place("channel", self.channels.go_to)
        self.channels.chosen.connect(self.playlist.show_channel)
        self.channels.opened.connect(self._open_playlist)
        # One thing is armed in the whole window: Esc must mean one thing.
        one, other = self.recorders.guard, self.channels.guard
        one.changed.connect(lambda: other.disarm() if one.armed is not None else None)
        other.changed.connect(lambda: one.disarm() if other.armed is not None else None)
        self._alarms_changed()

    def _add_actions(self) -> None:
        for id, key in PANEL_KEYS.items():
            title = self.panels.panels[id].title
            self._actions.add(f"panel.{id}", f"Go to {title}", "Panels", partial(self.panels.reveal, id), key)
        self._actions.add("panel.next", "Go to the next panel", "Panels", self._next_panel, "F6")
        self._actions.add(
            "panel.float", "Float this panel, or put it back", "Panels", self._float_panel, "Ctrl+Shift+O"
        )

    # The inspector: what the timeline and the list of recorders ask for

    def new(self, recorder: int | None) -> None:
        self.inspector.open_new(recorder)
        self._shrink_wall(True)

    def edit(self, window: Window) -> None:
        self.timeline.show_window(window)
        self.inspector.open_window(window)
        self._shrink_wall(True)

    def extend(self, minutes: int) -> None:
        self.timeline.extend(minutes)

    def focus_filter(self) -> None:
        self.timeline.focus_filter()

    def _inspector_closed(self) -> None:
        self._shrink_wall(False)
        self.timeline.canvas.setFocus()

    def _shrink_wall(self, compact: bool) -> None:
        """The channels are strips while the inspector needs their room."""
        shrink = getattr(self._wall, "set_compact", None)
        if shrink is not None:
            shrink(compact)
        if self._wall is not None:
            self.right.setStretch(0, 0 if compact else 1)

    # For main and the panels that come later

    def set_centre(self, widget: QWidget) -> None:
        """Puts a widget above the panels, in place of the one that is there."""
        if self.middle.count() > 1 and (before := self.middle.widget(0)) is not None:
            before.setParent(None)
        self.middle.insertWidget(0, widget)
        self.middle.setStretchFactor(0, 1)
        self.middle.setStretchFactor(1, 0)
        self.middle.setSizes([608, 380])

    def set_right(self, widget: QWidget) -> None:
        """Puts a widget into the right column (the channels)."""
        widget.setFixedWidth(RIGHT_WIDTH)
        self._wall = widget
        self.right.insertWidget(0, widget, 1)

    def register_place(self, kind: str, go: Callable[[Any], None]) -> None:
        """Says how to show what an alarm is about: `go` gets the id of the thing."""
        self._places[kind] = go

    def goto(self, kind: str, id: object) -> None:
        go = self._places.get(kind)
        if go is None or (id is None and kind in ("recorder", "channel", "window")):
            self.session.say("There is no place to show for this alarm: it says itself what to do.")
        else:
            go(id)

    def shut(self) -> None:
        """Ends what runs by itself, so that the station can be stopped."""
        self.sound.stop()
        self.lag.stop()
        self.rests.stop()
        self.session.close()

    # Inside

    def _go_to_station(self, id: object) -> None:
        self.panels.reveal("stations")
        row = self.stations.model.position(id)
        if row is not None:
            self.stations.table.choose(row)

    def _open_playlist(self, channel: int) -> None:
        self.playlist.show_channel(channel)
        self.panels.reveal("playlist")

    def _go_to_window(self, id: int) -> None:
        if (window := self.session.model.windows.get(id)) is not None:
            self.timeline.show_window(window)
            self.timeline.canvas.setFocus()

    def _go_to_node(self, id: object) -> None:
        """A node is its recorders: the first of them, or the figures of its disk."""
        recorders = [r for r in self.session.model.recorders.values() if r.node_id == id]
        if recorders:
            self.timeline.show_recorder(min(recorders, key=lambda r: (r.position, r.id)).id)
        else:
            self.panels.reveal("measures")

    def _summary(self) -> Summary:
        return self.header.lamp.summary

    def _alarms_changed(self) -> None:
        self.header.lamp.refresh()
        desk = self.alarms.desk
        self._actions.allow("alarms.acknowledge_open", desk.why_not_acknowledge(desk.waiting()))
        open_alarms = sum(a.open and not a.shelved(self.session.now()) for a in self.session.alarms())
        self.panels.retitle("alarms", f"Alarms {open_alarms}")
        self.panels.update_marks()

    def _acknowledge_open(self) -> None:
        self.alarms.desk.acknowledge(self.alarms.desk.waiting())

    def _paint_alarm_mark(self, painter: QPainter, rect: QRectF) -> bool:
        summary = self._summary()
        if summary.worst is None:
            return False
        paint_priority(
            painter, int(summary.worst), rect, filled=summary.unacked > 0 and self.session.ticker.lit
        )
        return True

    def _focused_panel(self) -> str | None:
        focus = self.window().focusWidget()
        for id, panel in self.panels.panels.items():
            if focus is not None and (panel.widget is focus or panel.widget.isAncestorOf(focus)):
                return id
        return None

    def _next_panel(self) -> None:
        order = list(self.panels.panels)
        here = self._focused_panel()
        self.panels.reveal(order[0] if here is None else order[(order.index(here) + 1) % len(order)])

    def _float_panel(self) -> None:
        self.panels.toggle_float(self._focused_panel() or "alarms")

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            # After the children, which are painted in the same pass.
            QTimer.singleShot(0, self.painted.emit)
