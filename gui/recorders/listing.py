"""What a window is in the schedule: its state in a mark and a word, its columns, and how they are painted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QRect, QRectF
from PySide6.QtGui import QFontMetricsF, QPainter

from core.recording.model import Window
from core.recording.rules import held
from gui.recorders.marks import MARKS, paint_mark
from gui.recorders.state import READY
from gui.session import Session
from gui.table import Cell, Column
from gui.table.delegate import RowDelegate
from gui.words import long_date, span, time_of_day

STATES = {
    "pending": ("idle", "Pending", "t2"),
    "ready": ("ready", "Ready", "t1"),
    "held": ("held", "Held", "t1"),
    "starting": ("ready", "Starting", "t1"),
    "running": ("recording", "Recording", "t1"),
    "stopping": ("recording", "Stopping", "t1"),
    "completed": ("completed", "Completed", "t3"),
    "failed": ("failed", "Failed", "t1"),
    "missed": ("missed", "Missed", "t1"),
    "cancelled": ("cancelled", "Cancelled", "t3"),
}
ENDED = ("completed", "cancelled")


@dataclass(frozen=True)
class Listed:
    window: Window
    recorder: str
    source: str
    state: str
    pending: bool


class ScheduleDelegate(RowDelegate):
    """Paints our marks where a table otherwise paints a glyph, and the repeat mark after a title."""

    def paint_cell(self, painter: QPainter, rect: QRect, cell: Cell, right: bool = False) -> None:
        if cell.glyph not in MARKS:
            super().paint_cell(painter, rect, cell, right)
            return
        plain = Cell(cell.text, cell.tone, cell.bold, cell.mono)
        if cell.glyph == "repeat":
            room = rect.adjusted(0, 0, -18, 0)
            super().paint_cell(painter, room, plain, right)
            wide = min(QFontMetricsF(self.font(cell)).horizontalAdvance(cell.text), room.width())
            at = QRectF(rect.left() + wide + 8, rect.center().y() - 4, 10, 10)
            paint_mark(painter, "repeat", at, "t2")
            return
        at = QRectF(rect.left(), rect.center().y() - 5, 12, 12)
        paint_mark(painter, cell.glyph, at, cell.glyph_tone or cell.tone)
        super().paint_cell(painter, rect.adjusted(20, 0, 0, 0), plain, right)


def listed(session: Session, window: Window) -> Listed:
    recorder = session.model.recorders.get(window.recorder_id)
    now = session.now()
    state = str(window.status)
    if state == "pending" and recorder is not None:
        if held(state, recorder.mode, window.by_hand, window.start_at, now):
            state = "held"
        elif window.start_at - now < READY:
            state = "ready"
    source = window.source or ("" if recorder is None else recorder.source)
    name = "" if recorder is None else recorder.name
    return Listed(window, name, source, state, session.is_pending(("window", window.id)))


def columns(session: Session) -> list[Column]:
    def time_cell(x: Listed, instant_of: Callable[[Window], datetime]) -> Cell:
        local = session.local(instant_of(x.window))
        today = session.local(session.now())
        return Cell(time_of_day(local, today), "t3" if x.state in ENDED else "t1", mono=True)

    def tone(x: Listed) -> str:
        return "t3" if x.state in ENDED else "t1"

    def title(x: Listed) -> Cell:
        glyph = "repeat" if x.window.series_id is not None else ""
        return Cell(x.window.name, tone(x), bold=x.state == "running", glyph=glyph)

    def state(x: Listed) -> Cell:
        mark, words, token = STATES[x.state]
        if x.pending:
            words = "Asked…"
        lit = "live_line" if mark == "recording" else token
        return Cell(words, token, bold=x.state in ("running", "failed", "missed"), glyph=mark, glyph_tone=lit)

    def end(x: Listed) -> Cell:
        return Cell("open", "t2") if x.window.open_ended else time_cell(x, lambda w: w.end_at)

    def length(x: Listed) -> Cell:
        words = "" if x.window.open_ended else span((x.window.end_at - x.window.start_at).total_seconds())
        return Cell(words, "t2")

    return [
        Column("Start", 92, lambda x: time_cell(x, lambda w: w.start_at)),
        Column("End", 82, end, drop=1),
        Column("Length", 64, length, drop=2),
        Column("Title", 112, title, share=1),
        Column("Recorder", 72, lambda x: Cell(x.recorder, tone(x))),
        Column("Status", 108, state),
    ]


def tip(session: Session, x: Listed) -> str:
    window, local = x.window, session.local
    lines = [
        f"{window.name} on {x.recorder}, {STATES[x.state][1].lower()}",
        f"{long_date(local(window.start_at))} to {local(window.end_at):%H:%M:%S}",
    ]
    if window.source:
        lines.append(f"Source {x.source}")
    if window.attempt > 1:
        lines.append(f"Attempt {window.attempt}")
    lines.append(f"Made by {window.made_by}" + (", edited" if window.edited else ""))
    return "\n".join([*lines, window.error_message or ""]).strip()
