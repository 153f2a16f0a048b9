"""The inspector at the right: the form of a window, its next occurrences, and its history.

The form and the timeline edit the same thing: what is typed is shown on the lanes, what is dragged stands in the
fields. What is saved here can be undone like a drag.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from core import audit
from core.recording.model import Window
from core.recording.recurrence import Recurrence
from core.recording.recurrence_errors import RecurrenceError
from gui import fonts
from gui.inspector.lists import Line, Lines
from gui.inspector.occurrences import next_five
from gui.parts import Button, Chip, Label, Segments, Surface
from gui.recorders import orders
from gui.recorders.entry import WrongEntry, read_length, write_length
from gui.recorders.form import WindowForm
from gui.recorders.growth import size_words
from gui.recorders.orders import CRON, ONCE, THIS
from gui.session import Session
from gui.timeline.collisions import Piece
from gui.timeline.editor import Editor
from gui.timeline.gesture import Draft, judged
from gui.timeline.knowledge import Knowledge
from gui.timeline.steps import Fields, Ref, WindowStep
from gui.words import span

WIDTH = 420


class Inspector(Surface):
    closed = Signal()
    preview = Signal(object)  # what is typed, as a draft; None when nothing is

    def __init__(
        self, session: Session, known: Knowledge, editor: Editor, parent: QWidget | None = None
    ) -> None:
        super().__init__("panel", parent)
        self.setAccessibleName("Inspector")
        self.setFixedWidth(WIDTH)
        self._session, self._known, self._editor = session, known, editor
        self._quiet = False
        self._asked: Fields | None = None
        self.form = WindowForm(session)
        self.tabs = Segments({"window": "Window", "history": "History"}, "Parts of the inspector")
        self.edited = Chip("EDITED", "inverse")
        self.close_button = Button("", glyph="close")
        self.close_button.setAccessibleName("Close the inspector")
        self.close_button.setToolTip("Close the inspector (Esc)")
        self.occurrences = Lines("Next occurrences", ("Next occurrences", "Local", "Check"), (128, 100))
        self.attempts = Lines("Attempts", ("Attempt", "File", "Result"), (64, 180))
        self.changes = Lines("Changes", ("When", "Who", "What"), (112, 88))
        self.facts = Label("", fonts.text(12), "second")
        self.facts.setWordWrap(True)
        self._build()
        self._connect()
        self.hide()

    def _build(self) -> None:
        bar = Surface("bar", edge="bottom")
        bar.setFixedHeight(36)
        row = QHBoxLayout(bar)
        row.setContentsMargins(8, 0, 4, 0)
        row.addWidget(self.tabs)
        row.addStretch(1)
        row.addWidget(self.edited)
        row.addWidget(self.close_button)
        page = Surface("panel")
        inside = QVBoxLayout(page)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.setSpacing(0)
        inside.addWidget(self.form)
        inside.addWidget(self.occurrences)
        self.history = QWidget()
        past = QVBoxLayout(self.history)
        past.setContentsMargins(0, 8, 0, 0)
        past.setSpacing(8)
        facts = QHBoxLayout()
        facts.setContentsMargins(12, 0, 12, 0)
        facts.addWidget(self.facts)
        past.addLayout(facts)
        past.addWidget(self.attempts)
        past.addWidget(self.changes)
        inside.addWidget(self.history)
        inside.addStretch(1)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(bar)
        column.addWidget(self.area, 1)

    def _connect(self) -> None:
        form = self.form
        self.close_button.clicked.connect(self.shut)
        self.tabs.chosen.connect(self._show_tab)
        form.closed.connect(self._form_closed)
        form.saved.connect(self._saved)
        for field in (form.day, form.time, form.length, form.title, form.source):
            field.textChanged.connect(self._typed)
        form.recorder.currentIndexChanged.connect(self._typed)
        form.repeats.chosen.connect(self._typed)
        for button in form.days:
            button.toggled.connect(self._typed)
        self._session.bridge.changed.connect(self._changed)

    # Opening and closing

    def open_window(self, window: Window) -> None:
        self._open(lambda: self.form.open_window(window))
        over = window.status not in ("pending", "starting", "running")
        self.tabs.choose("history" if over else "window")
        self._read_history()

    def open_new(self, recorder: int | None) -> None:
        self._open(lambda: self.form.open_new(recorder))
        self.tabs.choose("window")

    def _open(self, fill: Callable[[], None]) -> None:
        self._quiet = True
        self.show()
        fill()
        self._quiet = False
        self.tabs.buttons["history"].setEnabled(self.form.window_ is not None)
        self.tabs.buttons["history"].setToolTip("What happened to this window")
        self.tabs.buttons["window"].setToolTip("The window itself")
        self._show_tab(self.tabs.current())
        self._explain()

    def shut(self) -> None:
        self.form.hide()
        self._form_closed()

    def _form_closed(self) -> None:
        if self.isVisible():
            self.hide()
            self.preview.emit(None)
            self.closed.emit()

    def _show_tab(self, tab: str) -> None:
        history = tab == "history"
        self.form.setVisible(not history)
        self.occurrences.setVisible(not history and bool(self.occurrences.lines))
        self.history.setVisible(history)
        if history:
            self._read_history()

    # The same thing as on the timeline

    def show_draft(self, draft: Draft) -> None:
        """A hand on the timeline moves the window that is open here: its times stand in the fields."""
        window, piece = self.form.window_, draft.lead
        if (
            window is None
            or piece.window is None
            or piece.window.id != window.id
            or draft.copy
            or self.isHidden()
        ):
            return
        self._quiet = True
        self.form._set_start(self._session.local(datetime.fromtimestamp(piece.start, UTC)))
        self.form.length.setText(write_length(timedelta(seconds=piece.end - piece.start)))
        self.form.recorder.setCurrentIndex(self.form.recorder.findData(piece.recorder))
        self._quiet = False
        self.edited.setVisible(draft.changed)

    def put_back(self) -> None:
        """The hand let go: the fields show the window as it is known again."""
        if self.form.window_ is not None and not self.isHidden():
            now = self._session.model.windows.get(self.form.window_.id)
            if now is not None and not self.form.saving:
                self.open_window(now)

    def _typed(self, _what: object = None) -> None:
        if not self._quiet and not self.isHidden():
            self._explain()

    def _piece(self) -> Piece | None:
        try:
            start = self.form._start()
            length = read_length(self.form.length.text())
        except WrongEntry:
            return None
        recorder = self.form.recorder.currentData()
        if recorder is None:
            return None
        return Piece(self.form.window_, recorder, start.timestamp(), (start + length).timestamp())

    def _explain(self) -> None:
        """Shows on the lanes what is typed here, and what a repeat comes to."""
        piece = self._piece()
        new = self.form.window_ is None
        changed = piece is not None and piece.changed
        self.edited.setVisible(not new and changed)
        if piece is None or not changed:
            self.preview.emit(None)
        else:
            now = self._session.now().timestamp()
            kind = "draw" if new else "move"
            self.preview.emit(judged(Draft(kind, (piece,)), self._known.lanes, now))
        self._show_occurrences(piece)

    def _show_occurrences(self, piece: Piece | None) -> None:
        lines: list[Line] = []
        try:
            rule = self._rule()
            if rule is not None and piece is not None:
                series = None if self.form.series is None else self.form.series.id
                found = next_five(
                    rule, timedelta(seconds=piece.end - piece.start), piece.recorder, self._known.lanes, series,
                    self._session.now(), self._session.zone,
                )  # fmt: skip
                lines = [
                    Line(
                        (o.day, o.times, o.check),
                        "conflict" if o.collides else "completed",
                        "p2" if o.collides else "t1",
                    )
                    for o in found
                ]
        except (RecurrenceError, WrongEntry):
            lines = []
        self.occurrences.show_lines(lines)
        self.occurrences.setVisible(bool(lines) and self.tabs.current() == "window")

    def _rule(self) -> Recurrence | None:
        form, series = self.form, self.form.series
        if series is not None and (form.scope == THIS or form.repeats.current() == CRON):
            return Recurrence(
                series.cron, series.timezone, series.first_day, series.last_day, frozenset(series.skips)
            )
        if form.repeats.current() in (ONCE, CRON):
            return None
        return orders.recurrence(form._entered(), form._zone_name())

    # Saving

    def _saved(self, made: object) -> None:
        form = self.form
        window, piece = form.window_, self._piece()
        title = form.title.text().strip()
        self._session.say(f"{title} is saved.", refused=False)
        if (
            piece is None
            or (form.series is not None and form.scope != THIS)
            or form.repeats.current() not in (ONCE, orders.repeats_of(form.series))
        ):
            return
        start, end = (datetime.fromtimestamp(t, UTC) for t in (piece.start, piece.end))
        after = Fields(title, piece.recorder, start, end, form.source.text().strip() or None)
        if window is None and isinstance(made, int):
            self._editor.undo.push(WindowStep(self._session, f"new {title}", Ref(made), None, after))
            self._editor.made.emit(made)
        elif window is not None:
            before, ref = Fields.of(window), self._editor.ref(window.id)
            self._editor.undo.push(WindowStep(self._session, f"edit {title}", ref, before, after))

    # History

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        window = self.form.window_
        if self.isHidden() or window is None:
            return
        if (
            window.id in changes.get("recorder_schedules", ())
            and not self.form.saving
            and self.edited.isHidden()
        ):
            now = self._session.model.windows.get(window.id)
            if now is not None and now != window and not self.form.isHidden():
                focus = self.form.focusWidget()
                self.open_window(now)
                if focus is not None:
                    focus.setFocus()
        elif changes.keys() & {"assets", "recorder_schedules"} and not self.history.isHidden():
            self._read_history()

    def _read_history(self) -> None:
        window = self.form.window_
        if window is None or self.history.isHidden():
            return
        known = self._session.model.windows.get(window.id, window)
        length = span((known.end_at - known.start_at).total_seconds())
        words = [f"{known.name}: {known.status}, {length}, made by {known.made_by or 'another system'}."]
        if known.error_message:
            words.append(known.error_message)
        self.facts.show_text(" ".join(words))
        assets = [a for a in self._session.model.assets.values() if a.schedule_id == window.id]
        assets.sort(key=lambda a: -a.id)
        self.attempts.show_lines(
            [
                Line((str(a.attempt or 1), a.display_name, f"{a.status} · {size_words(a.size_bytes)}"))
                for a in assets
            ]
            or [Line(("–", "Nothing recorded yet", ""), tone="t2")]
        )

        async def read() -> None:
            rows = await audit.of_subject(self._session.station.database, "window", window.id, 30)
            if self.form.window_ is window:
                self.changes.show_lines(
                    [self._line(r) for r in rows] or [Line(("–", "", "No change yet"), tone="t2")]
                )

        _ = self._session.attempt(read, "history of a window")

    def _line(self, row: Any) -> Line:
        at = self._session.local(row.at)
        what = row.action.replace("_", " ")
        changed = ", ".join(k.removesuffix("_at").replace("_", " ") for k in (row.after or {}) if k in WORTH)
        return Line(
            (f"{at:%d %b %H:%M:%S}", row.who, f"{what}: {changed}" if changed and row.before else what)
        )


WORTH = frozenset({"name", "recorder_id", "start_at", "end_at", "source", "status"})
