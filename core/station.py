"""A station: connect, keep the picture, contend for the lead, and run the lanes while leading.

The desktop application and the headless scheduler are both this, with or without a window.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg
import psutil

from core import __version__
from core.alarms import store as alarms
from core.alarms.local import LocalAlarms, outage
from core.clock import DatabaseClock
from core.commands import Actor, Commander
from core.db.database import (
    CONNECTION_ERRORS,
    AnyConnection,
    Database,
    close_connection,
    refuse_transaction_pooler,
)
from core.db.database import SQL as DATABASE_SQL
from core.db.migrate import migrate
from core.db.queries import beside
from core.errors import DatabaseLost, PlantError
from core.feed import Feed, FeedState
from core.housekeeping import Housekeeping
from core.lanes import Lane, Lanes
from core.leadership import Lead, Leadership
from core.pauses import Collector
from core.read_model import ReadModel
from core.recording.pictures import Pictures
from core.roles import Role

log = logging.getLogger(__name__)
SQL = beside(__file__, "station.sql")

BEAT = 1.0
DRAIN = 5.0
WORTH_RECORDING = 3.0  # seconds without a database that belong into the alarm history


@dataclass(frozen=True)
class Identity:
    """What a station calls itself. The name may get a number when another one has it already."""

    name: str
    kind: str  # desktop or headless
    operator: str


def default_name() -> str:
    return socket.gethostname().split(".")[0].upper() or "STATION"


class Station:
    def __init__(
        self,
        database_url: str,
        identity: Identity,
        extra_lanes: Sequence[Lane] = (),
        token: str = "",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.identity = identity
        self.instance = uuid.uuid4()
        self.clock = DatabaseClock()
        self.model = ReadModel()
        self.database = Database(database_url, identity.name)
        self.feed = Feed(self.database, self.clock, self.model)
        self.pictures = Pictures(token, tls)
        self.role = Role.VIEWER
        self.commander = Commander(self.database, self._actor)
        self.local_alarms = LocalAlarms(self.clock)
        self._lanes = Lanes([Housekeeping(), *extra_lanes], self.clock, self.feed.on_wake_up)
        self.leadership = Leadership(self.database, self.clock, self._lead_changed)
        self.loop_lag_ms: Callable[[], float | None] = lambda: None
        self._beat_task: asyncio.Task[None] | None = None
        self._collector_task: asyncio.Task[None] | None = None
        self._outage_task: asyncio.Task[None] | None = None
        self._lead_listeners: list[Callable[[Lead | None], None]] = []

    @property
    def name(self) -> str:
        return self.database.station

    @property
    def leading(self) -> bool:
        return self.leadership.lead is not None

    def _actor(self) -> Actor:
        return Actor(self.identity.operator, self.name, self.role)

    def on_lead(self, listener: Callable[[Lead | None], None]) -> Callable[[], None]:
        self._lead_listeners.append(listener)
        return lambda: self._lead_listeners.remove(listener)

    async def start(self, *, observe: bool = False) -> None:
        """Opens the plant. Raises PlantError or DatabaseLost with a sentence when that cannot be.

        An observer only looks: like a viewer it is on no list and does not contend for the lead.
        """
        await refuse_transaction_pooler(self.database)
        connection = await self.database.connect("setup")
        try:
            await migrate(connection)
            self.role = Role.named(await connection.fetchval(DATABASE_SQL.role))
            takes_part = self.role > Role.VIEWER and not observe
            if takes_part:
                await self._register(connection)
        finally:
            await close_connection(connection)
        await self.database.open()
        self.feed.on_state(self._feed_changed)
        self.feed.start()
        self._collector_task = asyncio.create_task(
            Collector().run(self.model, self.clock.now), name="collector"
        )
        if takes_part:
            self._beat_task = asyncio.create_task(self._beat(), name="station heartbeat")
            self.leadership.start()
        log.info("station %s on %s as %s", self.name, self.database.shown, self.role.title)

    async def stop(self) -> None:
        """Takes on nothing new, finishes what is under way, gives up the lead, leaves the list."""
        if self._collector_task is not None:
            self._collector_task.cancel()
            await asyncio.gather(self._collector_task, return_exceptions=True)
        await self._lanes.drain(DRAIN)
        await self.leadership.leave()
        if self._beat_task is not None:
            self._beat_task.cancel()
            await asyncio.gather(self._beat_task, return_exceptions=True)
            await self._sign_off()
        await self.feed.stop()
        await self.pictures.close()
        await self.database.close()

    async def _register(self, connection: AnyConnection) -> None:
        """Enters the station under the first free form of its name: two on one desk get NAME and NAME-2."""
        for number in range(1, 100):
            name = self.identity.name if number == 1 else f"{self.identity.name}-{number}"
            holder = await connection.fetchval(SQL.holder, name, socket.gethostname())
            if await connection.fetchval(
                SQL.register,
                name,
                self.identity.kind,
                socket.gethostname(),
                os.getpid(),
                self.instance,
                __version__,
                self.identity.operator,
                self.role.name.lower(),
                holder is not None and not psutil.pid_exists(holder),
            ):
                self.database.station = name
                return
        raise PlantError(
            f"More than ninety stations are called {self.identity.name}: give this one a name of its own."
        )

    async def _beat(self) -> None:
        while True:
            try:
                async with self.database.acquire() as connection:
                    known = await connection.fetchval(
                        SQL.beat,
                        self.name,
                        self.instance,
                        None if self.clock.round_trip is None else self.clock.round_trip * 1000,
                        self.clock.workstation_offset * 1000,
                        self.loop_lag_ms(),
                    )
                    if not known:
                        # Somebody took the name while we were away, or cleaned the list.
                        await self._register(connection)
            except (DatabaseLost, asyncpg.PostgresError) as error:
                log.info("heartbeat: %s", error)
            await asyncio.sleep(BEAT)

    async def _sign_off(self) -> None:
        try:
            async with asyncio.timeout(1), self.database.acquire() as connection:
                await connection.execute(SQL.leave, self.name, self.instance)
        except (DatabaseLost, TimeoutError, asyncpg.PostgresError) as error:
            log.info("could not sign off: %s", error)

    def _lead_changed(self, lead: Lead | None) -> None:
        if lead is None:
            self._lanes.cut()
        else:
            self._lanes.start(lead)
        for listener in list(self._lead_listeners):
            listener(lead)

    def _feed_changed(self, state: FeedState) -> None:
        if not state.live and state.ever:
            self.local_alarms.database_lost(self.database.where, state.as_of)
        elif state.live and (began := self.local_alarms.database_back()) is not None:
            self._outage_task = asyncio.create_task(self._record_outage(began), name="record the outage")

    async def _record_outage(self, began: datetime) -> None:
        lasted = (self.clock.now() - began).total_seconds()
        if lasted < WORTH_RECORDING or self.role < Role.OPERATOR:
            return
        try:
            async with self.database.acquire() as connection:
                await alarms.record_past(connection, outage(self.name, lasted), began)
        except (DatabaseLost, asyncpg.PostgresError, *CONNECTION_ERRORS) as error:
            log.info("could not enter the outage into the alarm history: %s", error)
