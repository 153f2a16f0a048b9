"""Where the canvas looks: its axis, its scroll, whether it follows now; and what of it is selected."""

from __future__ import annotations

from dataclasses import replace

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollBar, QWidget

from core.recording.model import Window
from gui.session import Session
from gui.timeline.axis import SPANS, TimeAxis
from gui.timeline.hits import Place
from gui.timeline.knowledge import Knowledge
from gui.timeline.overview import Overview
from gui.timeline.rows import AXIS_PX, HEADER_PX, OVERVIEW_PX
from gui.timeline.scene import Scene

BAR = 10  # px of the scroll bar


class Picture(pg.GraphicsObject):
    """The only item of the scene: one paint for everything there is."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view
        self.frame = QRectF(0, 0, 1, 1)

    def boundingRect(self) -> QRectF:
        return self.frame

    def fit(self, rect: QRectF) -> None:
        if rect != self.frame:
            self.prepareGeometryChange()
            self.frame = rect

    def paint(self, painter: QPainter, _option: object, _widget: QWidget | None = None) -> None:
        self._view.scene_.paint(painter, self._view.place())


class View(pg.GraphicsView):
    follow_changed = Signal(bool)
    span_changed = Signal(float)
    selection_changed = Signal()

    def __init__(self, session: Session, known: Knowledge, parent: QWidget | None = None) -> None:
        super().__init__(parent, background=None)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMinimumSize(480, AXIS_PX + OVERVIEW_PX + 88)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.setAntialiasing(False)
        self.session = session
        self.known = known
        self.overview = Overview(known, self)
        self.scene_ = Scene(known, self.overview)
        self.picture = Picture(self)
        self.scene().addItem(self.picture)
        self.following = True
        self.scroll_bar = QScrollBar(Qt.Orientation.Vertical, self)
        self.scroll_bar.setAccessibleName("Rows")
        self.scroll_bar.valueChanged.connect(self.refresh)
        self.axis = TimeAxis(session.now().timestamp() - 4000, SPANS["4h"], HEADER_PX, 1000)
        self._place: Place | None = None
        self.overview.changed.connect(self.refresh)
        self.follow_now()

    # Geometry

    def place(self) -> Place:
        if self._place is None:
            self._place = Place(
                self.axis,
                self.known.rows,
                float(self.width()),
                float(self.height()),
                float(self.scroll_bar.value()),
            )
        return self._place

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        if event is None:
            return  # pyqtgraph's own call, before there is anything to fit
        old = self.axis
        width = max(100.0, float(self.width() - HEADER_PX))
        self.axis = replace(old, width=width)
        self.picture.fit(QRectF(0, 0, self.width(), self.height()))
        self.fit_rows()

    def fit_rows(self) -> None:
        """Has the scroll bar know how many rows there are; it is there only when they do not all fit."""
        self._place = None
        most = int(self.place().most_scroll)
        self.scroll_bar.setRange(0, most)
        self.scroll_bar.setPageStep(max(1, int(self.place().room)))
        self.scroll_bar.setSingleStep(44)
        self.scroll_bar.setGeometry(
            self.width() - BAR, AXIS_PX, BAR, max(0, self.height() - AXIS_PX - OVERVIEW_PX)
        )
        self.scroll_bar.setVisible(most > 0)
        self.refresh()

    def refresh(self, _what: object = None) -> None:
        self._place = None
        self.picture.update()

    # Looking around

    def show_axis(self, axis: TimeAxis, *, keep_following: bool = False) -> None:
        if not keep_following:
            self._set_following(False)
        if axis.span != self.axis.span:
            self.axis = axis
            self.span_changed.emit(axis.span)
        self.axis = axis
        self.refresh()

    def show_span(self, span: float) -> None:
        if self.following:
            self.show_axis(
                replace(self.axis, span=span).following(self.session.now().timestamp()), keep_following=True
            )
        else:
            self.show_axis(self.axis.zoomed(self.axis.left + self.axis.width / 2, span / self.axis.span))

    def follow_now(self) -> None:
        self._set_following(True)
        self.show_axis(self.axis.following(self.session.now().timestamp()), keep_following=True)

    def _set_following(self, on: bool) -> None:
        if on != self.following:
            self.following = on
            self.follow_changed.emit(on)

    def tick(self) -> None:
        """A second has passed."""
        if self.following and self.scene_.hand.draft is None:
            self.axis = self.axis.following(self.session.now().timestamp())
        self.refresh()

    def reveal_row(self, kind: str, id: int) -> None:
        row = self.known.rows.of(kind, id)
        if row is None:
            return
        room = self.place().room
        at = self.scroll_bar.value()
        if row.top < at:
            self.scroll_bar.setValue(row.top)
        elif row.bottom > at + room:
            self.scroll_bar.setValue(int(row.bottom - room))

    def reveal(self, window: Window) -> None:
        self.reveal_row("recorder", window.recorder_id)
        axis = self.axis.revealing(window.start_at.timestamp(), window.end_at.timestamp())
        if axis != self.axis:
            self.show_axis(axis)

    # Selection

    def selected_windows(self) -> list[Window]:
        found = [w for id in self.scene_.selected if (w := self.known.lanes.window(id)) is not None]
        return sorted(found, key=lambda w: (w.start_at, w.id))

    def select(self, *ids: int, row: tuple[str, int] | None = None, add: bool = False) -> None:
        scene = self.scene_
        scene.selected = (scene.selected ^ set(ids)) if add else set(ids)
        if row is not None:
            scene.selected_row = row
        self.setAccessibleDescription(self._spoken())
        self.selection_changed.emit()
        self.refresh()

    def _spoken(self) -> str:
        windows = self.selected_windows()
        if not windows:
            return "Nothing selected"
        return ", ".join(f"{w.name}, {w.status}, {self.session.local(w.start_at):%H:%M}" for w in windows[:5])
