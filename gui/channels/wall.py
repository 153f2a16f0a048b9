"""The channel wall: a header, and a tile for each channel in their order; one tile armed at a time.

It scrolls when there are more tiles than fit, and becomes strips while something else needs the column.
"""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.clock import steady
from core.playout.model import Channel
from gui import fonts
from gui.actions import Actions
from gui.channels import keys, tile_paint
from gui.channels.area import Tiles
from gui.channels.deeds import Deeds
from gui.channels.facts import FactFinder
from gui.channels.pictures import ChannelPictures
from gui.channels.state import look
from gui.channels.tile import Tile
from gui.glyphs import Glyph
from gui.parts import Button, Label, Surface, Toolbar
from gui.recorders.guard import Guard
from gui.session import Session
from gui.theme import theme

GAP = 4
HEADER = 36
WHOLE = (1 << 24) - 1  # no limit, as Qt says it
STRIPS = 4  # that are in sight beside an inspector; the others are scrolled to
REFUSAL_FOR = 10.0  # seconds that a refusal stays in its tile
TWO_STEPS = "Stop, Failover and Skip need two steps"
LOCKED = "Overrides need the database"


class ChannelWall(Surface):
    opened = Signal(int)  # a channel whose playlist is asked for
    chosen = Signal(object)  # id of the selected channel, or None

    def __init__(self, session: Session, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__("gap", parent)
        self.setAccessibleName("Channel wall")
        self._session = session
        self._actions = actions
        self._order: list[int] = []
        self._refusals: dict[int, tuple[str, float]] = {}
        self._strips = self._wanted_strips = False
        self._by_hand: bool | None = None  # what F4 asked for, until the reason for strips changes
        self.selected: int | None = None
        self.tiles: dict[int, Tile] = {}
        self.facts = FactFinder(session)
        self.guard = Guard(self)
        self.deeds = Deeds(session, self)
        self._build()
        self.pictures = ChannelPictures(session, self._to_picture, self.devicePixelRatioF)
        keys.add_actions(self, actions)
        self._connect()
        self.arrange()

    def _build(self) -> None:
        self.title = Label("Channels", fonts.text(13, 600))
        self.lock = Glyph("lock", "t2", 12)
        self.hint = Label(TWO_STEPS, fonts.text(12), "second", elide=True)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.expand = Button("Expand", key="F4")
        bar = Toolbar(surface="bar")
        bar.add(self.title)
        bar.row.addWidget(self.lock)
        bar.row.addWidget(self.hint, 1)
        bar.add(self.expand)
        self.area = Tiles(self)
        self.setFocusProxy(self.area)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(bar)
        column.addWidget(self.area, 1)
        # Only while something is armed: otherwise these keys belong to whoever has the focus.
        self._armed_keys = [
            self._armed_key("Esc", self.guard.disarm),
            self._armed_key("Ctrl+Return", self._fire),
            self._armed_key("Ctrl+Enter", self._fire),
        ]

    def _armed_key(self, keys: str, run: object) -> QShortcut:
        shortcut = QShortcut(QKeySequence(keys), self)
        shortcut.setContext(Qt.ShortcutContext.WindowShortcut)
        shortcut.setEnabled(False)
        shortcut.activated.connect(run)
        return shortcut

    def _connect(self) -> None:
        session = self._session
        session.bridge.changed.connect(self._changed)
        session.alarms_changed.connect(self._alarms_changed)
        session.pending_changed.connect(self.refresh)
        session.abilities_changed.connect(self._abilities)
        session.bridge.stale_changed.connect(lambda _: self._repaint())
        session.ticker.second.connect(self._second)
        session.ticker.flash.connect(lambda _: self._flash())
        session.ticker.frame.connect(self._frame)
        self.guard.changed.connect(self._guard_changed)
        self.deeds.refused.connect(self._refused)
        self.pictures.arrived.connect(self._picture_arrived)
        self.area.verticalScrollBar().valueChanged.connect(lambda _: self.refresh())
        theme.changed.connect(self._repaint)

    # Public

    def set_compact(self, compact: bool) -> None:
        """Strips of 56 px while something else, such as an inspector, stands in the column."""
        self._wanted_strips, self._by_hand = compact, None
        self._show_strips()

    @property
    def is_compact(self) -> bool:
        return self._strips

    def strips_height(self) -> int:
        """What the wall takes of a shared column: its header and a strip for each channel, four at the most."""
        return HEADER + min(max(len(self._order), 1), STRIPS) * tile_paint.STRIP

    def go_to(self, channel_id: int) -> None:
        self.select(channel_id)
        self.reveal(channel_id)
        self.area.setFocus()

    # Which tiles there are, and where

    def arrange(self) -> None:
        channels = self._session.model.channels
        for id in [i for i in self.tiles if i not in channels]:
            self.tiles.pop(id).deleteLater()
        ordered = sorted(channels.values(), key=lambda c: (c.position, c.name, c.id))
        self._order = [c.id for c in ordered]
        for channel in ordered:
            if channel.id not in self.tiles:
                tile = self.tiles[channel.id] = Tile(
                    channel, self._session, self.deeds, self.guard, self._actions, self.pictures, self.area.ground
                )  # fmt: skip
                tile.set_compact(self._strips)
                tile.pressed.connect(self._pressed)
                tile.touched.connect(self.select)
                tile.opened.connect(self.opened)
                tile.acted.connect(self._acted)
                tile.show()
        self.area.ground.empty = not ordered
        self.area.ground.update()
        if self.selected not in channels:
            self.select(self._order[0] if self._order else None)
        self._share_column()
        self._show_hint()
        self.place()

    def place(self) -> None:
        each = tile_paint.STRIP if self._strips else tile_paint.HEIGHT + GAP
        gap = 1 if self._strips else GAP
        height = max(len(self._order) * each - gap, self.area.viewport().height())
        width = self.area.viewport().width()
        self.area.ground.resize(width, height)
        for number, id in enumerate(self._order):
            tile = self.tiles[id]
            tile.setGeometry(0, number * each, tile_paint.WIDTH, each - gap)
        self.refresh()

    def in_sight(self) -> list[int]:
        top = self.area.verticalScrollBar().value()
        bottom = top + self.area.viewport().height()
        return [
            i for i in self._order if self.tiles[i].y() < bottom and self.tiles[i].geometry().bottom() >= top
        ]

    def reveal(self, id: int) -> None:
        if id in self.tiles:
            tile = self.tiles[id]
            self.area.ensureVisible(0, tile.y() + tile.height() - 1, 0, 0)
            self.area.ensureVisible(0, tile.y(), 0, 0)

    def swap(self) -> None:
        self._by_hand = not self._strips
        self._show_strips()

    def _show_strips(self) -> None:
        strips = self._wanted_strips if self._by_hand is None else self._by_hand
        if strips != self._strips:
            self._strips = strips
            for tile in self.tiles.values():
                tile.set_compact(strips)
            self.place()
        self._share_column()
        self._show_hint()

    def _share_column(self) -> None:
        """Beside an inspector the wall is as high as its strips; alone, or expanded by hand, it takes what there is."""
        shared = self._strips and self._wanted_strips
        self.setMaximumHeight(self.strips_height() if shared else WHOLE)
        self.setMinimumHeight(self.strips_height() if shared else 0)

    def _show_hint(self) -> None:
        self.expand.setVisible(self._strips)
        self.lock.setVisible(self._session.stale)
        compact = "Compact while editing" if self._wanted_strips else "Compact"
        words = LOCKED if self._session.stale else compact if self._strips else TWO_STEPS
        self.hint.show_text("" if not self._order else words)

    # What they say

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        now = self._session.now()
        if "playout_items" in changes:
            self.facts.forget_playlists()
        if "playout_channels" in changes or "plant" in changes:
            channels = self._session.model.channels
            if channels.keys() != self.tiles.keys() or self._order_changed():
                self.arrange()
            for id in changes.get("playout_channels", frozenset()) & self.tiles.keys():
                if self.tiles[id].beats.note(channels[id], now):
                    self.tiles[id].update_beats()
        if changes.keys() & {"playout_channels", "playout_items", "playout_as_run", "nodes", "plant"}:
            self.refresh()

    def _order_changed(self) -> bool:
        channels = self._session.model.channels.values()
        return [c.id for c in sorted(channels, key=lambda c: (c.position, c.name, c.id))] != self._order

    def refresh(self, only: Iterable[int] | None = None) -> None:
        """Works out the tiles in sight anew; those that say something else are painted."""
        wanted = None if only is None else set(only)
        for id in self.in_sight():
            channel = self._session.model.channels.get(id)
            if channel is not None and (wanted is None or id in wanted):
                tile = self.tiles[id]
                facts = self.facts.of(channel, self.deeds.asked(id), self._refusal(id))
                tile.show_look(
                    channel,
                    look(facts, self._session.shown_now(), self._session.local, tile.beats.missed),
                )
                tile.show_controls()
        self._allow()

    def _second(self) -> None:
        now = self._session.now()
        for id, tile in self.tiles.items():
            channel = self._session.model.channels.get(id)
            if channel is not None and channel.on_air and not self._session.stale:
                tile.beats.second(channel, now)
                tile.update_beats()
        self.refresh()

    def _alarms_changed(self) -> None:
        self.facts.sort_alarms()
        self.refresh()

    def _abilities(self) -> None:
        self._show_hint()
        self.refresh()

    def _refused(self, channel: int, why: str) -> None:
        self._refusals[channel] = (why, steady())
        self.refresh([channel])

    def _refusal(self, channel: int) -> str:
        why, at = self._refusals.get(channel, ("", 0.0))
        return why if why and steady() - at <= REFUSAL_FOR else ""

    def _acted(self, channel: int) -> None:
        self._refusals.pop(channel, None)
        self.refresh([channel])

    def _flash(self) -> None:
        for id in self.in_sight():
            self.tiles[id].update_lamp()

    def _repaint(self) -> None:
        self._show_hint()
        for tile in self.tiles.values():
            tile.update()
        self.area.ground.update()

    # Two steps

    def _frame(self) -> None:
        if self.guard.armed is not None:
            self.guard.look()
            for tile in self.tiles.values():
                if tile.controls.armed is not None:
                    tile.controls.drain()

    def _guard_changed(self) -> None:
        for shortcut in self._armed_keys:
            shortcut.setEnabled(self.guard.armed is not None)
        for tile in self.tiles.values():
            tile.controls.refresh_guard()
            tile.show_controls()

    def _fire(self) -> None:
        for tile in self.tiles.values():
            tile.controls.fire()

    # Pictures

    def _to_picture(self) -> list[Channel]:
        if self.window().isMinimized() or self._session.closed or self._strips:
            return []
        found = []
        for id in self.in_sight():
            tile = self.tiles[id]
            tile.update_picture()  # its age, or that there is none any more
            if tile.channel.sidecar_url and tile.channel.on_air and not tile.visibleRegion().isEmpty():
                found.append(tile.channel)
        return found

    def _picture_arrived(self, channel: int) -> None:
        if channel in self.tiles:
            self.tiles[channel].update_picture()

    # Selection and keys

    def select(self, channel: int | None) -> None:
        if channel != self.selected:
            self.selected = channel
            self.chosen.emit(channel)
        self.show_selection()
        self._allow()

    def move_selection(self, step: int) -> None:
        if self._order:
            here = self._order.index(self.selected) if self.selected in self._order else -step
            there = self._order[min(max(here + step, 0), len(self._order) - 1)]
            self.select(there)
            self.reveal(there)

    def show_selection(self) -> None:
        for id, tile in self.tiles.items():
            tile.set_selected(id == self.selected, self.area.hasFocus())

    def _pressed(self, channel: int) -> None:
        self.select(channel)
        self.area.setFocus()

    def selected_tile(self) -> Tile | None:
        return None if self.selected is None else self.tiles.get(self.selected)

    def _allow(self) -> None:
        keys.allow(self, self._actions, self._session)
