"""What the leader keeps an eye on beside starting and stopping: recordings that died, recordings that
nobody owns, files that stopped growing, and windows that will be in trouble soon.

Each look runs by itself, bounded, so that a recorder that does not answer delays no start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from core.alarms import store as alarms
from core.alarms.model import Condition
from core.db.database import CONNECTION_ERRORS
from core.lanes import LaneContext
from core.recording import conditions, rules
from core.recording.answers import NoWord
from core.recording.operations import ASK_LIMIT, Operations
from core.recording.recorder_client import Address, RecorderClient
from core.recording.store import SQL, Claim, build_claim

log = logging.getLogger(__name__)
AT_ONCE = 32
PREFLIGHT_LIMIT = 20.0


class Watch:
    def __init__(
        self,
        context: LaneContext,
        client: RecorderClient,
        operations: Operations,
        live_asset_timeout: timedelta,
    ) -> None:
        self._context = context
        self._clock = context.clock
        self._client = client
        self._operations = operations
        self._live_asset_timeout = live_asset_timeout
        self._bound = asyncio.Semaphore(AT_ONCE)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._checked: dict[int, datetime] = {}  # windows whose pre-flight was done, by their start
        self._silent: set[int] = set()

    def close(self) -> list[asyncio.Task[None]]:
        """Cancels every look and returns them, to be waited for."""
        for task in self._tasks.values():
            task.cancel()
        return list(self._tasks.values())

    def look(self, now: datetime) -> None:
        """Something changed: a recorder may have reported that it stopped."""
        self._spawn("running", self._running(now, all_of_them=False))

    def sweep(self, now: datetime) -> None:
        self._spawn("running", self._running(now, all_of_them=True))
        self._spawn("orphans", self._orphans(now))
        self._spawn("assets", self._assets(now))
        self._spawn("preflight", self._preflight(now))

    def _spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        if name in self._tasks and not self._tasks[name].done():
            work.close()  # the one under way will do
            return
        self._tasks[name] = asyncio.create_task(self._guard(name, work), name=f"watch {name}")

    @staticmethod
    async def _guard(name: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except (asyncpg.PostgresError, *CONNECTION_ERRORS) as error:
            log.info("watch %s: %s", name, error)
        except Exception:
            log.exception("watch %s failed", name)

    # -- recordings that died ------------------------------------------------------------------

    async def _running(self, now: datetime, all_of_them: bool) -> None:
        async with self._context.lead.pool.acquire() as connection:
            claims = [build_claim(r) for r in await connection.fetch(SQL.running, now)]
            claims = [c for c in claims if c.id not in self._operations.in_hand]
            if not claims:
                return
            rows = await connection.fetch(SQL.sessions_reported, [c.recorder_id for c in claims])
        reported = {r["id"]: r["current_session_id"] for r in rows if r["node_id"] is not None}
        doubtful = [
            c for c in claims
            if (reported[c.recorder_id] != c.session_id if c.recorder_id in reported else all_of_them)
        ]  # fmt: skip
        await asyncio.gather(*(self._check(c) for c in doubtful))

    async def _check(self, claim: Claim) -> None:
        async with self._bound:
            says = await self._client.ask(claim.address, ASK_LIMIT)
        if claim.id in self._operations.in_hand or not self._context.lead.trusted():
            return
        if isinstance(says, NoWord):
            if claim.recorder_id not in self._silent:
                self._silent.add(claim.recorder_id)
                await self._alarm(
                    conditions.unreachable(claim.name, claim.recorder_id, claim.recorder_name, says.why)
                )
            return
        if claim.recorder_id in self._silent:
            self._silent.discard(claim.recorder_id)
            async with self._context.lead.pool.acquire() as connection:
                await alarms.clear_alarm(connection, f"recorder:{claim.recorder_id}:unreachable")
        decision = rules.check_running(says, claim.session_id or "", claim.end_at, self._clock.now())
        if not isinstance(decision, rules.Again):
            return
        async with self._context.lead.pool.acquire() as connection:
            again = await connection.fetchval(
                SQL.mark_again,
                claim.id,
                claim.claim_token,
                "starting",
                claim.attempt + 1,
                decision.at,
                decision.error,
            )
            if again is None:
                return
            await connection.execute(
                SQL.attempt, claim.id, claim.attempt, "recover", None, "restarted", decision.error
            )
            await alarms.raise_alarm(
                connection,
                conditions.restarted(
                    claim.id, claim.name, claim.recorder_id, claim.recorder_name, decision.error
                ),
            )

    # -- recordings that nobody owns -----------------------------------------------------------

    async def _orphans(self, now: datetime) -> None:
        async with self._context.lead.pool.acquire() as connection:
            unowned = await connection.fetch(SQL.unowned)
            if not unowned:
                return
            owned = {(r["id"], r["attempt"]) for r in await connection.fetch(SQL.active_attempts, now)}
        for row in unowned:
            address = Address(row["base_url"], row["external_id"])
            session = rules.orphan(await self._client.ask(address, ASK_LIMIT), owned)
            if session is not None and session == row["current_session_id"] and self._context.lead.trusted():
                await self._client.stop(address, session, rules.START_LIMIT)
                await self._alarm(conditions.orphan(row["recorder_id"], row["recorder_name"]))

    # -- files and forecasts -------------------------------------------------------------------

    async def _assets(self, now: datetime) -> None:
        async with self._context.lead.pool.acquire() as connection:
            for row in await connection.fetch(SQL.stale_assets, now - self._live_asset_timeout):
                await alarms.raise_alarm(connection, conditions.stale_asset(row["id"], row["display_name"]))

    async def _preflight(self, now: datetime) -> None:
        async with self._context.lead.pool.acquire() as connection:
            rows = await connection.fetch(SQL.to_preflight, now, now + rules.PREFLIGHT_AHEAD)
        self._checked = {r["id"]: self._checked[r["id"]] for r in rows if r["id"] in self._checked}
        fresh = [r for r in rows if self._checked.get(r["id"]) != r["start_at"] and r["base_url"]]
        await asyncio.gather(*(self._preflight_one(r) for r in fresh))

    async def _preflight_one(self, row: asyncpg.Record) -> None:
        self._checked[row["id"]] = row["start_at"]
        seconds = (row["end_at"] - row["start_at"]).total_seconds()
        async with self._bound:
            address = Address(row["base_url"], row["external_id"])
            problems = await self._client.preflight(address, row["source"], seconds, PREFLIGHT_LIMIT)
        key = f"window:{row['id']}:preflight"
        async with self._context.lead.pool.acquire() as connection:
            if not problems:
                await alarms.clear_alarm(connection, key)
                return
            starts = f"{row['start_at']:%H:%M:%S} UTC"
            await alarms.raise_alarm(
                connection,
                conditions.preflight(
                    row["id"],
                    row["name"],
                    row["recorder_id"],
                    row["recorder_name"],
                    starts,
                    " ".join(problems),
                ),
                repeat=False,
            )
        # Trouble is looked at again, so that the alarm clears once it is mended.
        self._checked.pop(row["id"], None)

    async def _alarm(self, condition: Condition) -> None:
        async with self._context.lead.pool.acquire() as connection:
            await alarms.raise_alarm(connection, condition)
