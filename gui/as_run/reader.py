"""Reads the as-run log for the table: the start, the pages that are looked at, and what is new.

One reading at a time. What is asked for meanwhile is read right after it, for what is in sight by then: pages
that were scrolled past are not fetched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from PySide6.QtCore import QObject, QTimer, Signal

from core.playout import as_run_log
from core.playout.as_run_anchors import anchors
from core.playout.as_run_log import AsRunFilter
from core.playout.model import AsRunRow
from gui.as_run.pages import PAGE, Pages, key_of
from gui.as_run.rows import AsRunRows
from gui.session import Session

FLUSH = 80  # ms that changes are gathered before they are read
LONGEST_HEAD = 4 * PAGE  # beyond this it is read anew, so that what is held stays bounded
STEP = timedelta(microseconds=1)


class Reader(QObject):
    shown = Signal()  # the log was read from its start
    added = Signal(int)  # rows that came on top

    def __init__(
        self, session: Session, model: AsRunRows, sight: Callable[[], tuple[int, int]], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._model = model
        self._sight = sight
        self._pages: Pages = model.pages
        self._filter = AsRunFilter()
        self._task: asyncio.Task[None] | None = None
        self._fresh, self._news, self._look = True, False, False
        self.today = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(FLUSH)
        self._timer.timeout.connect(self._read)

    @property
    def filter(self) -> AsRunFilter:
        return self._filter

    @property
    def busy(self) -> bool:
        return self._task is not None or self._timer.isActive()

    def restart(self, filter: AsRunFilter) -> None:
        self._filter, self._fresh = filter, True
        self._read()

    def news(self) -> None:
        """Something was written; it is read within the flush interval."""
        self._news = True
        if not self._timer.isActive():
            self._timer.start()

    def look(self) -> None:
        """The view moved: what it shows and is not held is fetched."""
        self._look = True
        if not self._timer.isActive():
            self._timer.start(15)

    def _read(self) -> None:
        if self._task is None and (self._fresh or self._news or self._look) and not self._session.closed:
            self._task = self._session.attempt(self._step, "as-run log")
            self._task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and task.exception() is None and not self._session.stale:
            self._read()

    async def _step(self) -> None:
        if self._fresh:
            self._fresh = self._news = False
            self._look = True
            await self._start()
        elif self._news:
            self._news = False
            await self._newer()
        elif self._look:
            self._look = False
            await self._fill()

    async def _start(self) -> None:
        wanted = self._filter
        midnight = self._session.local(self._session.now()).replace(hour=0, minute=0, second=0, microsecond=0)
        async with (
            self._session.station.database.acquire() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            head = await as_run_log.page(connection, wanted, None, PAGE)
            if wanted != self._filter:
                return
            # The newest rows at once; how many there are below them takes longer to count in a long log.
            self._model.start(head, len(head))
            total = await as_run_log.count(connection, wanted) if len(head) == PAGE else len(head)
            self.today = await as_run_log.count(connection, replace(AsRunFilter(), since=midnight))
        if wanted == self._filter:
            self._model.grow(total)
            self.shown.emit()

    async def _newer(self) -> None:
        """The newest page again: what came is put in, what closed is replaced."""
        wanted = self._filter
        async with self._session.station.database.acquire() as connection:
            found = await as_run_log.page(connection, wanted, None, PAGE)
            closed = await self._closed(connection, found)
        if wanted != self._filter or self._fresh:
            return
        pages = self._pages
        detached = bool(found) and bool(pages.head) and key_of(found[-1]) > key_of(pages.head[0])
        if detached or len(pages.head) > LONGEST_HEAD or not pages.head:
            self._fresh = True  # more came than a page holds, or too much is held: from the start
            return
        for row in closed:
            self._model.update_row(row)
        came = self._model.merge(found)
        if came is None:
            self._fresh = True
        elif came:
            self.today += came
            self.added.emit(came)

    async def _closed(self, connection: object, found: list[AsRunRow]) -> list[AsRunRow]:
        """Rows shown as on air, too far down for the newest page, that are on air no longer."""
        ids = {row.id for row in found}
        on_air = {row.id for row in self._session.model.on_air.values()}
        rows: list[AsRunRow] = []
        for _, row in self._pages.open_rows():
            if row.id not in ids and row.id not in on_air:
                after = (row.started_at, row.id + 1)
                rows += await as_run_log.page(connection, self._filter, after, 1)  # type: ignore[arg-type]
        return rows

    async def _fill(self) -> None:
        pages, wanted = self._pages, self._filter
        missing = pages.missing(*self._sight())
        if not missing:
            return
        number = missing[0]
        async with self._session.station.database.acquire() as connection:
            if pages.begins(number) is None and (first := pages.begins(0)) is not None:
                pages.learn(await anchors(connection, wanted, first, PAGE))
            before = pages.begins(number)
            rows = [] if before is None else await as_run_log.page(connection, wanted, before, PAGE)
        if wanted != self._filter or self._fresh:
            return
        if not rows:
            self._fresh = True  # the log is shorter than it was thought to be
            return
        self._model.put(number, rows)
        self._look = True  # perhaps the next page is in sight as well
