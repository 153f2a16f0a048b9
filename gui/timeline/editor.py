"""Turns drops and keys into commands. What was asked for is shown as waiting until the feed confirms it, and a
refusal puts everything back and is said in a sentence."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from PySide6.QtCore import QObject, Signal

from core.commands import Command
from core.errors import AirlockError
from core.recording.commands import (
    cancel_window,
    copy_window,
    create_window,
    delete_window,
    edit_window,
    extend_window,
    move_windows,
)
from core.recording.model import Window
from core.recording.recurrence_errors import RecurrenceError
from core.recording.series_commands import SeriesForm, skip_occurrence
from gui.recorders import orders
from gui.recorders.entry import WrongEntry
from gui.recorders.orders import ALL, THIS, Entered
from gui.session import Session
from gui.timeline.collisions import Piece
from gui.timeline.gesture import Draft
from gui.timeline.paint_drag import callout_lines
from gui.timeline.steps import Fields, ManyStep, Ref, SeriesStep, WindowStep
from gui.undo import UndoStack

WORDS = {"draw": "draw", "move": "move", "start": "trim", "end": "trim"}
WAIT = "Waiting for the answer to what was asked last."


def _at(instant: float) -> datetime:
    return datetime.fromtimestamp(instant, UTC)


class Editor(QObject):
    changed = Signal()  # what waits changed
    made = Signal(int)  # a window that an operator drew or copied here

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.undo = UndoStack(session.say, self)
        self._waiting: dict[Hashable, tuple[Piece, ...]] = {}
        self._refs: dict[int, Ref] = {}
        self._count = 0
        session.pending_changed.connect(self._pending_changed)

    # What waits

    def waiting(self) -> list[Piece]:
        return [p for pieces in self._waiting.values() for p in pieces]

    def _wait(self, key: Hashable, pieces: Sequence[Piece]) -> None:
        self._waiting[key] = tuple(pieces)
        self.changed.emit()

    def _pending_changed(self) -> None:
        gone = [k for k in self._waiting if not self._session.is_pending(k)]
        for key in gone:
            del self._waiting[key]
        if gone:
            self.changed.emit()

    def ref(self, id: int) -> Ref:
        found = self._refs.get(id)
        if found is None or found.id != id:
            found = self._refs[id] = next((r for r in self._refs.values() if r.id == id), Ref(id))
        return found

    # Whether it can be done

    def why_not(self, command: Command[..., Any], windows: Sequence[Window]) -> str | None:
        if why := self._session.why_not(command):
            return why
        return WAIT if any(self._session.is_pending(("window", w.id)) for w in windows) else None

    # Drops

    def drop(self, draft: Draft) -> bool:
        """Carries a draft out; False when it was refused here, and then nothing has changed."""
        if not draft.changed:
            return False
        if not draft.possible:
            self._session.say(callout_lines(draft, self._session)[0])
            return False
        command = create_window if draft.kind == "draw" else copy_window if draft.copy else edit_window
        if why := self.why_not(command, [p.window for p in draft.pieces if p.window is not None]):
            self._session.say(why)
            return False
        if draft.kind == "draw":
            self.create("New window", draft.lead)
        elif draft.copy:
            self._copy(draft)
        elif len(draft.pieces) > 1:
            self._move_many(draft)
        else:
            self.edit(draft.lead, WORDS[draft.kind])
        return True

    def create(self, name: str, piece: Piece, source: str | None = None) -> None:
        fields = Fields(name, piece.recorder, _at(piece.start), _at(piece.end), source)
        self._make(
            create_window,
            (name, piece.recorder, fields.start, fields.end, source),
            piece,
            fields,
            f"draw {name}",
        )

    def _copy(self, draft: Draft) -> None:
        for piece in draft.pieces:
            window = piece.window
            assert window is not None
            fields = Fields(window.name, piece.recorder, _at(piece.start), _at(piece.end), window.source)
            args = (window.id, piece.recorder, fields.start)
            self._make(copy_window, args, piece, fields, f"copy {window.name}")

    def _make(
        self, command: Command[..., Any], args: tuple[Any, ...], piece: Piece, fields: Fields, name: str
    ) -> None:
        self._count += 1
        key = ("new window", self._count)
        ref = Ref(0)
        windows = self._session.model.windows

        def answered(error: AirlockError | None, result: object) -> None:
            if error is not None:
                self._session.say(str(error))
            elif isinstance(result, int):
                ref.id = result
                self._refs[result] = ref
                self.undo.push(WindowStep(self._session, name, ref, None, fields))
                self.made.emit(result)

        self._session.do(command, *args, keys=(key,), until=lambda: ref.id in windows, answered=answered)
        self._wait(key, (Piece(None, piece.recorder, piece.start, piece.end),))

    def _move_many(self, draft: Draft) -> None:
        pieces = draft.pieces
        lead = draft.lead.window
        assert lead is not None
        by = _at(draft.lead.start) - lead.start_at
        moved = [p.window for p in pieces if p.window is not None]
        was = [(self.ref(w.id), Fields.of(w)) for w in moved]
        windows = self._session.model.windows
        want = lead.start_at + by

        def answered(error: AirlockError | None, _result: object) -> None:
            if error is not None:
                self._session.say(str(error))
            else:
                self.undo.push(ManyStep(self._session, was, by))

        keys = tuple(("window", w.id) for w in moved)
        self._session.do(
            move_windows, [(w.id, w.row_version) for w in moved], by, keys=keys, answered=answered,
            until=lambda: lead.id not in windows or windows[lead.id].start_at == want,
        )  # fmt: skip
        self._wait(keys[0], pieces)

    def edit(self, piece: Piece, word: str) -> None:
        """One window, or one occurrence of a series: that one alone."""
        window = piece.window
        assert window is not None
        before = Fields.of(window)
        after = Fields(window.name, piece.recorder, _at(piece.start), _at(piece.end), window.source)
        options: dict[str, Any] = {"end_at": after.end}
        if window.status == "pending":
            options |= {"recorder_id": after.recorder, "start_at": after.start}
        self._change(edit_window, window, options, before, after, f"{word} {window.name}", piece)

    def edit_series(self, piece: Piece, scope: str, word: str) -> None:
        """This and following, or all: the series gets the time of day, the length and the recorder."""
        window = piece.window
        assert window is not None
        series = self._session.model.series.get(window.series_id or 0)
        if series is None or scope == THIS:
            self.edit(piece, word)
            return
        start = _at(piece.start)
        entered = Entered(
            series.name, piece.recorder, start, _at(piece.end) - start, series.source or "",
            orders.repeats_of(series), tuple(orders.weekdays_of(series)), scope,
        )  # fmt: skip
        try:
            order = orders.edit(entered, window, series, series.timezone)
        except (WrongEntry, RecurrenceError) as error:
            self._session.say(str(error))
            return
        before, after = SeriesForm.of(series), order.args[2]
        name = f"{word} {series.name}, {'all' if scope == ALL else 'this and following'}"
        key = ("window", window.id)

        def answered(error: AirlockError | None, _result: object) -> None:
            if error is not None:
                self._session.say(str(error))
            elif scope == ALL:
                self.undo.push(SeriesStep(self._session, name, series.id, before, after))

        self._session.do(
            order.command, *order.args, options=order.options, keys=(key, ("series", series.id)), answered=answered,
            until=lambda: self._session.model.windows.get(window.id) is not window,
        )  # fmt: skip
        self._wait(key, (piece,))

    def _change(
        self, command: Command[..., Any], window: Window, options: dict[str, Any], before: Fields, after: Fields,
        name: str, piece: Piece,
    ) -> None:  # fmt: skip
        ref = self.ref(window.id)
        windows = self._session.model.windows
        key = ("window", window.id)

        def answered(error: AirlockError | None, _result: object) -> None:
            if error is not None:
                self._session.say(str(error))
            else:
                self.undo.push(WindowStep(self._session, name, ref, before, after))

        self._session.do(
            command, window.id, window.row_version, options=options, keys=(key,), answered=answered,
            until=lambda: window.id not in windows or windows[window.id].row_version != window.row_version,
        )  # fmt: skip
        self._wait(key, (piece,))

    # Keys and menus

    def extend(self, window: Window, minutes: int) -> None:
        if why := self.why_not(extend_window, [window]):
            self._session.say(why)
            return
        if window.status not in ("pending", "starting", "running"):
            self._session.say(f"{window.name} is {window.status} and can no longer be extended.")
            return
        windows, before = self._session.model.windows, Fields.of(window)
        by = timedelta(minutes=minutes)
        after = Fields(before.name, before.recorder, before.start, before.end + by, before.source)
        ref = self.ref(window.id)

        def answered(error: AirlockError | None, _result: object) -> None:
            if error is not None:
                self._session.say(str(error))
            else:
                self.undo.push(WindowStep(self._session, f"extend {window.name}", ref, before, after))

        self._session.do(
            extend_window, window.id, by, keys=(("window", window.id),), answered=answered,
            until=lambda: window.id not in windows or windows[window.id].end_at != before.end,
        )  # fmt: skip

    def remove(self, windows: Sequence[Window]) -> None:
        """Takes windows out of the plan: deletes what has not begun, skips a repeat's day, stops what runs."""
        for window in windows:
            if window.status == "pending" and window.series_id is None:
                self._take(delete_window, window, (window.row_version,), WindowStep(
                    self._session, f"delete {window.name}", self.ref(window.id), Fields.of(window), None))  # fmt: skip
            elif window.status == "pending":
                self._take(skip_occurrence, window, (), self._skip_step(window))
            elif window.status in ("starting", "running"):
                self._take(cancel_window, window, (window.row_version,), None)

    def _skip_step(self, window: Window) -> SeriesStep | None:
        series = self._session.model.series.get(window.series_id or 0)
        if series is None or window.plan_time is None:
            return None
        before = SeriesForm.of(series)
        day = window.plan_time.astimezone(ZoneInfo(series.timezone)).date()
        after = replace(before, skips=(*before.skips, day))
        return SeriesStep(self._session, f"skip {window.name}", series.id, before, after)

    def _take(
        self, command: Command[..., Any], window: Window, args: tuple[Any, ...], step: WindowStep | SeriesStep | None
    ) -> None:  # fmt: skip
        windows, status = self._session.model.windows, window.status

        def answered(error: AirlockError | None, _result: object) -> None:
            if error is not None:
                self._session.say(str(error))
            elif step is not None:
                self.undo.push(step)

        self._session.do(
            command, window.id, *args, keys=(("window", window.id),), answered=answered,
            until=lambda: window.id not in windows or windows[window.id].status != status,
        )  # fmt: skip
