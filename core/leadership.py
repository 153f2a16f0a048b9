"""Who leads: the plant's advisory lock, its epochs, and how far a leader may trust itself.

The invariant: at every instant at most one station acts. It rests on three things, and each alone
would not be enough.

1. The session lock 8210301 is held by one session. It lives on a connection of its own that is
   never pooled, taken once, and given up by closing the connection.
2. Each acquisition takes a new epoch. The leader's connections carry it, and the database refuses
   their writes once a newer epoch exists: a paused ex-leader that wakes can change nothing.
3. The leader acts only until `trusted_until`, which it renews every second and reckons from the
   moment it *sent* the renewal. A follower that finds it expired by three seconds ends the session
   that holds the lock. Where its login may not, the server does: a lock session that has said
   nothing for a little longer than that is ended as idle.

No wait here is without a limit on this side: a server that vanishes without a word (power, network)
must not keep a station out of the election that another server holds.

Gaining and losing the lead are never coalesced: whoever runs the lanes sees every transition.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from core.clock import DatabaseClock, steady
from core.db.database import (
    CONNECTION_ERRORS,
    WARM,
    AnyConnection,
    Connection,
    Database,
    Pool,
    close_connection,
    close_pool,
)
from core.db.queries import beside
from core.errors import DatabaseLost, PlantError

log = logging.getLogger(__name__)
SQL = beside(__file__, "leadership.sql")

RENEW = 1.0
TRUST = 2.0
MARGIN = 0.25  # kept back from the trust, for what is already on its way when it runs out
GRACE = 3.0
IDLE = TRUST + GRACE + 0.5  # late enough for a follower to be first and to name the culprit
QUEUE = 5.0  # how long one wait in the lock's queue lasts, see `_wait_for_lock`
ANSWER = 3.0  # how long the server may take for a short question
WATCH = 0.25
RETRY = (0.05, 0.1, 0.25, 0.5)


@dataclass
class Lead:
    """One acquisition: the epoch, the connections that carry it, and how long to trust it."""

    epoch: int
    acquired_at: datetime
    pool: Pool
    trusted_to: float  # by the steady counter
    deposed: str | None  # the station that had to be ended first, if one had

    def trusted(self) -> bool:
        return steady() < self.trusted_to - MARGIN


class LeaderPool:
    """The connections a leader acts with, opened while it still waits: a handover is quicker by that.

    Until there is an epoch they carry one that never was, so that the fence refuses them.
    """

    def __init__(self) -> None:
        self._settings = {"airlock.epoch": "0"}
        self._carrying: set[int] = set()
        self.connections: Pool

    @classmethod
    async def open(cls, database: Database) -> LeaderPool:
        made = cls()
        made.connections = await database.open_pool("leader", 8, made._settings, made._hand_out)
        return made

    async def carry(self, epoch: int) -> None:
        """Gives the epoch to the connections there are, and to those that will be opened."""
        self._settings["airlock.epoch"] = str(epoch)
        self._carrying.clear()
        there = [await self.connections.acquire() for _ in range(WARM)]
        for connection in there:
            await self.connections.release(connection)

    async def _hand_out(self, connection: AnyConnection) -> None:
        # No connection leaves the pool without the epoch, whenever it was opened.
        session = connection.get_server_pid()
        if session not in self._carrying:
            await connection.execute(SQL.carry_epoch, self._settings["airlock.epoch"])
            self._carrying.add(session)


class Leadership:
    """Contends for the lead until told to leave. `on_change` hears every gain (a Lead) and loss (None)."""

    def __init__(
        self, database: Database, clock: DatabaseClock, on_change: Callable[[Lead | None], None]
    ) -> None:
        self._database = database
        self._clock = clock
        self._on_change = on_change
        self.lead: Lead | None = None
        self._failures = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="leadership")

    async def leave(self) -> None:
        """Gives up the lead, or the wait for it, so that the next station follows at once."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                await self._one_term()
            except (DatabaseLost, PlantError, *CONNECTION_ERRORS) as error:
                log.info("election interrupted: %s", str(error) or type(error).__name__)
            except asyncpg.PostgresError as error:
                log.error("election failed: %s", error)
                self._failures = len(RETRY)
            except Exception:
                # A fault of ours must not take this station out of the election for good.
                log.exception("election failed")
                self._failures = len(RETRY)
            await asyncio.sleep(RETRY[min(self._failures, len(RETRY) - 1)])
            self._failures += 1

    async def _one_term(self) -> None:
        """One try: connect, wait for the lock, lead until it is lost."""
        connection = await self._database.connect(
            "lock",
            {"statement_timeout": "0", "lock_timeout": f"{QUEUE}s", "idle_session_timeout": f"{IDLE}s"},
        )
        elected = asyncio.Event()
        watcher = asyncio.create_task(self._watch_leader(elected), name="watch the leader")
        pool: LeaderPool | None = None
        try:
            await self._end_with_client(connection)
            pool = await LeaderPool.open(self._database)
            await self._wait_for_lock(connection)
            # Told, not cancelled: it may be ending the session that made way just now, and cancelling that
            # would undo the note of who was ended.
            elected.set()
            await self._lead(connection, pool)
        finally:
            watcher.cancel()
            await asyncio.shield(self._tidy_up(connection, pool, watcher))

    @staticmethod
    async def _tidy_up(connection: Connection, pool: LeaderPool | None, watcher: asyncio.Task[None]) -> None:
        # Closing is what frees the lock; a cancelled wait may hold it without our knowing. It comes
        # first: the successor need not wait for the rest, the fence keeps out what is still open.
        await close_connection(connection)
        if pool is not None:
            await close_pool(pool.connections)
        await asyncio.wait({watcher}, timeout=1)

    @staticmethod
    async def _end_with_client(connection: Connection) -> None:
        """Ends a wait in the lock's queue on behalf of a client that is gone."""
        try:
            await connection.execute(SQL.end_with_client, timeout=ANSWER)
        except asyncpg.InvalidParameterValueError as error:
            # A server on Windows cannot; it notices when the wait ends, after QUEUE seconds at most.
            log.debug("the server does not watch for clients that are gone: %s", error)

    @staticmethod
    async def _wait_for_lock(connection: Connection) -> None:
        # In the queue of the lock a follower is served the instant the leader's session ends. The
        # wait is cut into short ones because each holds a snapshot, which would hold up vacuum.
        while True:
            try:
                await connection.execute(SQL.lock, timeout=QUEUE + ANSWER)
                return
            except asyncpg.LockNotAvailableError:
                continue

    async def _watch_leader(self, elected: asyncio.Event) -> None:
        """Ends the session of a leader that holds the lock but has stopped renewing its trust."""
        while True:
            await asyncio.sleep(WATCH)
            if elected.is_set():
                return
            try:
                async with self._database.acquire() as connection:
                    if not await connection.fetchval(SQL.leader_expired, GRACE, timeout=ANSWER):
                        continue
                    deposed = await connection.fetchval(SQL.depose, GRACE, timeout=ANSWER)
            except (DatabaseLost, asyncpg.PostgresError) as error:
                log.warning("cannot end the session of a leader that hangs: %s", error)
                await asyncio.sleep(1)
                continue
            except Exception:
                log.exception("watching the leader failed")
                await asyncio.sleep(1)
                continue
            if deposed:
                log.warning("%s stopped responding while leading; its session was ended", deposed)

    async def _lead(self, connection: Connection, pool: LeaderPool) -> None:
        lost = asyncio.Event()
        lead: Lead | None = None

        def ended(_: object) -> None:
            if lead is not None:
                lead.trusted_to = 0.0
            lost.set()

        connection.add_termination_listener(ended)
        asked = steady()
        row = await connection.fetchrow(SQL.take_lead, self._database.station, TRUST, timeout=QUEUE + ANSWER)
        assert row is not None
        epoch: int = row["epoch"]
        try:
            async with asyncio.timeout(TRUST):
                await pool.carry(epoch)
                deposed = await connection.fetchval(SQL.deposed, epoch)
            lead = self.lead = Lead(epoch, row["acquired_at"], pool.connections, asked + TRUST, deposed)
            self._failures = 0
            log.info("leading, epoch %d", epoch)
            self._on_change(lead)
            # Rehearsed with an epoch that never was: prepared now, it is quicker when somebody waits.
            await connection.execute(SQL.release, 0, timeout=ANSWER)
            await self._hold(connection, lead, lost, asked)
        finally:
            try:
                if lead is not None:
                    lead.trusted_to = 0.0
                    self.lead = None
                    log.info("no longer leading, epoch %d", epoch)
                    self._on_change(None)
            finally:
                await asyncio.shield(self._release(connection, epoch))

    async def _hold(self, connection: Connection, lead: Lead, lost: asyncio.Event, asked: float) -> None:
        while True:
            try:
                # Counted from the last question, not from its answer: a slow answer must not push
                # the next renewal past the end of the trust.
                async with asyncio.timeout(asked + RENEW - steady()):
                    await lost.wait()
                return
            except TimeoutError:
                pass
            asked = steady()
            try:
                async with asyncio.timeout(TRUST - RENEW):
                    until = await connection.fetchrow(SQL.renew, lead.epoch, TRUST)
            except TimeoutError:
                log.warning("the lock connection did not answer in time")
                connection.terminate()
                return
            if until is None:
                log.warning("epoch %d was succeeded", lead.epoch)
                return
            if lost.is_set():
                return
            self._clock.add(asked, until["at"], steady())
            lead.trusted_to = asked + TRUST

    @staticmethod
    async def _release(connection: Connection, epoch: int) -> None:
        if connection.is_closed():
            return
        try:
            await connection.execute(SQL.release, epoch, timeout=0.5)
        except (*CONNECTION_ERRORS, asyncpg.PostgresError) as error:
            log.info("could not note the release of epoch %d: %s", epoch, error)
