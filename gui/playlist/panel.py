"""The playlist panel: the clips of one channel in their order, and what can be done with them.

Every edit is a command; the table shows what the database says, never what was hoped for. The clip on air
is not dropped by any of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import PurePath
from typing import Any

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from core.commands import Command
from core.playout.commands import add_item, move_items, remove_items, set_looping
from core.playout.model import Channel, Item
from gui import fonts
from gui.actions import Actions
from gui.channels.state import length_of
from gui.freshness import Freshness
from gui.parts import Button, Label, Surface, Toolbar
from gui.playlist.form import Clip, ClipForm
from gui.playlist.points import point
from gui.playlist.table import PlaylistRows, PlaylistTable
from gui.recorders.buttons import MarkButton
from gui.session import Session
from gui.table import Cell, Column
from gui.words import clock, plural

NO_CHANNEL = "There are no channels yet. A channel is entered into the table playout_channels."
EMPTY = "This playlist is empty. Press Add clip, choose a recording or a file, and it stands here."
WAITING = "Waiting for the answer to what was asked last."


@dataclass(frozen=True)
class Line:
    """A row of the table: an item, and when it is expected on air."""

    number: int
    item: Item
    on_air: bool
    starts: datetime | None
    length: float | None


class PlaylistPanel(Surface):
    def __init__(self, session: Session, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__("panel", parent)
        self.setAccessibleName("Playlist")
        self._session = session
        self._actions = actions
        self.model = PlaylistRows(self._columns(), lambda line: line.item.id, self._tip, self)
        self.table = PlaylistTable(self.model, "Playlist", NO_CHANNEL, self.why_not_edit)
        self.form = ClipForm(session)
        self.setFocusProxy(self.table)
        self._build()
        self._add_actions()
        self._connect()
        self._show_channels()
        self.refresh()

    def _build(self) -> None:
        self.channel = QComboBox()
        self.channel.setFont(fonts.text(13, 600))
        self.channel.setFixedSize(132, 28)
        self.channel.setAccessibleName("Channel")
        self.channel.setToolTip("Whose playlist is shown")
        self.loop = Button("Loop")
        self.loop.setCheckable(True)
        self.summary = Label("", fonts.figures(12), "second", elide=True)
        self.remove = Button("Remove", key="Del")
        self.add = MarkButton("Add clip", "plus")
        toolbar = Toolbar()
        toolbar.add(self.channel, self.loop)
        toolbar.row.addWidget(self.summary, 100)
        toolbar.stretch()
        toolbar.add(Freshness(self._session), self.remove, self.add)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(toolbar)
        column.addWidget(self.form)
        column.addWidget(self.table, 1)

    def _add_actions(self) -> None:
        add = self._actions.add
        add("playlist.add", "Add a clip to the playlist", "Playlist", self.open_form, "Ctrl+Shift+N")
        add("playlist.loop", "Loop the playlist, or play it once", "Playlist", self._toggle_loop, "Ctrl+L")
        add("playlist.remove", "Remove the selected clips", "Playlist", self._remove_chosen)
        add("playlist.up", "Move the selected clips up", "Playlist", partial(self.nudge, -1), "Ctrl+Shift+Up")
        add(
            "playlist.down",
            "Move the selected clips down",
            "Playlist",
            partial(self.nudge, 1),
            "Ctrl+Shift+Down",
        )
        self._actions.bind(self.add, "playlist.add")
        self._actions.bind(self.loop, "playlist.loop")
        self._actions.bind(self.remove, "playlist.remove", "Remove the selected clips (Del)")

    def _connect(self) -> None:
        session = self._session
        session.bridge.changed.connect(self._changed)
        session.bridge.stale_changed.connect(self.table.set_old)
        session.pending_changed.connect(self._allow)
        session.abilities_changed.connect(self._allow)
        session.ticker.second.connect(self._second)
        self.channel.currentIndexChanged.connect(lambda _: self.refresh())
        self.table.moved.connect(self.move_items)
        self.table.removed.connect(self.remove_items)
        self.table.nudged.connect(self.nudge)
        self.table.selectionModel().selectionChanged.connect(lambda *_: self._allow())
        self.form.added.connect(self.add_clip)
        self.form.closed.connect(self.table.setFocus)

    # What is shown

    def show_channel(self, id: int | None) -> None:
        at = self.channel.findData(id)
        if at >= 0:
            self.channel.setCurrentIndex(at)

    @property
    def current(self) -> Channel | None:
        id = self.channel.currentData()
        return None if id is None else self._session.model.channels.get(id)

    def _columns(self) -> list[Column]:
        def tone(line: Line) -> str:
            return "t1" if line.on_air or line.starts is not None else "t2"

        def clip(line: Line) -> Cell:
            glyph = "on-air" if line.on_air else ""
            return Cell(
                line.item.clip_name, tone(line), bold=line.on_air, glyph=glyph, glyph_tone="live_line"
            )

        def duration(line: Line) -> Cell:
            return Cell("–" if line.length is None else clock(line.length), tone(line), mono=True)

        def starts(line: Line) -> Cell:
            if line.on_air:
                return Cell("ON AIR", bold=True)
            at = "" if line.starts is None else f"{self._session.local(line.starts):%H:%M:%S}"
            return Cell(at, "t2", mono=True)

        return [
            Column("#", 44, lambda line: Cell(str(line.number), "t2", figures=True)),
            Column("Clip", 120, clip, share=3),
            Column("In", 80, lambda line: Cell(point(line.item.in_s), "t2", mono=True), drop=2),
            Column("Duration", 88, duration),
            Column("Expected", 84, starts),
            Column("Source", 100, self._source, share=2, drop=1),
        ]  # fmt: skip

    def _source(self, line: Line) -> Cell:
        if line.item.asset_id is not None:
            return Cell("Recording", "t2")
        return Cell(PurePath(line.item.path).name, "t2")

    def _tip(self, line: Line) -> str:
        return f"{line.item.clip_name}\n{line.item.path}\nDrag, or Alt with an arrow key, moves it."

    def lines(self) -> list[Line]:
        channel = self.current
        if channel is None:
            return []
        model = self._session.model
        items = sorted(
            (i for i in model.items.values() if i.channel_id == channel.id), key=lambda i: (i.position, i.id)
        )
        run = model.on_air.get(channel.id) if channel.on_air else None
        here = next((n for n, i in enumerate(items) if run is not None and i.id == run.item_id), None)
        made: dict[int, Line] = {}
        at: datetime | None = None if run is None or here is None else run.started_at
        # From the item on air to the end, and, when it loops, on from the first: until a length is not known.
        order = [] if here is None else [*range(here, len(items)), *(range(here) if channel.looping else ())]
        for n in [*order, *(n for n in range(len(items)) if n not in set(order))]:
            item = items[n]
            asset = None if item.asset_id is None else model.assets.get(item.asset_id)
            length = length_of(item, asset)
            made[n] = Line(n + 1, item, n == here, at if n in order else None, length)
            at = None if at is None or length is None else at + timedelta(seconds=length)
        return [made[n] for n in range(len(items))]

    def refresh(self) -> None:
        lines, channel = self.lines(), self.current
        self.model.show(lines)
        self.table.empty = EMPTY if channel is not None else NO_CHANNEL
        self.table.viewport().update()
        known = [line.length for line in lines if line.length is not None]
        total = f" · {clock(sum(known))}" if known else ""
        unknown = f" · {len(lines) - len(known)} of unknown length" if len(known) < len(lines) else ""
        self.summary.show_text(f"{plural(len(lines), 'clip')}{total}{unknown}" if channel is not None else "")
        self.loop.setChecked(channel is not None and channel.looping)
        self._allow()

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        if changes.keys() & {"playout_channels", "plant"}:
            self._show_channels()
        if changes.keys() & {"playout_items", "playout_as_run", "plant"}:
            self.refresh()
        elif self.channel.currentData() in changes.get("playout_channels", ()):
            channel = self.current
            self.loop.setChecked(channel is not None and channel.looping)

    def _second(self) -> None:
        # A clip that runs over moves what is expected after it; a channel that went off air expects nothing.
        if self.isVisible() and self._session.ticker.whole_second % 5 == 0:
            self.refresh()

    def _show_channels(self) -> None:
        channels = sorted(self._session.model.channels.values(), key=lambda c: (c.position, c.name, c.id))
        wanted = [(f"{c.name} {c.title}".strip(), c.id) for c in channels]
        there = [(self.channel.itemText(i), self.channel.itemData(i)) for i in range(self.channel.count())]
        if wanted != there:
            chosen = self.channel.currentData()
            self.channel.blockSignals(True)
            self.channel.clear()
            for name, id in wanted:
                self.channel.addItem(name, id)
            self.channel.setCurrentIndex(max(0, self.channel.findData(chosen)) if wanted else -1)
            self.channel.blockSignals(False)
            self.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.summary.setVisible(self.width() >= 560)

    # What can be done

    def why_not_edit(self) -> str | None:
        if self.current is None:
            return "There is no channel."
        waits = self._session.is_pending(("playlist", self.current.id))
        return self._session.why_not(move_items) or (WAITING if waits else None)

    def _allow(self) -> None:
        why = self.why_not_edit()
        none = None if self.table.chosen_items() else "Select a clip first."
        allow = self._actions.allow
        allow("playlist.add", why)
        allow("playlist.loop", why)
        for id in ("remove", "up", "down"):
            allow(f"playlist.{id}", why or none)

    def open_form(self) -> None:
        self.form.open()

    def add_clip(self, clip: Clip) -> None:
        """Before the selected clip, or at the end."""
        channel = self.current
        if channel is None or (why := self.why_not_edit()) is not None:
            self.form.refuse(why if channel is not None and why else "There is no channel.")
            return
        chosen = self.table.chosen_items()
        before = chosen[0].id if chosen else None
        options = {
            "asset_id": clip.asset_id,
            "in_s": clip.in_s,
            "duration_s": clip.duration_s,
            "before_id": before,
        }
        self._do(channel, add_item, clip.name, clip.path, options=options)
        self.form.clear()

    def move_items(self, ids: list[int], before: int | None) -> None:
        if (channel := self.current) is not None and self.why_not_edit() is None:
            self._do(channel, move_items, ids, before)

    def remove_items(self, ids: list[int]) -> None:
        if ids and (channel := self.current) is not None and self.why_not_edit() is None:
            self._do(channel, remove_items, ids)

    def _remove_chosen(self) -> None:
        self.remove_items([item.id for item in self.table.chosen_items()])

    def nudge(self, step: int) -> None:
        """One up or down, together."""
        ids = [item.id for item in self.table.chosen_items()]
        rows = [line.item.id for line in self.model.rows]
        if ids:
            first, last = rows.index(ids[0]), rows.index(ids[-1])
            self.table.move_to(ids, max(0, first - 1) if step < 0 else min(len(rows), last + 2))

    def _toggle_loop(self) -> None:
        channel = self.current
        if channel is not None and self.why_not_edit() is None:
            self._do(channel, set_looping, not channel.looping)
        self.loop.setChecked(
            channel is not None and channel.looping
        )  # what is, until the feed says otherwise

    def _do(
        self,
        channel: Channel,
        command: Command[..., Any],
        *args: Any,
        options: dict[str, Any] | None = None,
    ) -> None:
        id, version, channels = channel.id, channel.playlist_version, self._session.model.channels
        self._session.do(
            command, id, *args, keys=(("playlist", id),), options=options,
            until=lambda: id not in channels or channels[id].playlist_version != version,
        )  # fmt: skip
