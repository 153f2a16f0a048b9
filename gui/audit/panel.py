"""The audit log, newest first, fetched a page at a time as it is scrolled."""

from __future__ import annotations

import asyncio
from datetime import datetime, tzinfo
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core import audit
from core.audit import AuditRow
from core.commands import REGISTRY
from gui import fonts
from gui.actions import Actions
from gui.freshness import Freshness
from gui.parts import Label, SearchField, Surface, Toolbar
from gui.session import Session
from gui.table import Cell, Column, Rows, Table
from gui.table.view import ROW_HEIGHT
from gui.words import long_date, time_of_day

PAGE = 200
OVERLAP = 50
KEPT = 20_000  # rows held at most; further back one searches
EMPTY = "Nothing has been done yet. Every operator's action leaves its line here."


def action_title(action: str) -> str:
    """The name of a command in words, also of one that another version knows."""
    known = REGISTRY.get(action)
    return known.title if known is not None else action.replace("_", " ").capitalize()


# What the plant keeps for itself, or what stands in another column already.
UNSAID = frozenset(
    {"id", "state", "name", "demo", "row_version", "claim_token", "epoch", "attempt", "edited", "by_hand", "made_by",
     "position", "recurrence", "plan_time", "planned_until", "created_at", "updated_at", "changed_xid"}
)  # fmt: skip
FIRST = ("start_at", "end_at", "cron", "duration", "status", "mode")  # what one looks for
NOTHING: tuple[object, ...] = (None, False, "", [], {})


def change_words(row: AuditRow, zone: tzinfo) -> str:
    """What changed, as `field: before → after`."""
    before, after = row.before or {}, row.after or {}
    parts = []
    named = {**before, **after}
    for name in [*(n for n in FIRST if n in named), *(n for n in named if n not in FIRST)]:
        was, now = before.get(name), after.get(name)
        # A name says something only when it is another one now.
        if (name in UNSAID and not (name == "name" and was and now)) or (was in NOTHING and now in NOTHING):
            continue
        words = name.replace("_", " ")
        parts.append(
            f"{words}: {_short(now, zone)}"
            if was is None
            else f"{words}: {_short(was, zone)} → {_short(now, zone)}"
        )
    return ", ".join(parts)


def _short(value: Any, zone: tzinfo) -> str:
    if value is None:
        return "none"
    if isinstance(value, str) and value[10:11] == "T":
        try:
            instant = datetime.fromisoformat(value).astimezone(zone)
        except ValueError:
            pass  # a text that only looks like an instant
        else:
            return f"{instant.day} {instant:%b %H:%M:%S}"
    return str(value)[:60]


class AuditPanel(Surface):
    def __init__(self, session: Session, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__("panel", parent)
        self.setAccessibleName("Audit log")
        self._session = session
        self._task: asyncio.Task[None] | None = None
        self._again = False
        self._complete = False
        self._fresh = True  # nothing was read yet, or the filter changed
        self.search = SearchField("Filter operator, station, action, subject")
        self.search.setMinimumWidth(120)
        self.search.setMaximumWidth(300)
        self.count = Label("", fonts.figures(12), "second")
        self.model = Rows(self._columns(), lambda row: row.id, self._tip, self)
        self.table = Table(self.model, "Audit log", EMPTY)
        self.setFocusProxy(self.table)
        toolbar = Toolbar()
        toolbar.row.addWidget(self.search, 1)
        toolbar.stretch()
        toolbar.add(Freshness(session), self.count)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(toolbar)
        column.addWidget(self.table, 1)
        actions.add("audit.search", "Filter the audit log", "Audit", self._focus_search, "Ctrl+Shift+F")
        self.search.setToolTip("Filter the audit log (Ctrl+Shift+F)")
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(150)
        self._typing.timeout.connect(self.reload)
        self.search.textChanged.connect(lambda _: self._typing.start())
        self.table.verticalScrollBar().valueChanged.connect(lambda _: self._fetch_if_near_the_end())
        session.bridge.changed.connect(self._changed)
        session.bridge.stale_changed.connect(self._stale)
        self.table.set_old(session.stale)
        self.reload()

    def _columns(self) -> list[Column]:
        def when(row: AuditRow) -> Cell:
            local = self._session.local(row.at)
            return Cell(time_of_day(local, self._session.local(self._session.now())), mono=True)

        return [
            Column("Time", 88, when),
            Column("Operator", 90, lambda r: Cell(r.who)),
            Column("Station", 92, lambda r: Cell(r.station, "t2"), drop=2),
            Column("Action", 140, lambda r: Cell(action_title(r.action), bold=True), share=2),
            Column("Subject", 120, lambda r: Cell(r.subject_name or r.subject_kind), share=4),
            Column(
                "Change",
                120,
                lambda r: Cell(r.reason or change_words(r, self._session.zone), "t2"),
                share=4,
                drop=1,
            ),
        ]

    def _tip(self, row: AuditRow) -> str:
        lines = [f"{action_title(row.action)}: {row.subject_name or row.subject_kind}"]
        lines.append(
            f"{row.who} at {row.station}, login {row.db_user}, {long_date(self._session.local(row.at))}"
        )
        if row.reason:
            lines.append(f"Reason: {row.reason}")
        if words := change_words(row, self._session.zone):
            lines.append(words)
        return "\n".join(lines)

    def _focus_search(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    # Reading

    def reload(self) -> None:
        """From the start: the filter changed, or the database is back."""
        self._fresh = True
        self._read()

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        if "audit_log" in changes:
            self._read()

    def _stale(self, stale: bool) -> None:
        self.table.set_old(stale)
        if not stale:
            self.reload()

    def _fetch_if_near_the_end(self) -> None:
        # Reckoned from the rows: the scroll bar learns of new ones only when the table is laid out.
        below = self.table.verticalScrollBar().value() + self.table.viewport().height()
        near = len(self.model.rows) * ROW_HEIGHT - below < 20 * ROW_HEIGHT
        if near and not self._complete and self._task is None and self.model.rows:
            self._task = self._session.attempt(self._older, "audit log, older rows")
            self._task.add_done_callback(self._done)

    def _read(self) -> None:
        # One reading at a time; what changes meanwhile is read right after it.
        if self._task is not None:
            self._again = True
            return
        self._again = False
        self._task = self._session.attempt(self._newer, "audit log")
        self._task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if task.cancelled() or self._session.stale:
            return
        if self._again:
            self._read()
        else:
            # It may have been scrolled meanwhile.
            self._fetch_if_near_the_end()

    async def _newer(self) -> None:
        text = self.search.text()
        if self._fresh or not self.model.rows:
            self._fresh = False
            rows = await audit.page(self._session.station.database, None, PAGE, text)
            self._complete = len(rows) < PAGE
            self.model.show(rows)
            self.table.scrollToTop()
        else:
            await self._add_new(text)
        self._say()

    async def _add_new(self, text: str) -> None:
        # Looks a little further back than the newest row: a transaction may be committed after a later one.
        rows = self.model.rows
        overlap = min(OVERLAP, len(rows) - 1)
        found = await audit.since(self._session.station.database, rows[overlap].id, PAGE, text)
        if len(found) == PAGE:
            # More than a page arrived: start over rather than leave a hole.
            self._fresh = self._again = True
            return
        known = {row.id for row in rows[: OVERLAP + 1]}
        for row in reversed(found):
            if row.id not in known:
                self.model.insert(next(i for i, other in enumerate(rows) if other.id < row.id), row)

    async def _older(self) -> None:
        last = self.model.rows[-1].id
        rows = await audit.page(self._session.station.database, last, PAGE, self.search.text())
        self.model.append(rows)
        self._complete = len(rows) < PAGE or len(self.model.rows) >= KEPT
        self._say()

    def _say(self) -> None:
        shown = len(self.model.rows)
        self.count.show_text(f"{shown} shown" if self._complete else f"newest {shown}")
        self.table.empty = (
            f"Nothing contains “{self.search.text()}”." if self.search.text().strip() else EMPTY
        )
        self.table.viewport().update()
