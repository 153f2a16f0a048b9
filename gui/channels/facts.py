"""Collects what a tile is worked out from: the playlist, what is on air, and the worst alarm of a channel."""

from __future__ import annotations

from core.alarms.model import Alarm
from core.playout.model import Channel, Item
from gui.channels.state import Facts
from gui.session import Session


class FactFinder:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._playlists: dict[int, list[Item]] | None = None
        self._alarms: dict[int, Alarm] = {}
        self.sort_alarms()

    def forget_playlists(self) -> None:
        self._playlists = None

    def playlist(self, channel_id: int) -> list[Item]:
        """The items of a channel in their order; sorted once for all channels when they changed."""
        if self._playlists is None:
            made: dict[int, list[Item]] = {}
            for item in sorted(self._session.model.items.values(), key=lambda i: (i.position, i.id)):
                made.setdefault(item.channel_id, []).append(item)
            self._playlists = made
        return self._playlists.get(channel_id, [])

    def sort_alarms(self) -> None:
        now, found = self._session.now(), dict[int, Alarm]()
        names = {c.name: c.id for c in self._session.model.channels.values()}
        alarms = [a for a in self._session.alarms() if a.source_kind == "channel" and a.active]
        for alarm in sorted(alarms, key=lambda a: (a.rank, not a.unacked, a.id)):
            id = alarm.source_id if alarm.source_id is not None else names.get(alarm.source_name)
            if id is not None and not alarm.shelved(now):
                found.setdefault(id, alarm)
        self._alarms = found

    def of(self, channel: Channel, asked: str, refusal: str) -> Facts:
        model = self._session.model
        run = model.on_air.get(channel.id)
        items = self.playlist(channel.id)
        item = next((i for i in items if run is not None and i.id == run.item_id), None)
        asset_id = item.asset_id if item is not None else run.asset_id if run is not None else None
        return Facts(
            channel,
            None if channel.node_id is None else model.nodes.get(channel.node_id),
            items,
            run,
            None if asset_id is None else model.assets.get(asset_id),
            self._alarms.get(channel.id),
            asked,
            refusal,
        )
