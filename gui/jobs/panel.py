"""The jobs panel: the queue, the recurring jobs and the history, with what an operator can do about them.

Runs are not in the read model: a worker may carry out thousands in a second. The panel reads what it shows when it is
told that something changed, at most four times a second, and once a second while something runs, for its progress.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from core import passes
from core.commands import Command
from core.jobs import commands, picture
from core.jobs.model import Run
from core.jobs.picture import Picture, Recurring
from core.jobs.rules import why_not_cancel
from gui import fonts
from gui.actions import Actions
from gui.freshness import Freshness
from gui.jobs import words
from gui.jobs.columns import (
    NEXT,
    SINCE,
    STATE,
    QueueDelegate,
    history_columns,
    queue_columns,
    recurring_columns,
)
from gui.parts import Button, Label, Segments, Surface, Toolbar
from gui.session import Session
from gui.table import Rows, Table
from gui.words import milliseconds, plural

VIEWS = {"queue": "Queue", "recurring": "Recurring", "history": "History"}
EMPTY = {
    "queue": "Nothing waits and nothing runs. A recording that ends puts its proxy, pictures and loudness here.",
    "recurring": "No job recurs yet. The leader enters those that its program defines.",
    "history": "Nothing was done in the last days. Done runs stay for a day, failed ones for three.",
}
TABLES = {"job_runs", "cron_jobs"}
GATHER = 250  # ms that changes are gathered before they are read
NONE_CHOSEN = "Select a line first."


class JobsPanel(Surface):
    counted = Signal(int)  # how many runs wait or run

    def __init__(self, session: Session, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__("panel", parent)
        self.setAccessibleName("Jobs")
        self._session = session
        self._actions = actions
        self.picture = Picture()
        self._task: asyncio.Task[None] | None = None
        self._again = False
        self.segments = Segments(VIEWS, "Which jobs")
        self.footer = Label("", fonts.figures(12), "second", elide=True)
        self.models = {
            "queue": Rows(queue_columns(session), lambda run: run.id, self._tip, self),
            "recurring": Rows(recurring_columns(session), lambda row: row.job.id, self._job_tip, self),
            "history": Rows(history_columns(session), lambda run: run.id, self._tip, self),
        }
        self.tables = {view: Table(model, VIEWS[view], EMPTY[view]) for view, model in self.models.items()}
        self.tables["queue"].setItemDelegate(QueueDelegate(self.tables["queue"]))
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(GATHER)
        self._timer.timeout.connect(self._read)
        self._add_actions()
        self._build()
        self._connect()
        self._show_view("queue")
        self._read()

    def _add_actions(self) -> None:
        add = self._actions.add
        add("jobs.run", "Run the selected job now", "Jobs", self._run_now, "Ctrl+Alt+R")
        add("jobs.retry", "Retry the selected run", "Jobs", self._retry, "Ctrl+Alt+T")
        add("jobs.cancel", "Cancel the selected run", "Jobs", self._cancel, "Ctrl+Alt+X")
        add("jobs.enable", "Enable or disable the selected job", "Jobs", self._toggle, "Ctrl+Alt+E")
        for view, title in VIEWS.items():
            show = partial(self.segments.choose, view)
            add(f"jobs.show_{view}", f"Show jobs: {title.lower()}", "Jobs", show)

    def _build(self) -> None:
        self.buttons = {
            "jobs.run": Button("Run now"),
            "jobs.retry": Button("Retry"),
            "jobs.cancel": Button("Cancel"),
            "jobs.enable": Button("Disable"),
        }
        for id, button in self.buttons.items():
            self._actions.bind(button, id)
        toolbar = Toolbar()
        toolbar.add(self.segments)
        toolbar.stretch()
        toolbar.add(Freshness(self._session), *self.buttons.values())
        self.stack = QStackedWidget()
        for table in self.tables.values():
            self.stack.addWidget(table)
        self.footer.setFixedHeight(24)
        self.footer.setContentsMargins(12, 0, 12, 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(toolbar)
        column.addWidget(self.stack, 1)
        column.addWidget(self.footer)
        self.setFocusProxy(self.stack)

    def _connect(self) -> None:
        session = self._session
        self.segments.chosen.connect(self._show_view)
        for table in self.tables.values():
            table.chosen.connect(lambda _: self._dress())
            session.bridge.stale_changed.connect(table.set_old)
            table.set_old(session.stale)
        session.bridge.changed.connect(self._changed)
        session.bridge.stale_changed.connect(lambda stale: None if stale else self._read())
        session.bridge.lead_changed.connect(self._say)
        session.pending_changed.connect(self._dress)
        session.abilities_changed.connect(self._dress)
        session.ticker.second.connect(self._second)

    # Reading

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        if changes.keys() & TABLES and not self._timer.isActive():
            self._timer.start()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._read()

    def _second(self) -> None:
        if not self.isVisible():
            return
        self.models["queue"].touch(STATE, SINCE)
        self.models["recurring"].touch(NEXT)
        self._say()
        if self.picture.leases and not self._session.stale:
            self._read()

    def _read(self) -> None:
        if self._task is not None:
            self._again = True
            return
        self._again = False
        self._task = self._session.attempt(self._load, "jobs")
        self._task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if self._again and not task.cancelled() and not self._session.stale and not self._session.closed:
            self._timer.start()

    async def _load(self) -> None:
        self.picture = found = await picture.read(self._session.station.database)
        self.models["queue"].show(found.open)
        self.models["recurring"].show(found.recurring)
        self.models["history"].show(found.history)
        total = found.waiting + found.leases
        self.segments.buttons["queue"].show_text(f"Queue {total}")
        self.segments.buttons["recurring"].show_text(f"Recurring {len(found.recurring)}")
        self._say()
        self._dress()
        self.counted.emit(total)

    def _say(self) -> None:
        """The diagnostics: who leads, its passes, who works, who holds what."""
        leader = self._session.model.leader
        name = leader.station if leader is not None and leader.released_at is None else "nobody"
        parts = [f"Leader {name}"]
        noted = passes.of("jobs")
        if self._session.station.leading and noted.last_s is not None:
            parts.append(f"{noted.count} passes, last {milliseconds(noted.last_s * 1000)}")
        workers = self.picture.workers
        busy = sum(w.running for w in workers)
        places = sum(w.concurrency for w in workers)
        parts.append(
            f"{plural(len(workers), 'worker')}, {busy} of {places} places busy" if workers else "No worker"
        )
        parts.append(plural(self.picture.leases, "active lease"))
        self.footer.show_text(" · ".join(parts))
        self.footer.setToolTip("\n".join(f"{w.name}: {w.running} of {w.concurrency}" for w in workers))

    # What can be done

    def _show_view(self, view: str) -> None:
        self.stack.setCurrentWidget(self.tables[view])
        self.stack.setFocusProxy(self.tables[view])
        shown = {
            "queue": {"jobs.retry", "jobs.cancel"},
            "recurring": {"jobs.run", "jobs.enable"},
            "history": {"jobs.retry"},
        }[view]
        for id, button in self.buttons.items():
            button.setVisible(id in shown)
        self._dress()

    def _run(self) -> Run | None:
        view = self.segments.current()
        found = None if view == "recurring" else self.tables[view].chosen_row()
        return found if isinstance(found, Run) else None

    def _job(self) -> Recurring | None:
        found = self.tables["recurring"].chosen_row() if self.segments.current() == "recurring" else None
        return found if isinstance(found, Recurring) else None

    def _dress(self) -> None:
        """Says for every button whether it can work now, and why not."""
        run, row = self._run(), self._job()
        enabled = row is None or row.job.enabled
        toggle = commands.disable_job if enabled else commands.enable_job
        self.buttons["jobs.enable"].show_text("Disable" if enabled else "Enable")
        self._allow(
            "jobs.run", commands.run_now, row, None if enabled else "It is disabled. Enable it first."
        )
        self._allow("jobs.enable", toggle, row, None)
        waits = run is not None and run.status not in ("failed", "cancelled", "retryable")
        done = "There is nothing to retry." if waits else None
        self._allow("jobs.retry", commands.retry_run, run, done)
        self._allow("jobs.cancel", commands.cancel_run, run, None if run is None else why_not_cancel(run))

    def _allow(self, id: str, command: Command[..., Any], chosen: object, reason: str | None) -> None:
        if chosen is None:
            reason = NONE_CHOSEN
        elif self._session.is_pending("jobs"):
            reason = "The last command is being carried out."
        self._actions.allow(id, self._session.why_not(command) or reason)

    def _do(self, command: Command[..., Any], id: int, done: str) -> None:
        self._session.do(command, id, keys=("jobs",), done=done)

    def _run_now(self) -> None:
        if (row := self._job()) is not None:
            self._do(commands.run_now, row.job.id, f"{row.job.name} is put in to run now.")

    def _toggle(self) -> None:
        if (row := self._job()) is not None and row.job.enabled:
            self._do(commands.disable_job, row.job.id, f"{row.job.name} is disabled.")
        elif row is not None:
            self._do(commands.enable_job, row.job.id, f"{row.job.name} is enabled.")

    def _retry(self) -> None:
        if (run := self._run()) is not None:
            self._do(commands.retry_run, run.id, f"Run {run.id} of {run.job_name} is tried again.")

    def _cancel(self) -> None:
        if (run := self._run()) is not None:
            self._do(commands.cancel_run, run.id, f"Run {run.id} of {run.job_name} is cancelled.")

    # Tooltips

    def _tip(self, run: Run) -> str:
        return "\n".join(words.run_lines(run))

    def _job_tip(self, row: Recurring) -> str:
        job = row.job
        lines = [
            f"{job.name}: {words.when_words(job)} ({job.cron}, {job.timezone})",
            f"Handler {job.handler}, {job.queue}, {job.priority}",
        ]
        if job.error_message:
            lines.append(job.error_message)
        if row.last is not None:
            lines += words.run_lines(row.last)
        return "\n".join(lines)
