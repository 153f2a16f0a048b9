"""The measures page. It collects all the time, which costs next to nothing, and draws only while it is seen."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QScrollArea, QVBoxLayout, QWidget

from core.clock import steady
from core.measures.collection import EVERY, Collection
from core.measures.model import Ring, spread
from core.measures.store import queue_depth
from gui import fonts
from gui.actions import Actions
from gui.freshness import Freshness
from gui.lag import LagMeter
from gui.parts import Label, Segments, Surface, Toolbar
from gui.session import Session
from gui.words import milliseconds, plural

if TYPE_CHECKING:
    from gui.measures.chart import Chart, Line

SPANS = {"300": "5 min", "900": "15 min", "3600": "1 h"}
READ_JOBS_EVERY = 5.0  # seconds between two looks at the queues, and only after they changed
READ_JOBS_ANYWAY = 60.0  # seconds after which they are looked at all the same, while somebody sees it
APART = 60  # ms between the drawing of two plots: together they would hold up a frame
LEAST_WIDTH, LEAST_HEIGHT = 340, 130
EMPTY = {
    "starts": "No recording has started yet. Each start appears here with how late it was.",
    "heartbeat": "No channel is on air. Start one, and how quickly it answers appears here.",
    "lag": "Nothing measured yet.",
    "queues": "No job has run in this plant yet.",
    "disks": "No node has reported its disk yet.",
}


class MeasuresPanel(Surface):
    def __init__(
        self, session: Session, actions: Actions, lag: LagMeter, parent: QWidget | None = None
    ) -> None:
        super().__init__("panel", parent)
        self.setAccessibleName("Measures")
        self._session = session
        self._lag = lag
        self.collection = Collection(session.model)
        self.charts: dict[str, Chart] = {}
        self._dirty: set[str] = set(EMPTY)
        self._sampled = self._read_at = 0.0
        self._jobs_changed = True
        self._reading = False
        self.span = Segments(SPANS, "How far back")
        self.span.choose("900")
        for key, title in SPANS.items():
            self.span.buttons[key].setToolTip(f"Show the last {title}")
            actions.add(
                f"measures.span_{key}", f"Measures: show the last {title}", "Measures", self._chooser(key)
            )
        self.setFocusProxy(self.span.buttons["900"])
        self.note = Label("as this station saw it", fonts.text(12), "second")
        toolbar = Toolbar()
        toolbar.add(self.span)
        toolbar.stretch()
        toolbar.add(self.note, Freshness(session))
        self._ground = Surface("gap")
        self._grid = QGridLayout(self._ground)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(self._ground)
        scroll.setAccessibleName("Plots")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(toolbar)
        column.addWidget(scroll, 1)
        self._timer = QTimer(self)
        self._timer.setInterval(APART)
        self._timer.timeout.connect(self._draw_next)
        self.span.chosen.connect(lambda _: self._all_dirty())
        session.bridge.changed.connect(self._changed)
        session.ticker.second.connect(self._second)

    def _chooser(self, key: str) -> Callable[[], None]:
        return lambda: self.span.choose(key)

    # Collecting

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        if (windows := changes.get("recorder_schedules")) and self.collection.windows_changed(windows):
            self._mark("starts")
        if "job_runs" in changes:
            self._jobs_changed = True

    def _second(self) -> None:
        now = steady()
        if now - self._sampled < EVERY - 0.5:
            return
        self._sampled = now
        session = self._session
        self.collection.sample(
            session.now(), session.station.name, self._lag.p999 * 1000, stale=session.stale
        )
        waited = now - self._read_at
        due = waited >= READ_JOBS_EVERY and self._jobs_changed
        if (
            (due or (self.isVisible() and waited >= READ_JOBS_ANYWAY))
            and not self._reading
            and not session.stale
        ):
            self._jobs_changed, self._read_at, self._reading = False, now, True
            session.attempt(self._read_jobs, "queue depth").add_done_callback(self._read)
        self._all_dirty()

    def _read(self, _task: object) -> None:
        self._reading = False

    async def _read_jobs(self) -> None:
        found = await queue_depth(self._session.station.database)
        if found:
            self.collection.depth(found)

    # Drawing

    def _mark(self, name: str) -> None:
        self._dirty.add(name)
        if self.isVisible() and not self._timer.isActive():
            self._timer.start()

    def _all_dirty(self) -> None:
        self._dirty.update(EMPTY)
        if self.isVisible() and not self._timer.isActive():
            self._timer.start()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self.charts:
            self._build()
        self._all_dirty()

    def _build(self) -> None:
        # With the first look and not with the window: the first paint does not wait for the plots.
        from gui.measures.chart import Chart

        def local(at: float) -> datetime:
            return self._session.local(datetime.fromtimestamp(at, UTC))

        for name, title, unit, limit in (
            ("starts", "Start lateness", "milliseconds", None),
            ("heartbeat", "Heartbeat latency", "milliseconds", None),
            ("lag", "Event-loop lag", "milliseconds", 16.0),
            ("queues", "Jobs waiting", "runs", None),
            ("disks", "Disk in use", "per cent", None),
        ):
            self.charts[name] = chart = Chart(title, unit, EMPTY[name], local, limit)
            chart.setMinimumHeight(LEAST_HEIGHT)
        self._place()

    def _place(self) -> None:
        columns = min(max(self.width() // LEAST_WIDTH, 1), 3)
        for index, chart in enumerate(self.charts.values()):
            self._grid.addWidget(chart, index // columns, index % columns)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _draw_next(self) -> None:
        name = next((n for n in self.charts if n in self._dirty), None)
        if name is None or not self.isVisible():
            self._timer.stop()
            return
        self._dirty.discard(name)
        self._draw(name)

    def _draw(self, name: str) -> None:
        end = self._session.now().timestamp()
        begin = end - float(self.span.current())
        found = self.collection
        rings: dict[str, Ring] = {
            "starts": {"starts": found.starts},
            "heartbeat": found.heartbeat,
            "lag": found.lag,
            "queues": found.queues if found.has_jobs else {},
            "disks": found.disks,
        }[name]
        lines = [self._line(key, ring, begin, dots=name == "starts") for key, ring in rings.items()]
        floor = 100.0 if name == "disks" else 5.0 if name != "lag" else 20.0
        self.charts[name].show_lines(lines, self._words(name, lines), begin, end, floor)

    @staticmethod
    def _line(name: str, ring: Ring, begin: float, *, dots: bool) -> Line:
        from gui.measures.chart import Line

        at, values = ring.since(begin)
        known = any(v == v for v in values)
        return Line(name, at if known else (), values if known else (), dots)

    @staticmethod
    def _words(name: str, lines: list[Line]) -> str:
        last = {line.name: next((v for v in reversed(line.values) if v == v), None) for line in lines}
        if name == "starts":
            lies = spread(lines[0].values)
            if lies is None:
                return ""
            return (
                f"{plural(lies.count, 'start')} · p50 {milliseconds(lies.p50)} · p99 {milliseconds(lies.p99)} "
                f"· worst {milliseconds(lies.worst)}"
            )
        if name == "disks":
            return " · ".join(f"{key} {value:.0f} %" for key, value in last.items() if value is not None)
        if name == "queues":
            return " · ".join(f"{key} {value:.0f}" for key, value in last.items() if value is not None)
        return " · ".join(f"{key} {milliseconds(value)}" for key, value in last.items() if value is not None)
