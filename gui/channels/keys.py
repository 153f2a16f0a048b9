"""What the keyboard and the command palette do with the selected channel: what its buttons do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gui.actions import Actions
from gui.channels.deeds import KINDS

if TYPE_CHECKING:
    from gui.channels.wall import ChannelWall
    from gui.session import Session


def add_actions(wall: ChannelWall, actions: Actions) -> None:
    def deed(kind: str) -> Callable[[], None]:
        def run() -> None:
            if (tile := wall.selected_tile()) is not None:
                wall.reveal(tile.channel.id)
                tile.controls.press(kind)

        return run

    def nodes() -> None:
        if (tile := wall.selected_tile()) is not None:
            wall.reveal(tile.channel.id)
            tile.controls.open_nodes()

    def playlist() -> None:
        if wall.selected is not None:
            wall.opened.emit(wall.selected)

    def add(id: str, title: str, run: Callable[[], None], shortcut: str) -> None:
        actions.add(f"channels.{id}", title, "Channels", run, shortcut)

    add("go", "Go to Channels", wall.area.setFocus, "Alt+8")
    add("start", "Start the selected channel", deed("start"), "Shift+P")
    add("stop", "Take the selected channel off air (two steps)", deed("stop"), "Shift+O")
    add("failover", "Fail it over to the best node (two steps)", deed("failover"), "Shift+F")
    add("failover_to", "Fail it over to a node", nodes, "Ctrl+Alt+F")
    add("skip", "Skip to its next clip (two steps)", deed("skip"), "Shift+N")
    add("playlist", "Open the playlist of the selected channel", playlist, "Shift+L")
    add("compact", "Show the channels as strips, or as tiles", wall.swap, "F4")
    actions.bind(wall.expand, "channels.compact", "Show the tiles again")


def allow(wall: ChannelWall, actions: Actions, session: Session) -> None:
    if "channels.start" not in actions:
        return  # the wall is still being built
    channel = None if wall.selected is None else session.model.channels.get(wall.selected)
    for kind in KINDS:
        why = "There is no channel." if channel is None else wall.deeds.why_not(kind, channel)
        actions.allow(f"channels.{kind}", why)
        if kind == "failover":
            actions.allow("channels.failover_to", why)
    actions.allow("channels.playlist", "There is no channel." if channel is None else None)
