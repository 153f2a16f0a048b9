"""The playout lane: what is wanted of each channel becomes work on it, at once and beside all others.

A pass reads channels, placements and nodes and begins what rules.py decides; probes run on their own beside it.
Passes happen on NOTIFY (an operator, an agent's word that a sidecar died), when a probe finds trouble, at the end of
a back-off, and at every tick as the safety net. One piece of work at a time on a channel; a channel that hangs
holds up neither another channel nor a recording.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from core.alarms import store as alarms
from core.db.database import CONNECTION_ERRORS
from core.lanes import LaneContext
from core.playout import conditions, rules
from core.playout.logbook import Logbook
from core.playout.model import Channel, Placement, Status
from core.playout.operations import Operations
from core.playout.probes import Probes
from core.playout.rules import Begin, Drop, GiveUp, Place, Stop
from core.playout.share import Share
from core.playout.sidecar_client import SidecarClient
from core.playout.store import SQL, Picture, picture

log = logging.getLogger(__name__)
TABLES = frozenset({"playout_channels", "playout_items", "nodes"})
NO_NODE_AGAIN = timedelta(seconds=1)
FENCED = "AL001"
Key = tuple[str, int, int]


class PlayoutLane:
    name = "playout"

    def __init__(self, client: SidecarClient, tick: timedelta, interval: timedelta) -> None:
        self._client = client
        self._tick = tick
        self._interval = interval
        self.term: Term | None = None

    async def run(self, context: LaneContext) -> None:
        try:
            self.term = Term(context, self._client, self._tick, self._interval)
            await self.term.run()
        finally:
            await self._client.close()
            await asyncio.sleep(0)  # lines that were cut off close in the loop's next turn


class Term:
    """The lane's work during one term of leadership."""

    def __init__(
        self, context: LaneContext, client: SidecarClient, tick: timedelta, interval: timedelta
    ) -> None:
        self._context = context
        self._clock = context.clock
        self._tick = tick
        self._woken = asyncio.Event()
        self._work: dict[Key, asyncio.Task[Any]] = {}
        self._ended_meanwhile: set[Key] = set()
        self._stops: set[int] = set()  # channels whose work in hand is a stop
        self._healthy: set[tuple[int, int]] = set()
        self._alarmed: dict[str, str] = {}  # what probes found wrong, by alarm key
        self.share = Share(context.lead)
        self.logbook = Logbook(self.share, context.clock)
        self.operations = Operations(self.share, context.clock, client, self.logbook)
        self.probes = Probes(
            self.share, context.clock, client, self.logbook, interval, self._answered, self._woken.set
        )

    async def run(self) -> None:
        unsubscribe = self._context.wake_ups(self._wake)
        probing = asyncio.create_task(self.probes.run(), name="probes")
        try:
            while not self._context.stopping.is_set():
                self._woken.clear()
                next_due = await self._pass()
                if probing.done():
                    probing.result()
                await self._wait(next_due)
        finally:
            unsubscribe()
            probing.cancel()
            ending: list[asyncio.Task[Any]] = [probing, *self.probes.close(), *self._work.values()]
            for task in ending:
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)

    def _wake(self, table: str) -> None:
        if table in TABLES:
            self._woken.set()

    async def _wait(self, next_due: datetime) -> None:
        sleeper = asyncio.create_task(self._clock.sleep_until(next_due))
        woken = asyncio.create_task(self._woken.wait())
        stopping = asyncio.create_task(self._context.stopping.wait())
        try:
            await asyncio.wait({sleeper, woken, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sleeper, woken, stopping):
                task.cancel()

    # -- a pass ----------------------------------------------------------------------------------

    async def _pass(self) -> datetime:
        self._ended_meanwhile.clear()
        async with self.share.acquire() as connection:
            seen = await picture(connection)
            for channel in seen.channels.values():
                if self._unknown(channel, seen):
                    await connection.execute(SQL.adopt, channel.id, channel.generation)
                    self._woken.set()
        now = self._clock.now()
        next_due = now + self._tick
        for channel in seen.channels.values():
            placement = _current(channel, seen)
            next_due = min(next_due, self._see_to(channel, placement, seen, now))
            if channel.status == "running" and channel.wanted == "on":
                self._orders(channel)
        self._release(seen)
        self.probes.channels = {
            c.id: c
            for c in seen.channels.values()
            if c.status == "running" and c.sidecar_url and _current(c, seen) is not None
        }
        current = {(c.id, c.generation) for c in seen.channels.values()}
        self.probes.forget(current)
        self._healthy &= current
        return next_due

    @staticmethod
    def _unknown(channel: Channel, seen: Picture) -> bool:
        known = any(
            p.channel_id == channel.id and p.generation >= channel.generation for p in seen.placements
        )
        return channel.status == "running" and channel.sidecar_url is not None and not known

    def _see_to(
        self, channel: Channel, placement: Placement | None, seen: Picture, now: datetime
    ) -> datetime:
        """Begins what the channel needs; returns when to look again."""
        later = now + self._tick
        if self._unknown(channel, seen):
            return later
        misses = self.probes.misses.get((channel.id, channel.generation), 0)
        action = rules.decide(channel, placement, seen.restarts.get(channel.id, ()), misses, now)
        key = ("work", channel.id, 0)
        if channel.id in self._stops and not isinstance(action, Stop) and key in self._work:
            self._work[key].cancel()  # wanted on air again: not held up by a node that does not confirm
            return later
        if isinstance(action, Place):
            if action.at > now:
                return action.at
            self._begin(key, self._place(channel, action, seen))
            return now + NO_NODE_AGAIN
        if isinstance(action, Begin):
            self._begin(key, self.operations.begin(channel.id, channel.generation))
        elif isinstance(action, Stop):
            if key not in self._work:
                self._stops.add(channel.id)
            self._begin(key, self.operations.stop(channel, placement))
        elif isinstance(action, GiveUp):
            self._begin(key, self.operations.give_up(channel, action))
        elif isinstance(action, Drop):
            self._begin(key, self.operations.drop_failover(channel))
        return later

    async def _place(self, channel: Channel, action: Place, seen: Picture) -> None:
        if not await self.operations.place(channel, action, seen):
            await asyncio.sleep(NO_NODE_AGAIN.total_seconds())

    def _release(self, seen: Picture) -> None:
        for placement in seen.placements:
            channel = seen.channels.get(placement.channel_id)
            if channel is None:
                continue
            current = placement.generation == channel.generation
            if current and ("work", channel.id, 0) in self._work:
                continue
            if current and channel.status not in ("error", "stopped"):
                continue
            # A card that stopped answering is not touched: it may well be on air.
            tell = not (current and channel.output_type == "decklink" and channel.status == "error")
            if not tell and placement.settled_at is not None:
                continue
            key = ("release", channel.id, placement.generation)
            self._begin(key, self.operations.releases.release(channel, placement, tell=tell))

    def _orders(self, channel: Channel) -> None:
        if channel.skip_requested > channel.skip_done:
            self._begin(("skip", channel.id, 0), self.operations.skip(channel))
        has = self.operations.versions.get((channel.id, channel.generation))
        if has is not None and has < channel.playlist_version:
            self._begin(("playlist", channel.id, 0), self.operations.playlist(channel))

    def _begin(self, key: Key, work: Coroutine[Any, Any, Any]) -> None:
        # What ended while this pass was reading may have been read before it ended: the next pass tells.
        if key in self._work or key in self._ended_meanwhile:
            work.close()
            return
        task = asyncio.create_task(work, name=f"{key[0]} channel {key[1]}")
        self._work[key] = task
        task.add_done_callback(lambda task: self._ended(key, task))

    def _ended(self, key: Key, task: asyncio.Task[Any]) -> None:
        self._work.pop(key, None)
        self._ended_meanwhile.add(key)
        if key[0] == "work":
            self._stops.discard(key[1])
        if not task.cancelled() and (error := task.exception()) is not None:
            # The next pass takes it up again from what the database says.
            if getattr(error, "sqlstate", None) == FENCED or isinstance(error, CONNECTION_ERRORS):
                log.info("%s: %s", task.get_name(), error)
            else:
                log.error("%s failed", task.get_name(), exc_info=error)
            return
        if key[0] != "playlist":  # one that was not taken is tried again at the next probe
            self._woken.set()

    # -- what probes bring -----------------------------------------------------------------------

    def _answered(self, channel: Channel, status: Status) -> None:
        mine = (channel.id, channel.generation)
        if mine not in self._healthy:
            self._healthy.add(mine)
            self._begin(("mended", channel.id, channel.generation), self.operations.mended(channel))
        if status.playlist_version is not None:
            self.operations.versions[mine] = status.playlist_version
            if status.playlist_version < channel.playlist_version:
                self._begin(("playlist", channel.id, 0), self.operations.playlist(channel))
        dry = conditions.runs_dry(channel, status.runs_dry_in_s or 0) if rules.runs_dry(status) else None
        signal = conditions.signal(channel, " ".join(status.problems)) if status.problems else None
        changed = []
        for kind, condition in (("dry", dry), ("signal", signal)):
            name = conditions.key(channel.id, kind)
            # A new leader does not know what its predecessor raised: it says once how things are.
            if self._alarmed.get(name) != (condition.message if condition else ""):
                self._alarmed[name] = condition.message if condition else ""
                changed.append((name, condition))
        if changed:
            self._begin(("alarms", channel.id, 0), self._tell(changed))

    async def _tell(self, changed: list[tuple[str, Any]]) -> None:
        try:
            async with self.share.acquire() as connection:
                for name, condition in changed:
                    if condition is None:
                        await alarms.clear_alarm(connection, name)
                    else:
                        await alarms.raise_alarm(connection, condition, repeat=False)
        except (asyncpg.PostgresError, *CONNECTION_ERRORS):
            for name, _ in changed:  # it is said again at the next answer
                self._alarmed.pop(name, None)
            raise


def _current(channel: Channel, seen: Picture) -> Placement | None:
    """Its placement while that is not known to be over."""
    for placement in seen.placements:
        if placement.channel_id == channel.id and placement.generation == channel.generation:
            return placement if placement.released_at is None else None
    return None
