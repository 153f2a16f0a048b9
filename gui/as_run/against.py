"""A day of a channel, planned against actual: what was to begin when, what began when, and the difference."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from datetime import datetime, timedelta

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from core.playout import as_run_log
from core.playout.as_run_log import AsRunFilter
from core.playout.model import AsRunRow, Channel, Item
from core.playout.planned import Line, against_plan
from gui import fonts
from gui.as_run.columns import result
from gui.channels.state import length_of
from gui.parts import Button, Label, Surface, Toolbar
from gui.session import Session
from gui.table import Cell, Column, Rows, Table
from gui.words import clock, plural

EMPTY = "Nothing went to air on this channel on this day. Choose another day or channel."
MOST = 20_000  # rows of a day; a clip every five seconds
NOTED = 1.0  # seconds from which a difference is worth a look


def difference(seconds: float | None) -> Cell:
    """+00:00:12 later or longer, −00:00:12 earlier or shorter; nothing within half a second."""
    if seconds is None:
        return Cell("")
    if abs(seconds) < 0.5:
        return Cell("0", "t3", mono=True)
    whole = round(abs(seconds))
    noted = abs(seconds) >= NOTED
    return Cell(
        f"{'+' if seconds > 0 else '−'}{clock(whole)}", "t1" if noted else "t3", mono=True, bold=noted
    )


class AgainstPlan(Surface):
    closed = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__("panel", parent)
        self.setAccessibleName("As-run, planned against actual")
        self._session = session
        self._back = 0  # days before today
        self._wanted = 0  # which reading is the newest
        self.model = Rows(self._columns(), self._key, parent=self)
        self.table = Table(self.model, "Planned against actual", EMPTY)
        self.setFocusProxy(self.table)
        self._build()
        self._news = QTimer(self)
        self._news.setSingleShot(True)
        self._news.setInterval(300)
        self._news.timeout.connect(self.read)
        session.bridge.changed.connect(self._changed)
        session.bridge.stale_changed.connect(self.table.set_old)

    def _build(self) -> None:
        self.log = Button("Log")
        self.log.setToolTip("Back to the as-run log (Ctrl+Shift+P)")
        self.channel = QComboBox()
        self.channel.setAccessibleName("Channel")
        self.channel.setToolTip("Whose day is shown")
        self.channel.setFont(fonts.text(13, 600))
        self.channel.setFixedSize(104, 28)
        self.earlier, self.later = Button("‹"), Button("›")
        self.earlier.setAccessibleName("The day before")
        self.later.setAccessibleName("The day after")
        self.earlier.setToolTip("The day before (Alt+Left)")
        self.later.setToolTip("The day after (Alt+Right)")
        self.earlier.setShortcut("Alt+Left")
        self.later.setShortcut("Alt+Right")
        self.day = Label("", fonts.figures(13, 600))
        self.summary = Label("", fonts.figures(12), "second", elide=True)
        toolbar = Toolbar()
        toolbar.add(self.log, self.channel, self.earlier, self.day, self.later)
        toolbar.row.addWidget(self.summary, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(toolbar)
        column.addWidget(self.table, 1)
        self.log.clicked.connect(self.closed)
        self.earlier.clicked.connect(lambda: self.step(1))
        self.later.clicked.connect(lambda: self.step(-1))
        self.channel.currentIndexChanged.connect(lambda _: self.read())

    def _columns(self) -> list[Column]:
        def tone(line: Line) -> str:
            return "t1" if line.row is not None and line.row.ended_at is None else "t2"

        def at(instant: datetime | None, token: str) -> Cell:
            return Cell(
                "" if instant is None else f"{self._session.local(instant):%H:%M:%S}", token, mono=True
            )

        def lasted(line: Line) -> Cell:
            seconds = None if line.row is None else line.row.duration_s
            return Cell("" if seconds is None else clock(seconds + 0.5), tone(line), mono=True)

        def planned(line: Line) -> Cell:
            return Cell("" if line.planned_s is None else clock(line.planned_s + 0.5), "t2", mono=True)

        def state(line: Line) -> Cell:
            return (
                Cell("Coming", "t3", glyph="idle", glyph_tone="t3") if line.row is None else result(line.row)
            )

        return [
            Column("Planned", 92, lambda line: at(line.planned_at, "t2")),
            Column("Actual", 76, lambda line: at(line.row.started_at if line.row else None, tone(line))),
            Column("Late", 84, lambda line: difference(line.late_s)),
            Column("Clip", 100, lambda line: Cell(line.clip or "Unknown", tone(line)), share=1),
            Column("Planned", 76, planned, drop=2),
            Column("Lasted", 76, lasted, drop=1),
            Column("Over", 84, lambda line: difference(line.over_s), drop=1),
            Column("Result", 112, state),
        ]  # fmt: skip

    @staticmethod
    def _key(line: Line) -> Hashable:
        return line.row.id if line.row is not None else (line.planned_at, line.clip)

    # Which day of which channel

    def open(self, channel: int | None) -> None:
        self._show_channels()
        if channel is not None and (at := self.channel.findData(channel)) >= 0:
            self.channel.setCurrentIndex(at)
        self.show()
        self.read()

    def step(self, days: int) -> None:
        self._back = max(0, self._back + days)
        self.read()

    def bounds(self) -> tuple[datetime, datetime]:
        """The midnights of the plant's zone between which the day lies, of 23 or 25 hours where it is."""
        now = self._session.local(self._session.now())
        begin = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=self._back)
        return begin, begin + timedelta(days=1)

    def _current(self) -> Channel | None:
        id = self.channel.currentData()
        return None if id is None else self._session.model.channels.get(id)

    def _show_channels(self) -> None:
        channels = sorted(self._session.model.channels.values(), key=lambda c: (c.position, c.name, c.id))
        wanted = [(c.name, c.id) for c in channels]
        if wanted != [
            (self.channel.itemText(i), self.channel.itemData(i)) for i in range(self.channel.count())
        ]:
            chosen = self.channel.currentData()
            self.channel.blockSignals(True)
            self.channel.clear()
            for name, id in wanted:
                self.channel.addItem(name, id)
            self.channel.setCurrentIndex(max(0, self.channel.findData(chosen)) if wanted else -1)
            self.channel.blockSignals(False)

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        if self.isVisible() and changes.keys() & {"playout_as_run", "playout_items", "plant"}:
            self._show_channels()
            if not self._news.isActive():
                self._news.start()

    # Reading and showing

    def read(self) -> None:
        begin, _ = self.bounds()
        self.day.show_text("Today" if not self._back else f"{begin:%a} {begin.day} {begin:%b}")
        self.later.setEnabled(self._back > 0)
        if (channel := self._current()) is None or self._session.closed or not self.isVisible():
            return
        self._wanted += 1
        number, id = self._wanted, channel.id

        async def read() -> None:
            rows = await self._rows(id)
            if number == self._wanted and not self._session.closed:
                self._show(id, rows)

        _ = self._session.attempt(read, "as-run against plan")

    async def _rows(self, channel: int) -> list[AsRunRow]:
        since, until = self.bounds()
        wanted = replace(AsRunFilter(), channel_ids=(channel,), since=since, until=until)
        rows: list[AsRunRow] = []
        async with self._session.station.database.acquire() as connection:
            while len(rows) < MOST:
                before = (rows[-1].started_at, rows[-1].id) if rows else None
                page = await as_run_log.page(connection, wanted, before, as_run_log.PAGE)
                rows += page
                if len(page) < as_run_log.PAGE:
                    break
        return rows[::-1]

    def _show(self, id: int, rows: list[AsRunRow]) -> None:
        model = self._session.model
        items = [item for item in model.items.values() if item.channel_id == id]
        looping = id in model.channels and model.channels[id].looping

        def length(item: Item) -> float | None:
            return length_of(item, None if item.asset_id is None else model.assets.get(item.asset_id))

        lines = against_plan(rows, items, length, looping, self.bounds()[1])
        self.model.show(lines)
        aired = [line for line in lines if line.row is not None]
        off = sum(line.row.result != "played" for line in aired if line.row is not None)
        late = max((abs(line.late_s) for line in aired if line.late_s is not None), default=0.0)
        worst = f" · at most {clock(late + 0.5)} off" if late >= NOTED else " · on time" if aired else ""
        odd = f", {off} not as planned" if off else ""
        coming = f" · {plural(len(lines) - len(aired), 'clip')} to come" if len(lines) > len(aired) else ""
        self.summary.show_text(f"{len(aired)} aired{odd}{worst}{coming}")
