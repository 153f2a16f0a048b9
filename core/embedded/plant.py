"""The embedded plant as a whole: its folder, its secret, its database, and when it may be stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from pathlib import Path

import asyncpg

from core.agent.launch import launch_agent, stop_agent
from core.db.database import Database, close_connection
from core.db.migrate import migrate
from core.db.queries import beside
from core.embedded import caretaker, demo, demo_channels
from core.embedded.postgres import EmbeddedPostgres
from core.embedded.timezone import local_timezone
from core.errors import AirlockError, EmbeddedPlantError

log = logging.getLogger(__name__)
SQL = beside(__file__, "plant.sql")
USED = "used by "  # as plant.sql says of other stations


class EmbeddedPlant:
    def __init__(self, home: Path) -> None:
        self.home = home
        self._postgres = EmbeddedPostgres(home)
        self.url = ""

    async def open(self) -> str:
        """Starts the database if it does not run, makes its tables, and returns its address.

        The first run lays down the demonstration plant.
        """
        running = await asyncio.to_thread(self._postgres.start)
        self.url = running.url
        connection = await Database(self.url, "opening").connect("opening")
        try:
            await migrate(connection)
            await demo.lay(connection, await connection.fetchval(demo.SQL.now), local_timezone())
        finally:
            await close_connection(connection)
        return self.url

    async def start_agents(self) -> None:
        """Starts the local agents that do not run. They outlive this program, like the database."""
        token = self.token()
        await asyncio.gather(*(self._start_agent(node, token) for node in demo.NODES))

    async def _start_agent(self, node: str, token: str) -> None:
        try:
            await asyncio.to_thread(
                launch_agent, node, self.url, token, self.home / "agents" / node, self.home / "media"
            )
        except AirlockError as error:
            # The node then shows as offline, and its recorders as not reachable.
            log.error("%s", error)

    async def show_channels(self) -> None:
        """Makes the demonstration's clips and has its channels on air; runs until it is cancelled."""
        await demo_channels.keep_on_air(Database(self.url, "demonstration"), self.home / "media")

    async def rest_channels(self, me: str, *, all_the_same: bool = False) -> None:
        """Before the station `me` leaves: the demonstration's channels go off air when nothing else keeps the plant."""
        try:
            under_way = [what for what in await self.work_under_way() if what != USED + me]
            if all_the_same or not under_way:
                await demo_channels.rest(Database(self.url, "demonstration"))
        except (AirlockError, OSError, asyncpg.PostgresError) as error:
            log.warning("the demonstration's channels could not be put off air: %s", error)

    def token(self) -> str:
        """The plant's secret, made at first use and readable by its owner alone."""
        path = self.home / "token"
        try:
            if not (token := _read(path)):
                self.home.mkdir(parents=True, exist_ok=True)
                with self._postgres.folder_lock():
                    token = _read(path) or _make_token(path)
            return token
        except OSError as error:
            raise EmbeddedPlantError(
                f"The plant's secret {path} cannot be kept: {error.strerror}."
            ) from error

    async def work_under_way(self) -> list[str]:
        """What would be cut off if the plant stopped now, in words. Empty: it may stop."""
        connection = await Database(self.url, "closing").connect("closing")
        try:
            return [str(r["what"]) for r in await connection.fetch(SQL.work_under_way, caretaker.NAME)]
        finally:
            await close_connection(connection)

    async def close_if_idle(self, *, leave_caretaker: bool = False) -> bool:
        """Stops the database unless work is under way or somebody else is connected. With `leave_caretaker`, work
        that nobody else looks after gets somebody who does."""
        try:
            # The server needs a moment to notice that our own sessions have ended.
            for _ in range(10):
                under_way = await self.work_under_way()
                if not under_way or not all(what.startswith(USED) for what in under_way):
                    break
                await asyncio.sleep(0.05)
        except (AirlockError, asyncpg.PostgresError) as error:
            log.info("the embedded plant was not asked whether it is idle: %s", error)
            return False
        if under_way:
            log.info("the embedded plant goes on: %s", "; ".join(under_way))
            if leave_caretaker and not any(what.startswith(USED) for what in under_way):
                await asyncio.to_thread(caretaker.leave_behind, self.home)
            return False
        await self.close()
        return True

    async def close(self) -> None:
        """Ends the agents, then the database. Recordings that run go on without either."""
        await asyncio.gather(
            *(asyncio.to_thread(stop_agent, self.home / "agents" / node) for node in demo.NODES)
        )
        await asyncio.to_thread(self._postgres.stop)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def _make_token(path: Path) -> str:
    made = secrets.token_urlsafe(32)
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(
        os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(made)
    draft.replace(path)  # whole or not at all: nobody ever reads half a secret
    return made
