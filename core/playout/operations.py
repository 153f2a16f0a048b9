"""Carrying a channel through its nodes: place it, start it, stop it, and give orders to what is on air.

Each is a task of its own, bounded in every wait. Any may be cut off at any point, by a lost lead or a kill: the
database then holds enough for the next leader to go on. What an answer means is decided in rules.py.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from datetime import timedelta
from typing import Any

from core.alarms import store as alarms
from core.alarms.model import Condition
from core.clock import Clock, steady
from core.playout import conditions, rules
from core.playout.logbook import Logbook
from core.playout.model import Channel, Placement
from core.playout.releases import OFF_AIR_LIMIT, Releases
from core.playout.rules import GiveUp, Place
from core.playout.share import Share
from core.playout.sidecar_client import NoWord, Refused, SidecarClient, Started
from core.playout.store import SQL, Picture, build_channel, build_item, build_placement, build_row

log = logging.getLogger(__name__)
ORDER_LIMIT = 2.0
START_AGAIN = 0.25
MENDED = ("off_air", "failover", "crash_loop", "card", "stop")  # alarms that end when it is on air again


class Operations:
    """All work on channels during one term of leadership."""

    def __init__(self, lead: Share, clock: Clock, client: SidecarClient, logbook: Logbook) -> None:
        self._lead = lead
        self._clock = clock
        self._client = client
        self.releases = Releases(lead, client, logbook)
        self.versions: dict[tuple[int, int], int] = {}  # the playlist each sidecar has, as far as is known

    # -- on air ----------------------------------------------------------------------------------

    async def place(self, channel: Channel, action: Place, picture: Picture) -> bool:
        """Whether a node was found for it."""
        load = Counter(
            c.node_id for c in picture.channels.values() if c.status in ("running", "starting") and c.node_id
        )
        moved = action.reason in ("failover", "asked")
        failed = {channel.node_id} if moved and channel.node_id is not None else set()
        node = rules.choose_node(channel, picture.nodes, load, self._clock.now(), failed)
        if node is None:
            await self._no_node(channel, action)
            return False
        async with self._lead.acquire() as connection, connection.transaction():
            generation = await connection.fetchval(
                SQL.place, channel.id, channel.generation, node.id, node.base_url, action.reason,
                action.why[: rules.ERROR_LENGTH] or None,
            )  # fmt: skip
            if generation is None:
                return True  # somebody changed it meanwhile: the next pass sees what
            if moved:
                condition = conditions.failover(channel, node.name, action.why)
                await alarms.raise_alarm(connection, condition)
        log.info("%s: generation %d goes to %s (%s)", channel.name, generation, node.name, action.reason)
        await self.begin(channel.id, generation)
        return True

    async def _no_node(self, channel: Channel, action: Place) -> None:
        if action.reason == "asked":
            node = "that node" if channel.failover_to is not None else "another node"
            condition = conditions.not_done(channel, "The failover", f"{node} cannot take it now.")
            async with self._lead.acquire() as connection, connection.transaction():
                await connection.execute(SQL.drop_failover, channel.id)
                await alarms.raise_alarm(connection, condition)
            return
        why = f"{action.why} No node with a {channel.output_type} output can be reached.".strip()
        async with self._lead.acquire() as connection, connection.transaction():
            if action.reason == "failover":
                await connection.execute(
                    SQL.lost, channel.id, channel.generation, self._clock.now(), action.why
                )
            await alarms.raise_alarm(connection, conditions.off_air(channel, why), repeat=False)

    async def begin(self, channel_id: int, generation: int) -> None:
        """Has the node start that generation; harmless when it has, which is how a new leader finds out."""
        since = steady()
        async with self._lead.acquire() as connection:
            row = await connection.fetchrow(SQL.channel, channel_id)
            found = await connection.fetchrow(SQL.placement, channel_id, generation)
            if row is None or found is None or row["generation"] != generation:
                return None
            channel, placement = build_channel(row), build_placement(found)
            body = await self._order(connection, channel, placement)
        while self._lead.trusted():
            if placement.agent_url is None:
                answer: Started | Refused | NoWord = Refused("Its node has no agent.")
            else:
                limit = rules.START_PATIENCE.total_seconds()
                answer = await self._client.start(placement.agent_url, channel.id, body, limit)
            if isinstance(answer, Started):
                return await self._on_air(channel, answer.sidecar_url)
            waited = timedelta(seconds=steady() - since)
            if isinstance(answer, Refused) or waited >= rules.START_PATIENCE:
                log.warning("%s: generation %d did not start: %s", channel.name, generation, answer.why)
                async with self._lead.acquire() as connection:
                    why = f"It could not be started: {answer.why}"[: rules.ERROR_LENGTH]
                    await connection.execute(SQL.lost, channel.id, generation, self._clock.now(), why)
                return None
            await asyncio.sleep(START_AGAIN)
        return None

    async def _on_air(self, channel: Channel, sidecar_url: str) -> None:
        self.versions[channel.id, channel.generation] = channel.playlist_version
        async with self._lead.acquire() as connection:
            await connection.execute(SQL.running, channel.id, channel.generation, sidecar_url)

    async def mended(self, channel: Channel) -> None:
        """It answered: what was wrong with getting it on air is over."""
        async with self._lead.acquire() as connection:
            for kind in MENDED:
                await alarms.clear_alarm(connection, conditions.key(channel.id, kind))

    async def _order(self, connection: Any, channel: Channel, placement: Placement) -> dict[str, Any]:
        items = [build_item(r) for r in await connection.fetch(SQL.items, channel.id)]
        going_on = None
        if placement.reason != "start":
            row = await connection.fetchrow(SQL.last_item, channel.id)
            before = await connection.fetchrow(SQL.placement_before, channel.id, placement.generation)
            if row is not None and before is not None and row["generation"] == before["generation"]:
                at = before["last_seen_at"] or placement.placed_at
                if channel.dead_at is not None and channel.dead_generation == before["generation"]:
                    at = max(at, min(channel.dead_at, placement.placed_at))
                going_on = rules.resume(items, channel.looping, build_row(row), before["item_offset"], at)
        return {
            "channel": channel.id,
            "name": channel.name,
            "generation": placement.generation,
            "output_type": channel.output_type,
            "output_url": channel.output_url,
            "settings": channel.settings,
            "looping": channel.looping,
            "playlist_version": channel.playlist_version,
            "items": [_item(i) for i in items],
            "resume": None
            if going_on is None
            else {"item_id": going_on.item_id, "offset_s": round(going_on.offset_s, 3)},
        }

    async def give_up(self, channel: Channel, action: GiveUp) -> None:
        make = conditions.crash_loop if action.crash_loop else conditions.card_error
        async with self._lead.acquire() as connection, connection.transaction():
            given = await connection.fetchval(
                SQL.give_up, channel.id, channel.generation, action.why[: rules.ERROR_LENGTH]
            )
            if given is not None:
                await alarms.raise_alarm(connection, make(channel, action.why))

    async def drop_failover(self, channel: Channel) -> None:
        condition = conditions.not_done(channel, "The failover", "it is tied to its card.")
        async with self._lead.acquire() as connection, connection.transaction():
            await connection.execute(SQL.drop_failover, channel.id)
            await alarms.raise_alarm(connection, condition)

    # -- off air ---------------------------------------------------------------------------------

    async def stop(self, channel: Channel, placement: Placement | None) -> None:
        async with self._lead.acquire() as connection:
            await connection.execute(SQL.stopping, channel.id, channel.generation)
        if placement is not None:
            url = placement.sidecar_url or channel.sidecar_url
            if url and self._lead.trusted():
                # Asked first, it ends its item in good order and its journal says when.
                await self._client.off_air(url, placement.generation, OFF_AIR_LIMIT)
            if not await self.releases.release(channel, placement, tell=True):
                return
        async with self._lead.acquire() as connection, connection.transaction():
            await connection.execute(SQL.stopped, channel.id, channel.generation)
            await alarms.clear_others(connection, f"channel:{channel.id}:", ())

    # -- orders to what is on air ----------------------------------------------------------------

    async def skip(self, channel: Channel) -> None:
        while self._lead.trusted():
            async with self._lead.acquire() as connection:
                if await connection.fetchval(SQL.skip_taken, channel.id) is None:
                    return
            answer = await self._client.skip(channel.sidecar_url or "", channel.generation, ORDER_LIMIT)
            if answer is not None:
                await self._alarm(conditions.not_done(channel, "The skip", answer.why))

    async def playlist(self, channel: Channel) -> None:
        async with (
            self._lead.acquire() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            row = await connection.fetchrow(SQL.channel, channel.id)
            if row is None or row["generation"] != channel.generation:
                return
            items = [build_item(r) for r in await connection.fetch(SQL.items, channel.id)]
        body = {
            "generation": channel.generation,
            "version": row["playlist_version"],
            "looping": row["looping"],
            "items": [_item(i) for i in items],
        }
        answer = await self._client.playlist(channel.sidecar_url or "", body, ORDER_LIMIT)
        if answer is None:
            self.versions[channel.id, channel.generation] = row["playlist_version"]
        else:
            log.warning("%s: the playlist was not taken: %s", channel.name, answer.why)

    async def _alarm(self, condition: Condition) -> None:
        async with self._lead.acquire() as connection:
            await alarms.raise_alarm(connection, condition)


def _item(item: Any) -> dict[str, Any]:
    names = ("id", "position", "asset_id", "clip_name", "path", "in_s", "duration_s")
    return {name: getattr(item, name) for name in names}
