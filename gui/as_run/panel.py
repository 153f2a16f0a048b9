"""The as-run panel: live, newest on top; it follows until it is scrolled. Filter, export, verify."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QModelIndex, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QFileDialog, QMenu, QVBoxLayout, QWidget

from core.playout.model import Channel
from gui import fonts
from gui.actions import Actions
from gui.as_run import filters
from gui.as_run.against import AgainstPlan
from gui.as_run.columns import DURATION, columns, tip
from gui.as_run.reader import Reader
from gui.as_run.rows import AsRunRows
from gui.as_run.work import ENDINGS, FORMATS, WorkStrip
from gui.freshness import Freshness
from gui.parts import Button, Label, SearchField, Surface, Toolbar
from gui.session import Session
from gui.table import Table
from gui.table.view import ROW_HEIGHT

EMPTY = "Nothing has gone to air yet. Give a channel a playlist and start it: what it plays is logged here."
NO_MATCH = "Nothing in the log matches. Widen the filter, or press Esc in the search field."


class AsRunPanel(Surface):
    def __init__(self, session: Session, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__("panel", parent)
        self.setAccessibleName("As-run log")
        self._session = session
        self._actions = actions
        self._newer = 0  # rows that came above what is looked at
        self.model = AsRunRows(columns(session), partial(tip, session), self)
        self.table = Table(self.model, "As-run log", EMPTY)
        self.reader = Reader(session, self.model, self._in_sight, self)
        self.work = WorkStrip(session)
        self.against = AgainstPlan(session)
        self.setFocusProxy(self.table)
        self._build()
        self._add_actions()
        self._connect()
        self._show_channels()
        self.apply()

    def _build(self) -> None:
        self.search = SearchField("Filter clip")
        self.search.setMinimumWidth(90)
        self.search.setMaximumWidth(240)
        self.channel = self._combo("Channel", 116)
        self.result = self._combo("Result", 104)
        for key, words in filters.RESULT_CHOICES.items():
            self.result.addItem(words, key)
        self.time = self._combo("Time", 98)
        for choice, words in filters.TIMES.items():
            self.time.addItem(words, choice)
        self.count = Label("", fonts.figures(12), "second")
        self.top = Button("")
        self.top.setToolTip("Show the newest row and follow again (Home)")
        self.top.hide()
        self.freshness = Freshness(self._session)
        self.plan_button = Button("Plan")
        self.verify_button = Button("Verify")
        self.export_button = Button("Export", glyph="export")
        self.toolbar = toolbar = Toolbar()
        toolbar.row.addWidget(self.search, 100)
        toolbar.add(self.channel, self.result, self.time)
        toolbar.stretch()
        toolbar.add(
            self.freshness, self.count, self.top, self.plan_button, self.verify_button, self.export_button
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(toolbar)
        column.addWidget(self.work)
        column.addWidget(self.table, 1)
        column.addWidget(self.against, 1)
        self.against.hide()

    def _combo(self, name: str, width: int) -> QComboBox:
        combo = QComboBox()
        combo.setAccessibleName(name)
        combo.setToolTip(f"Filter by {name.lower()}")
        combo.setFont(fonts.text(13))
        combo.setFixedSize(width, 28)
        return combo

    def _add_actions(self) -> None:
        add = self._actions.add
        add("as_run.search", "Filter the as-run log", "As-run", self._focus_search, "Ctrl+F")
        add("as_run.top", "Follow the newest as-run row", "As-run", self.follow, "Ctrl+Home")
        add("as_run.export", "Export the as-run log as filtered", "As-run", self._export_menu, "Ctrl+Shift+E")
        add("as_run.verify", "Verify the as-run log", "As-run", self.verify, "Ctrl+Shift+V")
        add("as_run.plan", "As-run: planned against actual, or the log", "As-run", self.swap, "Ctrl+Shift+P")
        self._actions.bind(self.plan_button, "as_run.plan", "A day of a channel, planned against actual")
        self.search.setToolTip("Filter the as-run log (Ctrl+F)")
        self._actions.bind(self.export_button, "as_run.export", "Export what is filtered")
        self._actions.bind(self.verify_button, "as_run.verify", "Check the chain of evidence")
        self._actions.bind(self.top, "as_run.top")

    def _connect(self) -> None:
        session = self._session
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(150)
        self._typing.timeout.connect(self.apply)
        self.search.textChanged.connect(lambda _: self._typing.start())
        for combo in (self.channel, self.result, self.time):
            combo.currentIndexChanged.connect(lambda _: self.apply())
        bar = self.table.verticalScrollBar()
        bar.valueChanged.connect(self._scrolled)
        self.model.rowsInserted.connect(self._inserted)
        self.model.modelReset.connect(self._allow)
        self.reader.shown.connect(self._say)
        self.reader.added.connect(lambda _: self._say())
        self.work.changed.connect(self._allow)
        self.against.closed.connect(self.swap)
        session.bridge.changed.connect(self._changed)
        session.bridge.stale_changed.connect(self._stale)
        session.ticker.second.connect(self._second)
        session.abilities_changed.connect(self._allow)
        self.table.set_old(session.stale)
        self._allow()

    # What is shown

    def apply(self) -> None:
        """Reads anew with what the fields say."""
        now = self._session.local(self._session.now())
        wanted = filters.made(
            self.channel.currentData(), self.result.currentData(), self.search.text(),
            self.time.currentData() or "all", now,
        )  # fmt: skip
        self._newer = 0
        self.table.empty = EMPTY if filters.is_all(wanted) else NO_MATCH
        self.reader.restart(wanted)
        self.table.scrollToTop()

    def swap(self) -> None:
        """The log, or a day of a channel planned against actual."""
        plan = self.against.isHidden()
        self.toolbar.setVisible(not plan)
        self.table.setVisible(not plan)
        if plan:
            self.against.open(self.channel.currentData())
        else:
            self.against.hide()
        (self.against.table if plan else self.table).setFocus()

    def follow(self) -> None:
        self._newer = 0
        self.table.scrollToTop()
        self._say()

    @property
    def following(self) -> bool:
        return self.table.verticalScrollBar().value() < ROW_HEIGHT

    def _in_sight(self) -> tuple[int, int]:
        top = self.table.verticalScrollBar().value()
        first = top // ROW_HEIGHT
        shown = self.table.viewport().height() // ROW_HEIGHT + 1
        return max(0, first - 10), first + shown + 10

    def _scrolled(self) -> None:
        if self.following and self._newer:
            self._newer = 0
            self._say()
        if self.model.pages.missing(*self._in_sight()):
            self.reader.look()

    def _inserted(self, _parent: QModelIndex, first: int, last: int) -> None:
        bar = self.table.verticalScrollBar()
        if not self.following and first * ROW_HEIGHT <= bar.value():
            # What is looked at stays where it is.
            self._newer += last - first + 1
            self.table.updateGeometries()
            bar.setValue(bar.value() + (last - first + 1) * ROW_HEIGHT)

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        if "playout_as_run" in changes:
            self.reader.news()
        if changes.keys() & {"playout_channels", "plant"}:
            self._show_channels()

    def _second(self) -> None:
        if self.table.isVisible() and not self._session.stale:
            self.model.tick(DURATION)

    def _stale(self, stale: bool) -> None:
        self.table.set_old(stale)
        if not stale:
            self.apply()

    def _show_channels(self) -> None:
        wanted: list[tuple[str, int | None]] = [("All channels", None)]
        wanted += [(c.name, c.id) for c in self._channels()]
        there = [(self.channel.itemText(i), self.channel.itemData(i)) for i in range(self.channel.count())]
        if wanted != there:
            chosen = self.channel.currentData()
            self.channel.blockSignals(True)
            self.channel.clear()
            for name, id in wanted:
                self.channel.addItem(name, id)
            self.channel.setCurrentIndex(max(0, self.channel.findData(chosen)))
            self.channel.blockSignals(False)
            self._allow()

    def _channels(self) -> list[Channel]:
        return sorted(self._session.model.channels.values(), key=lambda c: (c.position, c.name, c.id))

    def _say(self) -> None:
        total = len(self.model.pages)
        plain = filters.is_all(self.reader.filter)
        words = f"Live · {self.reader.today:,} today" if plain else f"{total:,} found"
        self.count.show_text(words)
        self.top.setVisible(self._newer > 0)
        self.top.show_text(f"{self._newer:,} newer")
        self._allow()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = self.width()
        self.count.setVisible(wide >= 760)
        self.time.setVisible(wide >= 640)
        self.verify_button.setVisible(wide >= 540)
        self.plan_button.setVisible(wide >= 600)

    def _focus_search(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    # Export and verify

    def _allow(self) -> None:
        stale = "Needs the database, which does not answer." if self._session.stale else None
        busy = "The work under way comes first: see the line above the table." if self.work.busy else None
        nothing = None if len(self.model.pages) else "There is nothing to export."
        self._actions.allow("as_run.export", stale or busy or nothing)
        none = None if self._session.model.channels else "There is no channel."
        self._actions.allow("as_run.verify", stale or busy or none)

    def _export_menu(self) -> None:
        menu = QMenu(self)
        menu.setAccessibleName("Export as")
        for format, name in FORMATS.items():
            menu.addAction(name).triggered.connect(partial(self._ask_path, format))
        menu.popup(self.export_button.mapToGlobal(self.export_button.rect().bottomLeft()))
        menu.aboutToHide.connect(menu.deleteLater)

    def _ask_path(self, format: str) -> None:
        now = self._session.local(self._session.now())
        dialog = QFileDialog(self, f"Export as {FORMATS[format]}", str(Path.home()))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(ENDINGS[format])
        dialog.selectFile(f"as-run {now:%Y-%m-%d}.{ENDINGS[format]}")
        dialog.fileSelected.connect(lambda path: self.export(format, Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def export(self, format: str, path: Path) -> None:
        self.work.export(self.reader.filter, format, path, len(self.model.pages))

    def verify(self) -> None:
        """The channel that is filtered, or all of them."""
        chosen = self.channel.currentData()
        self.work.verify([c for c in self._channels() if chosen is None or c.id == chosen])
