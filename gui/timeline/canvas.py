"""The hands on the timeline: mouse and keys become looks around, selections and drafts.

Nothing here changes the plan: a draft that is let go of is given to the editor. Esc puts back whatever is held.
"""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QHelpEvent, QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QToolTip, QWidget

from core.recording.model import Window
from gui.session import Session
from gui.timeline.collisions import free_recorder, trimmed
from gui.timeline.gesture import TAKES_HOLD_PX, Draft, Grip, draft, judged, nudged, shifted, why_not_grip
from gui.timeline.hits import Hit, hit
from gui.timeline.knowledge import Knowledge
from gui.timeline.rows import HEADER_PX
from gui.timeline.snapping import PULL_PX, Snap
from gui.timeline.view import View

ZOOM = 1.25  # by one notch of the wheel
SHIFT, CTRL, ALT = (
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.AltModifier,
)
CURSORS = {
    "start": Qt.CursorShape.SizeHorCursor, "end": Qt.CursorShape.SizeHorCursor, "body": Qt.CursorShape.OpenHandCursor,
    "empty": Qt.CursorShape.CrossCursor, "overview": Qt.CursorShape.PointingHandCursor,
}  # fmt: skip


class Canvas(View):
    dropped = Signal(object)  # a draft that was let go of
    opened = Signal(object)  # a window to look at closely
    removed = Signal()  # the selection, to be taken out of the plan
    hovered = Signal(object)  # the window under the pointer, or None
    menu_wanted = Signal(object, QPoint)  # a hit, where on the screen
    say = Signal(str)
    holding = Signal(object)  # the draft in a hand

    def __init__(self, session: Session, known: Knowledge, parent: QWidget | None = None) -> None:
        super().__init__(session, known, parent)
        self.setAccessibleName("Timeline")
        self.grid = 300
        self.locked: str | None = None  # why nothing can be edited
        self._grip: Grip | None = None
        self._pressed: QPointF | None = None
        self._hit: Hit | None = None
        self._held = False
        self._panning = False
        self._overviewing = False
        self._over: int | None = None

    def hit(self, at: QPointF) -> Hit:
        return hit(self.place(), self.known.lanes, at.x(), at.y())

    def snap(self, free: bool) -> Snap:
        return Snap(self.grid, self.session.zone, self.axis.seconds(PULL_PX), free)

    @property
    def held(self) -> Draft | None:
        return self.scene_.hand.draft

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        found = self._hit = self.hit(at)
        self._pressed, self._held, self._grip = at, False, None
        if event.button() == Qt.MouseButton.MiddleButton or (
            event.button() == Qt.MouseButton.LeftButton and found.where in ("axis", "item", "outside")
        ):
            self._panning = True
            if found.row is not None:
                self.select(row=(found.row.kind, found.row.id))
        elif event.button() == Qt.MouseButton.LeftButton:
            if found.where == "overview":
                self._overviewing = True
                self._look_at(at)
            elif found.row is not None:
                self._take(found, event.modifiers())
        event.accept()

    def _take(self, found: Hit, modifiers: Qt.KeyboardModifier) -> None:
        row = found.row
        assert row is not None
        window = found.window
        if window is None:
            self.select(row=(row.kind, row.id))
            if found.where == "empty":
                self._grip = Grip("draw", row.id, found.instant)
            return
        many = window.id in self.scene_.selected and len(self.scene_.selected) > 1
        if modifiers & SHIFT:
            self.select(window.id, row=(row.kind, row.id), add=True)
            return
        if not many:
            self.select(window.id, row=(row.kind, row.id))
        kind = "move" if found.where == "body" else found.where
        others = [w for w in self.selected_windows() if w.id != window.id and w.status == "pending"]
        self._grip = Grip(kind, row.id, found.instant, (window, *(others if kind == "move" else ())))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._overviewing:
            self._look_at(at)
        elif self._panning and self._pressed is not None:
            self.show_axis(self.axis.panned(at.x() - self._pressed.x()))
            self._pressed = at
        elif self._pressed is not None and self._grip is not None:
            self._drag(at, event.modifiers())
        elif self._pressed is None:
            self._hover(at)
        event.accept()

    def _drag(self, at: QPointF, modifiers: Qt.KeyboardModifier) -> None:
        grip = self._grip
        assert grip is not None
        assert self._pressed is not None
        if not self._held:
            if (at - self._pressed).manhattanLength() < TAKES_HOLD_PX:
                return
            copy = bool(modifiers & CTRL) and grip.kind == "move"
            why = self.locked or (
                why_not_grip(grip.kind, grip.windows[0]) if grip.windows and not copy else None
            )
            if why is not None:
                self.say.emit(why)
                self._grip = None
                return
            self._held = True
            self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        row = self.hit(at).row
        recorder = row.id if row is not None and row.kind == "recorder" else grip.recorder
        copy = bool(modifiers & CTRL) and grip.kind == "move"
        made = (
            draft(
                grip, self.axis.instant(max(at.x(), HEADER_PX)), recorder, self.snap(bool(modifiers & SHIFT)),
                self.known.lanes, self.session.now().timestamp(), copy,
            )
        )  # fmt: skip
        self.hold(made)
        self.holding.emit(made)

    def hold(self, made: Draft | None) -> None:
        """Shows a draft in the hand."""
        hand = self.scene_.hand
        hand.draft = made
        hand.free_name, hand.trim = "", False
        if made is not None and made.found and len(made.pieces) == 1:
            other = free_recorder(made.lead, self.known.lanes, self.known.rows.recorders)
            recorders = self.session.model.recorders
            hand.free_name = recorders[other].name if other is not None and other in recorders else ""
            hand.trim = trimmed(made.lead, made.found) is not None
        self.refresh()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        made = self.held if self._held else None
        self._let_go()
        if made is not None:
            self.dropped.emit(made)
        self._hover(event.position())
        event.accept()

    def _let_go(self) -> None:
        self._pressed = self._grip = None
        self._held = self._panning = self._overviewing = False
        self.viewport().unsetCursor()
        self.hold(None)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        found = self.hit(event.position())
        self._let_go()
        if found.window is not None:
            self.opened.emit(found.window)
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        at, turn = event.position(), event.angleDelta()
        if event.modifiers() & SHIFT or abs(turn.x()) > abs(turn.y()):
            self.show_axis(self.axis.panned((turn.x() or turn.y()) / 2))
        elif at.x() < HEADER_PX or event.modifiers() & (ALT | CTRL):
            self.scroll_bar.setValue(self.scroll_bar.value() - int(turn.y() / 120 * 44))
        else:
            self.show_axis(self.axis.zoomed(at.x(), ZOOM ** (-turn.y() / 120)))
        event.accept()

    def _look_at(self, at: QPointF) -> None:
        middle = self.overview.axis(self.axis).instant(at.x())
        self.show_axis(replace(self.axis, begin=middle - self.axis.span / 2))

    def _hover(self, at: QPointF) -> None:
        found = self.hit(at)
        self.viewport().setCursor(CURSORS.get(found.where, Qt.CursorShape.ArrowCursor))
        over = found.window.id if found.window is not None else None
        if over != self._over:
            self._over = over
            self.hovered.emit(found.window)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            found = self.hit(QPointF(event.pos()))
            text = self.known.tip(found.window) if found.window is not None and self.held is None else ""
            QToolTip.showText(event.globalPos(), text, self)
            return True
        return bool(super().viewportEvent(event))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        found = self.hit(QPointF(event.pos()))
        if found.window is not None and found.row is not None:
            if found.window.id not in self.scene_.selected:
                self.select(found.window.id, row=(found.row.kind, found.row.id))
            self.menu_wanted.emit(found, event.globalPos())
        event.accept()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if self.scene_.selected_row is None and self.known.rows.all:
            row = self.known.rows.all[0]
            self.select(row=(row.kind, row.id))

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.held is not None and self._hand_key(event.key()):
            return
        key, modifiers = event.key(), event.modifiers()
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._arrow(key, modifiers)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if windows := self.selected_windows():
                self.opened.emit(windows[0])
        elif key == Qt.Key.Key_Space:
            self.follow_now()
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit()
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            middle = self.axis.left + self.axis.width / 2
            self.show_axis(self.axis.zoomed(middle, ZOOM if key == Qt.Key.Key_Minus else 1 / ZOOM))
        elif key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            by = 0.8 * self.axis.width
            self.show_axis(self.axis.panned(by if key == Qt.Key.Key_PageUp else -by))
        elif key == Qt.Key.Key_Escape and self.scene_.selected:
            self.select()
        else:
            event.ignore()  # the window's own keys

    def _hand_key(self, key: int) -> bool:
        """Keys while something is held: Esc puts it back, R and T are the ways out of a collision."""
        made = self.held
        assert made is not None
        if key == Qt.Key.Key_Escape:
            self._let_go()
            return True
        if key == Qt.Key.Key_R and made.found and len(made.pieces) == 1:
            other = free_recorder(made.lead, self.known.lanes, self.known.rows.recorders)
            piece = None if other is None else replace(made.lead, recorder=other)
        elif key == Qt.Key.Key_T and made.found and len(made.pieces) == 1:
            piece = trimmed(made.lead, made.found)
        else:
            return False
        if piece is not None:
            now = self.session.now().timestamp()
            self._let_go()
            self.dropped.emit(judged(replace(made, pieces=(piece,)), self.known.lanes, now))
        return True

    def _arrow(self, key: int, modifiers: Qt.KeyboardModifier) -> None:
        windows = self.selected_windows()
        forward = key in (Qt.Key.Key_Right, Qt.Key.Key_Down)
        sideways = key in (Qt.Key.Key_Left, Qt.Key.Key_Right)
        if modifiers & ALT and windows:
            self._nudge(windows, forward, sideways, bool(modifiers & SHIFT))
        elif modifiers & CTRL and sideways:
            self.show_axis(self.axis.panned(-120 if forward else 120))
        elif sideways:
            self._next(windows, forward)
        else:
            self._row(forward)

    def _nudge(self, windows: list[Window], forward: bool, sideways: bool, end: bool) -> None:
        kind = "end" if end else "move"
        why = self.locked or next((w for x in windows if (w := why_not_grip(kind, x))), None)
        now = self.session.now().timestamp()
        step = (self.grid or 60) * (1 if forward else -1)
        if why is not None:
            self.say.emit(why)
        elif sideways:
            self.dropped.emit(nudged(windows, step, self.known.lanes, now, "end" if end else ""))
        elif len(windows) == 1:
            other = self.known.rows.step(windows[0].recorder_id, 1 if forward else -1)
            if other is not None:
                self.dropped.emit(shifted(windows[0], other, self.known.lanes, now))

    def _next(self, windows: list[Window], forward: bool) -> None:
        """The next window of the selected row, or the one nearest to the middle of the view."""
        row = self.scene_.selected_row
        if row is None or row[0] != "recorder":
            return
        lane = self.known.lanes.lane(row[1])
        if not lane.windows:
            return
        if windows and windows[0].recorder_id == row[1]:
            ids = [w.id for w in lane.windows]
            at = ids.index(windows[0].id) + (1 if forward else -1)
            chosen = lane.windows[min(max(at, 0), len(ids) - 1)]
        else:
            now = self.session.now()
            chosen = min(lane.windows, key=lambda w: abs((w.end_at - now).total_seconds()))
        self.select(chosen.id, row=row)
        self.reveal(chosen)

    def _row(self, forward: bool) -> None:
        rows = self.known.rows.all
        if not rows:
            return
        here = next((n for n, r in enumerate(rows) if (r.kind, r.id) == self.scene_.selected_row), None)
        row = rows[0 if here is None else min(max(here + (1 if forward else -1), 0), len(rows) - 1)]
        self.select(row=(row.kind, row.id))
        self.reveal_row(row.kind, row.id)
