"""The window form while it is filled in: what may be changed, what it comes to, and what cannot be read."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from core.recording.model import Series, Window
from core.recording.recurrence import describe
from core.recording.recurrence_errors import RecurrenceError
from gui.recorders import orders
from gui.recorders.entry import WrongEntry, instant, read_day, read_length, read_time, write_length
from gui.recorders.form_fields import DAY_TIP, FIELDS, RECORDER_TIP, TIME_TIP, FormFields
from gui.recorders.orders import CRON, ONCE, THIS, WEEKLY, Entered
from gui.session import Session
from gui.words import zone_offset


class FormEntries(FormFields):
    resized = Signal()  # needs more room, or less

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.window_: Window | None = None  # the one that is edited
        self.series: Series | None = None  # the series it belongs to
        self.day.stepped.connect(self._step_day)
        self.time.stepped.connect(lambda by: self._step_start(timedelta(minutes=5 * by)))
        self.length.stepped.connect(self._step_length)
        for field in (self.day, self.time, self.length):
            field.textChanged.connect(self._explain)
        self.title.textChanged.connect(lambda _: self._clear("title"))
        self.source.textChanged.connect(lambda _: self._clear("source"))
        self.recorder.currentIndexChanged.connect(self._recorder_chosen)
        self.repeats.chosen.connect(self._repeats_chosen)
        for button in self.days:
            button.toggled.connect(self._explain)
        for radio in self.scopes.values():
            radio.toggled.connect(self._scope_chosen)

    def _fill(
        self, title: str, recorder: int | None, start: datetime, length: timedelta, source: str, repeats: str,
        days: list[int],
    ) -> None:  # fmt: skip
        self.title.setText(title)
        self.recorder.blockSignals(True)
        self.recorder.clear()
        for known in sorted(self._session.model.recorders.values(), key=lambda r: (r.position, r.name)):
            self.recorder.addItem(known.name, known.id)
        self.recorder.setCurrentIndex(max(0, self.recorder.findData(recorder)))
        self.recorder.blockSignals(False)
        self.source.setText(source)
        self._set_start(start)
        self.length.setText(write_length(length))
        self.repeats.buttons[CRON].setVisible(repeats == CRON)
        self.repeats.choose(repeats)
        for number, button in enumerate(self.days):
            button.setChecked(number in days)
        self.scopes[THIS].setChecked(True)
        self._recorder_chosen()
        self._scope_chosen()
        for name in FIELDS:
            self._clear(name)
        self.again.hide()

    @property
    def started(self) -> bool:
        return self.window_ is not None and self.window_.status in ("starting", "running")

    @property
    def scope(self) -> str:
        return next((key for key, radio in self.scopes.items() if radio.isChecked()), THIS)

    def _scope_chosen(self, _on: object = None) -> None:
        """What may be changed depends on what the change applies to."""
        one = self.scope == THIS
        running = "It is recording: its start and its recorder can no longer change." if self.started else ""
        for widget, tip in (
            (self.recorder, RECORDER_TIP),
            (self.day, DAY_TIP),
            (self.time, TIME_TIP),
        ):
            widget.setEnabled(not running or not one)
            widget.setToolTip(running if running and one else tip)
        repeats = self._asks_how_often()
        for key, button in self.repeats.buttons.items():
            button.setEnabled(repeats and not (key == ONCE and self.series is not None))
        for button in self.days:
            button.setEnabled(repeats)
        for part in self.apply_to:
            part.setVisible(self.series is not None)
        for part in self.how_often:
            part.setVisible(repeats)
        self._repeats_chosen(self.repeats.current())

    def _asks_how_often(self) -> bool:
        """One occurrence of a series cannot repeat otherwise than the rest; a window that stands alone can."""
        return self.series is None or self.scope != THIS

    def _repeats_chosen(self, repeats: str) -> None:
        for part in self.on_days:
            part.setVisible(self._asks_how_often() and repeats == WEEKLY)
        self._explain()
        self.resized.emit()

    def _recorder_chosen(self, _index: object = None) -> None:
        known = self._session.model.recorders.get(self.recorder.currentData() or 0)
        self.source.setPlaceholderText("" if known is None else f"own source: {known.source or 'none'}")
        self._clear("recorder")
        self._clear("start")

    def _set_start(self, start: datetime) -> None:
        self.day.setText(f"{start:%Y-%m-%d}")
        self.time.setText(f"{start:%H:%M:%S}")

    def _today(self) -> date:
        return self._session.local(self._session.now()).date()

    def _start(self) -> datetime:
        day = read_day(self.day.text(), self._today())
        return instant(day, read_time(self.time.text()), self._session.zone)

    def _step_day(self, by: int) -> None:
        try:
            self.day.setText(str(read_day(self.day.text(), self._today()) + timedelta(days=by)))
        except WrongEntry as error:
            self._wrong("start", str(error))

    def _step_start(self, by: timedelta) -> None:
        try:
            self._set_start(self._session.local(self._start() + by))
        except WrongEntry as error:
            self._wrong("start", str(error))

    def _step_length(self, by: int) -> None:
        try:
            length = read_length(self.length.text()) + timedelta(minutes=5 * by)
        except WrongEntry as error:
            self._wrong("length", str(error))
        else:
            self.length.setText(write_length(max(length, timedelta(minutes=1))))

    def _explain(self, _what: object = None) -> None:
        """Says what the entries come to, as far as they can be read."""
        for name in ("start", "length", "repeats", "form"):
            self._clear(name)
        try:
            start = self._session.local(self._start())
            self.zone.show_text(f"{start:%a}, {zone_offset(start)}")
            end = self._session.local(start + read_length(self.length.text()))
            self.end.show_text(f"ends {end:%H:%M:%S}" + (f" {end:%a}" if end.date() != start.date() else ""))
            self.meaning.show_text(self._meaning())
        except (WrongEntry, RecurrenceError):
            self.end.show_text("")
            self.meaning.show_text("")

    def _meaning(self) -> str:
        repeats = self.repeats.current()
        if repeats == ONCE:
            return ""
        if repeats == CRON:
            return f"By the rule {self.series.cron}" if self.series is not None else ""
        return describe(orders.recurrence(self._entered(), self._zone_name()))

    def _zone_name(self) -> str:
        plant = self._session.model.plant
        return "UTC" if plant is None else plant.timezone

    def _entered(self) -> Entered:
        return Entered(
            self.title.text().strip(),
            self.recorder.currentData() or 0,
            self._start(),
            read_length(self.length.text()),
            self.source.text().strip(),
            self.repeats.current(),
            tuple(n for n, button in enumerate(self.days) if button.isChecked()),
            self.scope,
        )

    def _wrong(self, name: str, sentence: str) -> None:
        label = self.errors[name]
        label.show_text(sentence)
        label.show()
        self.resized.emit()

    def _clear(self, name: str) -> None:
        if not self.errors[name].isHidden():
            self.errors[name].show_text("")
            self.errors[name].hide()
            self.resized.emit()
