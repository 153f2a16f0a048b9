"""The columns of the three lists, and the two cells that are drawn rather than written: pips and progress."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from core.jobs.model import QUEUES, Run
from core.jobs.picture import Recurring
from gui.jobs import words
from gui.session import Session
from gui.table import Cell, Column
from gui.table.delegate import RowDelegate
from gui.table.model import ROW_ROLE
from gui.theme import theme
from gui.words import clock, span, time_of_day

PIPS, PROGRESS, STATE, SINCE = 0, 4, 3, 5
NEXT = 2


class QueueDelegate(RowDelegate):
    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        if index.column() not in (PIPS, PROGRESS):
            super().paint(painter, option, index)
            return
        self.paint_ground(painter, option, index)
        run: Run = index.data(ROW_ROLE)
        area = QRectF(self.content(option.rect, index.column()))
        if index.column() == PIPS:
            self._pips(painter, area, run)
        elif run.status == "running":
            self._progress(painter, area, run.progress)

    @staticmethod
    def _pips(painter: QPainter, area: QRectF, run: Run) -> None:
        """Four pips: the last one is for what goes before everything else."""
        filled = words.RANKS.get(run.priority, 1) + (run.queue == QUEUES[0])
        for pip in range(4):
            tone = "t2" if pip < filled else "bg4"
            painter.fillRect(QRectF(area.left() + 7 * pip, area.center().y() - 5, 5, 10), theme.colour(tone))

    @staticmethod
    def _progress(painter: QPainter, area: QRectF, progress: float | None) -> None:
        bar = QRectF(area.left() + 0.5, area.center().y() - 4.5, min(84.0, area.width() - 8), 9)
        painter.fillRect(bar, theme.colour("well"))
        if progress:
            painter.fillRect(
                QRectF(bar.left(), bar.top(), bar.width() * progress, bar.height()), theme.colour("t3")
            )
        painter.setPen(theme.colour("line2"))
        painter.drawRect(bar)


def queue_columns(session: Session) -> list[Column]:
    def tone(run: Run) -> str:
        return "t1" if run.status == "running" else "t2"

    def state(run: Run) -> Cell:
        glyph = words.GLYPHS.get(run.status, "idle")
        said = (
            words.TITLES[run.status]
            if run.status == "running"
            else words.status_words(run, session.shown_now())
        )
        return Cell(said, "p3" if run.status == "queued" else tone(run), figures=True, glyph=glyph)

    def progress(run: Run) -> Cell:
        return Cell(words.status_words(run, session.shown_now()) if run.status == "running" else "")

    def since(run: Run) -> Cell:
        began = run.started_at if run.status == "running" and run.started_at is not None else run.created_at
        return Cell(clock((session.shown_now() - began).total_seconds()), tone(run), mono=True)

    return [
        Column("Prio", 52, lambda r: Cell(f"{r.queue}, {r.priority}")),
        Column("Job", 110, lambda r: Cell(r.job_name, tone(r)), share=3),
        Column("Target", 80, lambda r: Cell(words.what_about(r), tone(r)), share=2, drop=3),
        Column("State", 136, state),
        Column("Progress", 96, progress, drop=4),
        Column("Since", 76, since),
        Column("Attempt", 60, lambda r: Cell(words.attempts(r), tone(r), figures=True), drop=2),
        Column("Worker", 110, lambda r: Cell((r.worker or "") if r.status == "running" else "", "t2"), share=2, drop=1),
    ]  # fmt: skip


def recurring_columns(session: Session) -> list[Column]:
    def tone(row: Recurring) -> str:
        return "t1" if row.job.enabled else "t3"

    def due(row: Recurring) -> Cell:
        if not row.job.enabled:
            wrong = row.job.error_message is not None
            return Cell("DISABLED", "p3" if wrong else "t3", bold=wrong)
        if row.job.next_plan_at is None:
            return Cell("–", "t2")
        left = (row.job.next_plan_at - session.shown_now()).total_seconds()
        return Cell(f"in {span(left)}" if left > 0 else "now", figures=True)

    def last(row: Recurring) -> Cell:
        if row.last is None:
            return Cell("never", "t3")
        words_ = words.TITLES.get(row.last.status, row.last.status)
        failed = row.last.status == "failed"
        return Cell(
            words_, "p3" if failed else "t2", glyph=words.GLYPHS.get(row.last.status, "idle"), bold=failed
        )

    def at(row: Recurring) -> Cell:
        if row.last is None:
            return Cell("")
        local = session.local(row.last.finished_at or row.last.created_at)
        return Cell(time_of_day(local, session.local(session.now())), "t2", mono=True)

    def took(row: Recurring) -> Cell:
        return Cell("" if row.last is None else words.duration_words(row.last), "t2", figures=True)

    return [
        Column("Job", 116, lambda r: Cell(r.job.name, tone(r), bold=r.job.enabled), share=2),
        Column("When", 130, lambda r: Cell(r.job.error_message or words.when_words(r.job), "t2"), share=4),
        Column("Next", 84, due),
        Column("Last", 96, last),
        Column("At", 88, at, drop=1),
        Column("Took", 64, took, drop=2, right=True),
        Column("Catch up", 64, lambda r: Cell(r.job.catch_up, "t2"), drop=4),
        Column("Overlap", 60, lambda r: Cell(r.job.overlap, "t2"), drop=3),
    ]  # fmt: skip


def history_columns(session: Session) -> list[Column]:
    def state(run: Run) -> Cell:
        failed, glyph = run.status == "failed", words.GLYPHS.get(run.status, "idle")
        return Cell(words.TITLES[run.status], "p3" if failed else "t2", bold=failed, glyph=glyph)

    def at(run: Run) -> Cell:
        if run.finished_at is None:
            return Cell("")
        return Cell(time_of_day(session.local(run.finished_at), session.local(session.now())), mono=True)

    return [
        Column("Time", 88, at),
        Column("Job", 100, lambda r: Cell(r.job_name), share=2),
        Column("Target", 76, lambda r: Cell(words.what_about(r), "t2"), share=1, drop=3),
        Column("Result", 100, state),
        Column("Took", 64, lambda r: Cell(words.duration_words(r), "t2", figures=True), right=True),
        Column("Attempt", 60, lambda r: Cell(words.attempts(r), "t2", figures=True), drop=2),
        Column("What", 120, lambda r: Cell(words.outcome(r), "t2"), share=5, drop=1),
    ]
