"""The list of recorders: one row each, of which only those in sight are kept up to date."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QScrollArea

from core.clock import steady
from core.recording.model import Recorder
from gui import fonts
from gui.actions import Actions
from gui.parts import Surface
from gui.recorders.deeds import Deeds
from gui.recorders.growth import Growth
from gui.recorders.guard import Guard
from gui.recorders.pictures import PictureWall
from gui.recorders.plan import Plan
from gui.recorders.row import RecorderRow
from gui.recorders.row_paint import HEIGHT
from gui.recorders.state import Facts, look
from gui.recorders.worries import Worries
from gui.session import Session
from gui.theme import theme

EMPTY = (
    "There are no recorders yet. A node's agent brings its own (python main.py agent --node NAME); those of other "
    "systems are entered into the table recorders."
)
REFUSAL_FOR = 10.0  # seconds that a refusal stays in its row
LEAST_WIDTH = 800


class _Ground(Surface):
    """What the rows lie on; says why it is empty."""

    def __init__(self) -> None:
        super().__init__("panel")
        self.words = ""

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.words:
            painter = QPainter(self)
            painter.setFont(fonts.text(13))
            painter.setPen(theme.colour("t2"))
            flags = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
            painter.drawText(QRectF(self.rect()).adjusted(12, 12, -12, -12), int(flags), self.words)
            painter.end()


class Roster(QScrollArea):
    chosen = Signal(object)  # id of the selected recorder, or None

    def __init__(
        self, session: Session, actions: Actions, plan: Plan, deeds: Deeds, guard: Guard, growth: Growth
    ) -> None:
        super().__init__()
        self.setAccessibleName("Recorders")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self._session = session
        self._actions = actions
        self._plan = plan
        self._deeds = deeds
        self._guard = guard
        self._growth = growth
        self._refusals: dict[int, tuple[str, float]] = {}
        self._worries = Worries(session, plan)
        self._order: list[int] = []
        self._filter = ""
        self.selected: int | None = None
        self.rows: dict[int, RecorderRow] = {}
        self.ground = _Ground()
        self.setWidget(self.ground)
        self.pictures = PictureWall(session, self._to_picture, self.devicePixelRatioF)
        self.pictures.arrived.connect(self._picture_arrived)
        self.verticalScrollBar().setSingleStep(HEIGHT // 2)
        self.verticalScrollBar().valueChanged.connect(lambda _: self.refresh())
        deeds.refused.connect(self._refused)
        guard.changed.connect(self._guard_changed)
        theme.changed.connect(self._repaint)
        self.arrange()

    # Which rows there are

    def set_filter(self, words: str) -> None:
        self._filter = words.strip().casefold()
        self.arrange()

    def arrange(self) -> None:
        """Makes, removes and places rows; what is there already is kept."""
        recorders = self._session.model.recorders
        for id in [i for i in self.rows if i not in recorders]:
            self.rows.pop(id).deleteLater()
        ordered = sorted(recorders.values(), key=lambda r: (r.position, r.name, r.id))
        order = []
        for recorder in ordered:
            row = self.rows.get(recorder.id)
            if row is None:
                row = self.rows[recorder.id] = self._make(recorder)
            shown = self._matches(recorder)
            if shown:
                order.append(recorder.id)
            row.setVisible(shown)
        self._order = order
        words = "" if order else (f"No recorder matches “{self._filter}”." if recorders else EMPTY)
        if words != self.ground.words:
            self.ground.words = words
            self.ground.update()
        if self.selected not in recorders:
            self.select(order[0] if order else None)
        self._place()

    def _make(self, recorder: Recorder) -> RecorderRow:
        row = RecorderRow(
            recorder, self._session, self._deeds, self._guard, self._actions, self.pictures, self.ground
        )
        row.touched.connect(self.select)
        row.pressed.connect(self._pressed)
        row.acted.connect(self._acted)
        return row

    def _matches(self, recorder: Recorder) -> bool:
        if not self._filter:
            return True
        names = (w.name for w in self._plan.active(recorder.id)[:20])
        return any(self._filter in text.casefold() for text in (recorder.name, recorder.source, *names))

    def _place(self) -> None:
        height = len(self._order) * HEIGHT
        width = max(LEAST_WIDTH, self.viewport().width())
        self.ground.resize(width, max(height, self.viewport().height()))
        for number, id in enumerate(self._order):
            self.rows[id].setGeometry(0, number * HEIGHT, width, HEIGHT)
        self.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def in_order(self) -> list[int]:
        return self._order

    def in_sight(self) -> list[int]:
        top = self.verticalScrollBar().value()
        first, last = top // HEIGHT, (top + self.viewport().height() - 1) // HEIGHT
        return self._order[max(0, first) : last + 1]

    # What they say

    def refresh(self, only: Iterable[int] | None = None) -> None:
        """Works out the rows in sight anew; those that say something else are painted."""
        wanted = None if only is None else set(only)
        for id in self.in_sight():
            if wanted is None or id in wanted:
                self._refresh_row(self.rows[id])
        self._allow()

    def _refresh_row(self, row: RecorderRow) -> None:
        recorder = self._session.model.recorders.get(row.recorder.id)
        if recorder is None:
            return
        facts = self.facts(recorder)
        row.recorder = recorder
        row.build()
        row.show_look(recorder, look(facts, self._session.shown_now(), self._session.local))

    def facts(self, recorder: Recorder) -> Facts:
        session, now = self._session, self._session.now()
        current = self._plan.current(recorder.id, now)
        coming = self._plan.coming(recorder.id, now)
        asset = self._plan.asset_of(current) if current is not None else None
        return Facts(
            recorder,
            None if recorder.node_id is None else session.model.nodes.get(recorder.node_id),
            current,
            coming,
            asset,
            None if asset is None else self._growth.rate(asset),
            self._worries.of(recorder, current, coming[0] if coming else None),
            self._deeds.asked(recorder.id),
            self._refusal(recorder.id),
        )

    def alarms_changed(self) -> None:
        self._worries.refresh()
        self.refresh()

    def _refused(self, recorder: int, why: str) -> None:
        self._refusals[recorder] = (why, steady())
        self.refresh([recorder])

    def _refusal(self, recorder: int) -> str:
        why, at = self._refusals.get(recorder, ("", 0.0))
        if why and steady() - at > REFUSAL_FOR:
            del self._refusals[recorder]
            return ""
        return why

    def _acted(self, recorder: int) -> None:
        self._refusals.pop(recorder, None)
        self.refresh([recorder])

    def flash(self) -> None:
        for id in self.in_sight():
            self.rows[id].update_lamp()

    def frame(self) -> None:
        armed = self._armed_row()
        if armed is not None and armed.controls is not None:
            armed.controls.drain()

    def _armed_row(self) -> RecorderRow | None:
        armed = self._guard.armed
        if isinstance(armed, tuple) and armed[0] == "stop":
            return self.rows.get(armed[1])
        return None

    def fire_armed(self) -> None:
        row = self._armed_row()
        if row is not None and row.controls is not None:
            row.controls.fire()

    def _guard_changed(self) -> None:
        for row in self.rows.values():
            if row.controls is not None:
                row.controls.refresh_guard(self._deeds.why_not_stop(row.recorder))

    def _repaint(self) -> None:
        for row in self.rows.values():
            row.update()
        self.ground.update()

    # Pictures

    def _to_picture(self) -> list[Recorder]:
        if self.window().isMinimized() or self._session.closed:
            return []
        found = []
        for id in self.in_sight():
            row = self.rows[id]
            row.update_picture()  # its age, or that there is none any more
            if not row.visibleRegion().isEmpty():
                found.append(row.recorder)
        return found

    def _picture_arrived(self, recorder: int) -> None:
        row = self.rows.get(recorder)
        if row is not None:
            row.update_picture()

    # Selection

    def select(self, recorder: int | None) -> None:
        if recorder != self.selected:
            self.selected = recorder
            self.chosen.emit(recorder)
        self._show_selection()
        self._allow()

    def selected_row(self) -> RecorderRow | None:
        return None if self.selected is None else self.rows.get(self.selected)

    def reveal(self, recorder: int) -> None:
        if recorder in self._order:
            row = self.rows[recorder]
            self.ensureVisible(0, row.y(), 0, 0)
            self.ensureVisible(0, row.y() + HEIGHT - 1, 0, 0)

    def _pressed(self, recorder: int) -> None:
        self.select(recorder)
        self.setFocus()

    def _show_selection(self) -> None:
        for id, row in self.rows.items():
            row.set_selected(id == self.selected, self.hasFocus())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._show_selection()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._show_selection()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        page = max(1, self.viewport().height() // HEIGHT)
        step = {
            Qt.Key.Key_Up: -1,
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_PageUp: -page,
            Qt.Key.Key_PageDown: page,
            Qt.Key.Key_Home: -len(self._order),
            Qt.Key.Key_End: len(self._order),
        }.get(Qt.Key(event.key()))
        if step is None or not self._order:
            event.ignore()
            return
        here = self._order.index(self.selected) if self.selected in self._order else -step
        there = self._order[min(max(here + step, 0), len(self._order) - 1)]
        self.select(there)
        self.reveal(there)

    def _allow(self) -> None:
        """The shortcuts act on the selected recorder: they can do what its buttons can."""
        row = self.selected_row()
        none = "Select a recorder first."
        deeds, allow = self._deeds, self._actions.allow
        start = none if row is None else deeds.why_not_start(row.recorder)
        if "recorders.start" not in self._actions:
            return
        allow("recorders.start", start)
        allow("recorders.start_for", start)
        allow("recorders.stop", none if row is None else deeds.why_not_stop(row.recorder))
        for minutes in (5, 15, 30):
            why = none if row is None else deeds.why_not_extend(row.recorder)
            allow(f"recorders.extend_{minutes}", why)
        allow("recorders.mode", none if row is None else deeds.why_not_mode(row.recorder))
