"""Placements that are over: each is told to go off air until that is certain, and its part of as-run is completed.

Both at once, beside whatever the channel does elsewhere: a node that does not answer is told for as long as it takes,
but as-run waits for its journal only a little, because until then the next placement's rows cannot be entered.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import datetime

from core.alarms import store as alarms
from core.clock import steady
from core.playout import conditions, rules
from core.playout.logbook import Logbook
from core.playout.model import Channel, Event, Journal, Placement
from core.playout.share import Share
from core.playout.sidecar_client import NoWord, Refused, SidecarClient
from core.playout.store import SQL

OFF_AIR_LIMIT = 2.0
STOP_LIMIT = 5.0
JOURNAL_LIMIT = 1.5
SILENT_NODE = rules.SETTLE_PATIENCE.total_seconds()
ANSWERING_NODE = 15.0  # seconds that a node may take to end a sidecar, and still be believed
AGAIN = (0.25, 0.5, 1.0, 2.0, 5.0)
WORTH_SAYING = 10.0  # seconds without a confirmation that it is off air


class Releases:
    def __init__(self, lead: Share, client: SidecarClient, logbook: Logbook) -> None:
        self._lead = lead
        self._client = client
        self._logbook = logbook

    async def release(self, channel: Channel, placement: Placement, *, tell: bool) -> bool:
        """False when the lead was lost on the way."""
        off_air = asyncio.Event()
        telling = asyncio.create_task(self._tell_until_off_air(channel, placement, off_air, tell))
        try:
            settled = await self._settle_until_done(channel, placement, off_air, tell)
            return await telling and settled
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    # -- off air ---------------------------------------------------------------------------------

    async def _tell_until_off_air(
        self, channel: Channel, placement: Placement, off_air: asyncio.Event, tell: bool
    ) -> bool:
        if not tell:
            return True
        if placement.released_at is not None:
            off_air.set()
            return True
        since, tries, alarmed = steady(), 0, False
        while self._lead.trusted():
            why = await self._tell(channel, placement)
            if not why:
                off_air.set()
                async with self._lead.acquire() as connection:
                    await connection.execute(SQL.released, channel.id, placement.generation)
                    if alarmed:
                        await alarms.clear_alarm(connection, conditions.key(channel.id, "stop"))
                return True
            if not alarmed and steady() - since > WORTH_SAYING:
                alarmed = True
                condition = conditions.cannot_stop(channel, f"node {placement.node_id}", why)
                async with self._lead.acquire() as connection:
                    await alarms.raise_alarm(connection, condition)
            await asyncio.sleep(AGAIN[min(tries, len(AGAIN) - 1)])
            tries += 1
        return False

    async def _tell(self, channel: Channel, placement: Placement) -> str:
        """Empty when it is off air; else why that is not certain."""
        answer: NoWord | Refused | None = Refused("It has no agent.")
        if placement.agent_url is not None:
            answer = await self._client.stop(
                placement.agent_url, channel.id, placement.generation, STOP_LIMIT
            )
            if answer is None:
                return ""
        if placement.sidecar_url:
            newest = max(channel.generation, placement.generation)
            straight = await self._client.off_air(placement.sidecar_url, newest, OFF_AIR_LIMIT)
            if straight is None or (isinstance(straight, Refused) and isinstance(answer, Refused)):
                return ""
            return straight.why
        # An agent that refuses knows nothing of this channel: nothing of it runs there.
        return answer.why if isinstance(answer, NoWord) else ""

    # -- as-run ----------------------------------------------------------------------------------

    async def _settle_until_done(
        self, channel: Channel, placement: Placement, off_air: asyncio.Event, tell: bool
    ) -> bool:
        since, tries = steady(), 0
        while placement.settled_at is None and self._lead.trusted():
            was_off_air = off_air.is_set()
            waited = steady() - since
            # A node that says it is still on air can be waited for; a card that is not told may be so for ever.
            patience = (SILENT_NODE, ANSWERING_NODE if tell else SILENT_NODE)
            if await self._settle(channel, placement, waited, patience, over=was_off_air):
                return True
            wait = AGAIN[min(tries, len(AGAIN) - 1)]
            if waited < SILENT_NODE:
                wait = min(wait, SILENT_NODE - waited)
            if was_off_air:
                await asyncio.sleep(wait)
            else:  # off air, its journal is complete: that is worth asking for at once
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await off_air.wait()
            tries += 1
        return placement.settled_at is not None

    async def _settle(
        self,
        channel: Channel,
        placement: Placement,
        waited: float,
        patience: tuple[float, float],
        *,
        over: bool,
    ) -> bool:
        events: list[Event] = []
        ended_at: datetime | None = None
        known = answered = False
        if placement.agent_url is not None:
            after = self._logbook.seq.get((channel.id, placement.generation), placement.event_seq)
            while True:
                said = await self._client.journal(
                    placement.agent_url, channel.id, placement.generation, after, JOURNAL_LIMIT
                )
                if not isinstance(said, Journal) or said.generation != placement.generation:
                    known = known or isinstance(said, Refused)
                    break
                known, answered, ended_at = not said.running, True, said.ended_at
                fresh = [e for e in said.events if e.seq > after]
                if not fresh:
                    break
                events += fresh
                after = max(e.seq for e in fresh)
        else:
            known = over
        if not known and waited < patience[answered]:
            return False
        return await self._logbook.settle(channel, placement, events, ended_at)
