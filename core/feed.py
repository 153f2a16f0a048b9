"""Keeps the read model current: reload, then follow.

One connection listens, reads what changed, and asks the database for the time twice a second; so
the picture has an age at every moment, and a silent connection is found out. NOTIFY only says
which table to look at. After a lost connection everything is loaded again: nothing that happened
meanwhile can be missed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

import asyncpg

from core.clock import DatabaseClock, steady
from core.db.database import CONNECTION_ERRORS, Connection, Database, close_connection, reason
from core.db.queries import beside
from core.errors import AirlockError, DatabaseLost
from core.model import LeaderRow, Plant, builder
from core.playout.model import AsRunRow
from core.read_model import KEPT_FUTURE, KEPT_PAST, TABLES, Changes, ReadModel, Table, forget

T = TypeVar("T")
log = logging.getLogger(__name__)
SQL = beside(__file__, "feed.sql")

BEAT = 0.5  # seconds between two questions for the time
SILENCE = 3.0  # an answer this late means the connection is dead
STALE = 1.0  # without an answer for so long, the picture is called old
RETRY = (0.1, 0.25, 0.5, 1.0)
PAGE = 500  # rows taken from the socket at a time, so that a large load never holds up a frame
TIDY = 60.0  # seconds between two looks at what time alone brings into sight and out of it

build_plant = builder(Plant)
build_leader = builder(LeaderRow)
build_as_run = builder(AsRunRow)


@dataclass(frozen=True)
class FeedState:
    """Whether what is shown is the truth, and since when not."""

    live: bool = False
    ever: bool = False  # whether there was a picture at all
    last_reply: float = 0.0  # by the steady counter
    as_of: datetime | None = None  # database time of the newest thing known
    attempts: int = 0  # to connect again
    next_attempt: float = 0.0  # by the steady counter
    problem: str = ""

    def age(self) -> float:
        """Seconds since the database last confirmed the picture."""
        return steady() - self.last_reply

    def stale(self) -> bool:
        return not self.live or self.age() > STALE


class Feed:
    def __init__(self, database: Database, clock: DatabaseClock, model: ReadModel) -> None:
        self._database = database
        self._clock = clock
        self.model = model
        self.state = FeedState()
        self._listeners: list[Callable[[FeedState], None]] = []
        self._wake_up: list[Callable[[str], None]] = []
        self._dirty: set[str] = set()
        # For each table the oldest transaction that was open when the table was last read.
        self._seen: dict[str, int] = {}
        self._sight: datetime | None = None  # up to where windows are known
        self._woken = asyncio.Event()
        self._hurry = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="feed")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def on_state(self, listener: Callable[[FeedState], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def on_wake_up(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Calls with the name of each table that changed, at once: for the leader's lanes."""
        self._wake_up.append(listener)
        return lambda: self._wake_up.remove(listener)

    def retry_now(self) -> None:
        """The operator does not want to wait for the next attempt."""
        self._hurry.set()

    def _set(self, state: FeedState) -> None:
        changed = (state.live, state.attempts, state.problem) != (
            self.state.live,
            self.state.attempts,
            self.state.problem,
        )
        self.state = state
        if changed:
            for listener in list(self._listeners):
                _tell(listener, state)

    async def _run(self) -> None:
        attempts = 0
        while True:
            problem = ""
            try:
                connection = await self._database.connect("feed")
                try:
                    await self._follow(connection)
                finally:
                    await asyncio.shield(close_connection(connection, 0.2))
            except AirlockError as error:
                problem = str(error)
            except (asyncpg.PostgresError, *CONNECTION_ERRORS) as error:
                problem = f"The connection to the database was lost: {reason(error)}."
            except Exception:
                # A fault of ours. The picture is then old, and must say so instead of standing still.
                log.exception("the feed failed")
                problem = (
                    "The picture could not be brought up to date. The log says why; Airlock tries again."
                )
            await self._database.renew()
            attempts = 1 if self.state.live else attempts + 1
            pause = RETRY[min(attempts - 1, len(RETRY) - 1)]
            log.info("feed: %s", problem)
            self._hurry.clear()
            self._set(
                replace(
                    self.state, live=False, attempts=attempts, problem=problem, next_attempt=steady() + pause
                )
            )
            try:
                async with asyncio.timeout(pause):
                    await self._hurry.wait()
            except TimeoutError:
                pass

    async def _follow(self, connection: Connection) -> None:
        lost = asyncio.Event()

        def ended(_: object) -> None:
            lost.set()
            self._woken.set()

        connection.add_termination_listener(ended)
        async with asyncio.timeout(SILENCE):
            await connection.add_listener("airlock", self._notified)
            oldest = await self._beat(connection)
        self._seen = {table.name: oldest for table in TABLES}
        await self._load(connection)
        await self._beat(connection)
        self._set(replace(self.state, live=True, ever=True, attempts=0, problem=""))
        next_beat, next_tidy = steady() + BEAT, steady() + TIDY
        while True:
            if not self._dirty:
                self._woken.clear()
                try:
                    async with asyncio.timeout(max(0.0, next_beat - steady())):
                        await self._woken.wait()
                except TimeoutError:
                    pass
            if lost.is_set():
                raise DatabaseLost("The connection to the database was lost.")
            dirty, self._dirty = self._dirty, set()
            if dirty:
                oldest = await self._beat(connection)
                await self._refresh(connection, dirty)
                # Only for the tables just read: a change in another may be older than this beat, and
                # its notification still on the way.
                self._seen |= dict.fromkeys(dirty & self._seen.keys(), oldest)
            if steady() >= next_beat:
                await self._beat(connection)
                await self._vitals(connection)
                next_beat = steady() + BEAT
            if steady() >= next_tidy:
                await self._tidy(connection)
                next_tidy = steady() + TIDY

    def _notified(self, connection: object, pid: int, channel: str, payload: object) -> None:
        table = str(payload)
        self._dirty.add(table)
        self._woken.set()
        for listener in list(self._wake_up):
            _tell(listener, table)

    async def _beat(self, connection: Connection) -> int:
        """Asks for the time, which also proves that the connection lives. Returns the oldest open
        transaction: whatever it and later ones do will be read the next time."""
        asked = steady()
        async with asyncio.timeout(SILENCE):
            row = await connection.fetchrow(SQL.beat)
        assert row is not None
        heard = steady()
        self._clock.add(asked, row["at"], heard)
        self._set(replace(self.state, last_reply=heard, as_of=row["at"]))
        oldest: int = row["oldest"]
        return oldest

    async def _load(self, connection: Connection) -> None:
        """Everything, in one snapshot, and then one announcement."""
        changes: dict[str, frozenset[int]] = {}
        now = self._clock.now()
        self._sight = now + KEPT_FUTURE
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            self._dirty.clear()
            for table in TABLES:
                had = dict(table.rows(self.model))
                present: set[int] = set()
                changed: set[int] = set()
                arguments = (now - KEPT_PAST, now + KEPT_FUTURE) if table.name == "recorder_schedules" else ()
                async for page in self._pages(connection, getattr(SQL, f"load_{table.name}"), *arguments):
                    changed |= table.put(self.model, page, now)
                    present.update(record["id"] for record in page)
                for gone in had.keys() - present:
                    table.rows(self.model).pop(gone, None)
                    changed.add(gone)
                changes[table.name] = frozenset(changed)
            await self._singles(connection, {"plant", "leadership"})
            on_air = await self._on_air(connection)
        changes |= {"playout_as_run": on_air} if on_air else {}
        changes |= {"plant": frozenset({1}), "leadership": frozenset({0})}
        self.model.announce(changes)

    async def _refresh(self, connection: Connection, dirty: set[str]) -> None:
        now = self._clock.now()
        changes: dict[str, frozenset[int]] = {}
        for table in [t for t in TABLES if t.name in dirty]:
            rows = table.rows(self.model)
            changed: set[int] = set()
            # First what went, then what came: a row may be deleted and entered again under its number.
            async for page in self._since(connection, SQL.deleted, table, table.name):
                changed |= {r["row_id"] for r in page if rows.pop(r["row_id"], None) is not None}
            async for page in self._since(connection, getattr(SQL, f"changed_{table.name}"), table):
                changed |= table.put(self.model, page, now)
            if changed:
                changes[table.name] = frozenset(changed)
        changes |= await self._singles(connection, dirty)
        # Tables with no rows in the model: whoever shows them asks for its own page.
        changes |= {name: frozenset() for name in dirty & {"audit_log", "job_runs", "cron_jobs"}}
        if "playout_as_run" in dirty:
            changes["playout_as_run"] = await self._on_air(connection)
        self.model.announce(changes)

    async def _since(
        self, connection: Connection, statement: str, table: Table, *arguments: object
    ) -> AsyncIterator[list[asyncpg.Record]]:
        """What a statement finds from the table's last reading on. Almost always few rows, in one go."""
        since = self._seen[table.name]
        async with asyncio.timeout(SILENCE):
            records = await connection.fetch(statement, since, PAGE, *arguments)
        if len(records) < PAGE:
            yield records
            return
        async with connection.transaction(readonly=True):
            async for page in self._pages(connection, statement, since, 2**31 - 1, *arguments):
                yield page

    async def _pages(
        self, connection: Connection, statement: str, *arguments: object
    ) -> AsyncIterator[list[asyncpg.Record]]:
        """A large answer a page at a time; each must come in time, and others get their turn in between."""
        async with asyncio.timeout(SILENCE):
            cursor = await connection.cursor(statement, *arguments)
        while True:
            async with asyncio.timeout(SILENCE):
                page = await cursor.fetch(PAGE)
            self._set(replace(self.state, last_reply=steady()))
            if page:
                yield page
            if len(page) < PAGE:
                return
            await asyncio.sleep(0)

    async def _singles(self, connection: Connection, dirty: set[str]) -> Changes:
        changes: dict[str, frozenset[int]] = {}
        async with asyncio.timeout(SILENCE):
            if "plant" in dirty and (row := await connection.fetchrow(SQL.plant)) is not None:
                plant = build_plant(row)
                if plant != self.model.plant:
                    self.model.plant = plant
                    changes["plant"] = frozenset({1})
            if "leadership" in dirty:
                row = await connection.fetchrow(SQL.leader)
                leader = None if row is None else build_leader(row)
                if leader != self.model.leader:
                    self.model.leader = leader
                    changes["leadership"] = frozenset({0})
        return changes

    async def _on_air(self, connection: Connection) -> frozenset[int]:
        """The open rows of the as-run log, one a channel at most. Says whose changed."""
        async with asyncio.timeout(SILENCE):
            found = {r["channel_id"]: build_as_run(r) for r in await connection.fetch(SQL.on_air)}
        had = self.model.on_air
        changed = {c for c in had.keys() | found.keys() if had.get(c) != found.get(c)}
        had.clear()
        had.update(found)
        return frozenset(changed)

    async def _vitals(self, connection: Connection) -> None:
        """What changes all the time and therefore notifies nobody: heartbeats and growth."""
        changes: dict[str, frozenset[int]] = dict(await self._singles(connection, {"leadership"}))
        for table in TABLES:
            statement = getattr(SQL, f"vitals_{table.name}", None)
            if statement is None:
                continue
            rows = table.rows(self.model)
            changed: set[int] = set()
            async with asyncio.timeout(SILENCE):
                records = await connection.fetch(statement)
            for record in records:
                old = rows.get(record["id"])
                if old is None:
                    continue
                news = {k: v for k, v in record.items() if getattr(old, k) != v}
                if news:
                    rows[old.id] = replace(old, **news)
                    changed.add(old.id)
            if changed:
                changes[table.name] = frozenset(changed)
        self.model.announce(changes)

    async def _tidy(self, connection: Connection) -> None:
        """Lets go of what is past, and takes in windows that were too far ahead so far."""
        now = self._clock.now()
        changes = forget(self.model, now)
        sight = now + KEPT_FUTURE
        windows = next(t for t in TABLES if t.name == "recorder_schedules")
        async with connection.transaction(readonly=True):
            async for page in self._pages(connection, SQL.coming_recorder_schedules, self._sight, sight):
                came = windows.put(self.model, page, now)
                changes[windows.name] = changes.get(windows.name, frozenset()) | came
        self._sight = sight
        self.model.announce(changes)


def _tell(listener: Callable[[T], None], what: T) -> None:
    try:
        listener(what)
    except Exception:
        # One broken listener must not keep the others from hearing, nor the feed from going on.
        log.exception("a listener of the feed failed")
