"""What an operator can do with a channel, the reason when it cannot be done, and what came of it.

Everything goes through the session and is pending until the feed shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from core.commands import Command
from core.playout.commands import fail_over, skip_item, start_channel, stop_channel
from core.playout.model import Channel
from core.recording.model import Node
from gui.channels.state import phase
from gui.session import Message, Session

KINDS = ("start", "stop", "failover", "skip")
COMMANDS: dict[str, Command[..., Any]] = {
    "start": start_channel,
    "stop": stop_channel,
    "failover": fail_over,
    "skip": skip_item,
}


class Deeds(QObject):
    refused = Signal(int, str)  # channel, why

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._asked: dict[Hashable, int] = {}
        self._let_go: int | None = None
        session.pending_changed.connect(self._pending_changed)
        session.message.connect(self._said)

    def asked(self, channel: int) -> str:
        return next((k for k in KINDS if self._session.is_pending(("channel", channel, k))), "")

    # Where it could run

    def nodes(self, channel: Channel) -> list[Node]:
        """Those that can take the channel over, the best first: capable, online, the least busy."""
        model = self._session.model
        busy = {
            n.id: sum(
                c.node_id == n.id and c.status in ("starting", "running") for c in model.channels.values()
            )
            for n in model.nodes.values()
        }
        able = [
            n
            for n in model.nodes.values()
            if n.id != channel.node_id and n.status == "online" and channel.output_type in n.capabilities
        ]
        return sorted(able, key=lambda n: (busy[n.id], n.name))

    # What is under way, by what was asked here or by what the row says was asked elsewhere

    def doing(self, kind: str, channel: Channel) -> bool:
        if self._session.is_pending(("channel", channel.id, kind)):
            return True
        return {
            "start": phase(channel) == "starting",
            "stop": phase(channel) == "stopping",
            "failover": channel.failover_asked,
            "skip": channel.skip_requested > channel.skip_done,
        }[kind]

    # Why not

    def why_not(self, kind: str, channel: Channel) -> str | None:
        if why := self._session.why_not(COMMANDS[kind]):
            return why
        if asked := self.asked(channel.id):
            return f"Waiting for the answer to {'Fail over' if asked == 'failover' else asked.capitalize()}."
        reasons: dict[str, Callable[[Channel], str | None]] = {
            "start": self._why_not_start,
            "stop": self._why_not_stop,
            "failover": self._why_not_failover,
            "skip": self._why_not_skip,
        }
        return reasons[kind](channel)

    def _why_not_start(self, channel: Channel) -> str | None:
        if channel.wanted == "off" and channel.status in ("stopped", "error"):
            return None
        if channel.wanted == "on" and channel.status == "error":
            return None
        return {
            "running": f"{channel.name} is on air already.",
            "starting": f"{channel.name} is being started.",
        }.get(phase(channel), f"{channel.name} is still going off air.")

    def _why_not_stop(self, channel: Channel) -> str | None:
        if channel.wanted == "on":
            return None
        going = phase(channel) == "stopping"
        return f"{channel.name} is {'going off air' if going else 'off air'} already."

    def _why_not_failover(self, channel: Channel) -> str | None:
        if channel.output_type == "decklink":
            return f"{channel.name} is tied to the card in its node: recover it there."
        if channel.wanted != "on":
            return f"{channel.name} is not on air: Start places it on the best node."
        if channel.failover_asked:
            return f"{channel.name} is being moved."
        if not self.nodes(channel):
            return f"No other node that is online can output {channel.output_type.upper()}."
        return None

    def _why_not_skip(self, channel: Channel) -> str | None:
        if phase(channel) != "running":
            return f"{channel.name} is not on air."
        return "The skip is on its way." if channel.skip_requested > channel.skip_done else None

    # Doing

    def do(self, kind: str, channel: Channel, node: int | None = None) -> None:
        channels, id = self._session.model.channels, channel.id

        def changed() -> bool:
            now = channels.get(id)
            if now is None:
                return True
            if kind == "skip":
                return now.skip_requested != channel.skip_requested
            if kind == "failover":
                return now.failover_asked or now.generation != channel.generation
            return now.wanted == ("on" if kind == "start" else "off")

        args: tuple[Any, ...] = (id, node) if kind == "failover" else (id,)
        self._do(channel, kind, COMMANDS[kind], *args, until=changed)

    def _do(
        self, channel: Channel, kind: str, command: Command[..., Any], *args: Any, until: Callable[[], bool]
    ) -> None:
        key = ("channel", channel.id, kind)
        self._asked[key] = channel.id
        self._session.do(command, *args, keys=(key,), until=until)

    # Whose refusal it is: the session says it in the same breath in which it lets go of the pending key

    def _pending_changed(self) -> None:
        for key in [k for k in self._asked if not self._session.is_pending(k)]:
            self._let_go = self._asked.pop(key)
        if self._let_go is not None:
            QTimer.singleShot(0, self, self._forget)

    def _forget(self) -> None:
        self._let_go = None

    def _said(self, message: Message) -> None:
        if message.refused and self._let_go is not None:
            self.refused.emit(self._let_go, message.text)
            self._let_go = None
