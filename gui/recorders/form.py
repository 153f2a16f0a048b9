"""The form of a window: a new one, or one that is being edited. Enter saves, Esc closes.

What is wrong stands beside the field it concerns. The form closes only when the database has taken it.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from core.errors import AirlockError, Changed, CommandRefused, DatabaseLost, NotAllowed, NotFound
from core.recording.commands import create_window, edit_window
from core.recording.model import Window
from core.recording.recurrence_errors import RecurrenceError
from core.recording.sources import SourceRefused, check_source
from gui.actions import tooltip
from gui.recorders import orders
from gui.recorders.entry import WrongEntry, next_full, read_length
from gui.recorders.form_entries import FormEntries
from gui.recorders.form_fields import FIELDS
from gui.recorders.orders import ONCE, Order
from gui.session import Session
from gui.tasks import spawn

log = logging.getLogger(__name__)

USUAL = timedelta(minutes=30)


class WindowForm(FormEntries):
    closed = Signal()
    saved = Signal(object)  # what the command gave back: an id, or None

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.saving = False
        self._connect()
        self._may()
        self.hide()

    def _connect(self) -> None:
        self.save_button.clicked.connect(self.save)
        self.close_button.clicked.connect(self.shut)
        self.close_button.setToolTip("Close without saving (Esc)")
        self.again.clicked.connect(self._show_again)
        self._session.abilities_changed.connect(self._abilities_changed)

    # Opening

    def open_new(self, recorder_id: int | None) -> None:
        self.window_ = self.series = None
        self.heading.show_text("New window")
        start = self._session.local(next_full(self._session.now()))
        self._fill("", recorder_id, start, USUAL, "", ONCE, [start.weekday()])
        self._enter()

    def open_window(self, window: Window) -> None:
        self.window_ = window
        self.series = self._session.model.series.get(window.series_id) if window.series_id else None
        self.heading.show_text(f"Edit {window.name}")
        start = self._session.local(window.start_at)
        days = orders.weekdays_of(self.series) if self.series is not None else [start.weekday()]
        self._fill(
            window.name, window.recorder_id, start, window.end_at - window.start_at, window.source or "",
            orders.repeats_of(self.series), days,
        )  # fmt: skip
        self._enter()

    def _enter(self) -> None:
        self.show()
        self._may()
        self.resized.emit()
        self.title.setFocus()
        self.title.selectAll()

    def shut(self) -> None:
        if self.isVisible():
            self.hide()
            self.closed.emit()

    def _show_again(self) -> None:
        if self.window_ is None:
            return
        now = self._session.model.windows.get(self.window_.id)
        if now is None:
            self._wrong("form", "That window no longer exists.")
        else:
            self.open_window(now)

    # Checking

    def _check(self) -> Order | None:
        """The order, or None and the mistakes beside their fields."""
        for name in FIELDS:
            self._clear(name)
        wrong: list[QWidget] = []

        def refuse(name: str, sentence: str, field: QWidget) -> None:
            self._wrong(name, sentence)
            wrong.append(field)

        if not self.title.text().strip():
            refuse("title", "Give the window a title.", self.title)
        if self.recorder.currentData() is None:
            refuse("recorder", "There is no recorder to record it.", self.recorder)
        try:
            if self.source.text().strip():
                check_source(self.source.text().strip())
        except SourceRefused as error:
            refuse("source", str(error), self.source)
        try:
            self._start()
        except WrongEntry as error:
            refuse("start", str(error), self.time)
        try:
            read_length(self.length.text())
        except WrongEntry as error:
            refuse("length", str(error), self.length)
        order = None
        if not wrong:
            try:
                order = self._order()
            except WrongEntry as error:
                refuse("start", str(error), self.time)
            except RecurrenceError as error:
                refuse("repeats", str(error), self.time)
        if wrong:
            wrong[0].setFocus()
        return order

    def _order(self) -> Order:
        entered = self._entered()
        if self.window_ is None:
            return orders.create(entered, self._zone_name())
        return orders.edit(entered, self.window_, self.series, self._zone_name())

    # Saving

    def why_not(self) -> str | None:
        if self.saving:
            return "It is being saved."
        return self._session.why_not(create_window if self.window_ is None else edit_window)

    def _may(self) -> None:
        reason = self.why_not()
        self.save_button.setEnabled(reason is None)
        self.save_button.setToolTip(tooltip("Save the window", "Enter", reason))
        self.save_button.setAccessibleDescription(reason or "")

    def _abilities_changed(self) -> None:
        self._may()
        if self.why_not() is None and self.again.isHidden():
            self._clear("form")

    def save(self) -> None:
        if (reason := self.why_not()) is not None:
            self._wrong("form", reason)
            return
        order = self._check()
        if order is not None:
            self._set_saving(True)
            _ = spawn(self._save(order), name=f"command {order.command.name}")

    async def _save(self, order: Order) -> None:
        refusal: AirlockError | None = None
        made: object = None
        try:
            made = await self._session.station.commander.do(order.command, *order.args, **order.options)
        except AirlockError as error:
            refusal = error
        finally:
            if not self._session.closed:
                self._set_saving(False)
        if self._session.closed:
            log.info(
                "%s: the window was closed meanwhile; %s", order.command.title, refusal or "it was saved"
            )
        elif refusal is not None:
            self._refused(refusal)
        else:
            self.saved.emit(made)
            self.shut()

    def _set_saving(self, saving: bool) -> None:
        self.saving = saving
        self.save_button.show_text("Saving…" if saving else "Save")
        self._may()

    def _refused(self, error: AirlockError) -> None:
        if not self.isVisible():
            self._session.say(str(error))
        elif isinstance(error, SourceRefused):
            self._wrong("source", str(error))
        elif isinstance(error, Changed):
            self._wrong("form", str(error))
            self.again.show()
        elif isinstance(error, CommandRefused) and not isinstance(error, NotFound | NotAllowed):
            self._wrong("start", str(error))
            self.time.setFocus()
        else:
            self._wrong("form", str(error))
            if not isinstance(error, DatabaseLost | NotFound | NotAllowed):
                log.error("saving a window: %s", error)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if not self.saving:
                self.save()
        elif event.key() == Qt.Key.Key_Escape:
            self.shut()
        else:
            super().keyPressEvent(event)
