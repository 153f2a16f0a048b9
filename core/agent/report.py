"""Tells the plant what this node does, and hears what its recorders are to be.

One connection of its own, made again whenever it is lost. Nothing here is a queue: what is reported
is the state as it is, so a database that was away for hours is told the truth in one go, and a
statement that is sent twice changes nothing. Recording never waits for any of this.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import asyncpg

from core import __version__
from core.agent.channel_report import compare_generations, report_deaths
from core.agent.channels import Channels
from core.agent.faults import FAULTS, Disk, disk_alarm, disk_key, fault_key, signal_alarm
from core.agent.orders import Definition
from core.agent.recorder import Recorder
from core.agent.session import Phase, Session
from core.alarms import store as alarms
from core.alarms.model import Condition
from core.clock import steady
from core.db.database import CONNECTION_ERRORS, Connection, Database, close_connection
from core.db.queries import beside
from core.errors import AirlockError, DatabaseLost

log = logging.getLogger(__name__)
SQL = beside(__file__, "report.sql")

BEAT = 1.0
SILENCE = 8.0  # a statement this late means the connection is dead; locks are given up before
RETRY = (0.1, 0.25, 0.5, 1.0, 2.0)
CAPABILITIES = ["record", "srt", "udp", "rtp", "rtmp", "rtsp", "hls", "file", "playout", "jobs"]


class Reporter:
    def __init__(
        self,
        database: Database,
        node: str,
        base_url: str,
        media: Path,
        recorders: Callable[[], Sequence[Recorder]],
        define: Callable[[list[Definition]], None],
        channels: Channels,
    ) -> None:
        self._database = database
        self._node = node
        self._base_url = base_url
        self._media = media
        self._recorders = recorders
        self._define = define
        self._channels = channels
        self._generations_changed = False
        self.node_id: int | None = None
        self.connected = False
        self.loaded = asyncio.Event()  # set at each load of the definitions
        self._woken = asyncio.Event()
        self._definitions_changed = False
        self._disk: Disk | None = None
        self._told: dict[int, tuple[Any, ...]] = {}
        self._raised: dict[str, str] | None = None  # None: not known what is open in the database
        self._live: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="report")

    def wake(self) -> None:
        self._woken.set()

    def reload(self) -> None:
        """Asks for the definitions again: somebody named a recorder that we do not know."""
        self.loaded.clear()
        self._definitions_changed = True
        self._woken.set()

    @property
    def disk(self) -> Disk | None:
        return self._disk

    async def stop(self) -> None:
        """Says goodbye if the database listens, and does not wait long for it."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if self.node_id is None:
            return
        try:
            async with asyncio.timeout(2):
                connection = await self._database.connect("agent")
                try:
                    await self._report(connection)
                    await connection.execute(SQL.recorders_offline, self.node_id)
                    await connection.execute(SQL.sign_off, self.node_id)
                finally:
                    await close_connection(connection, 0.5)
        except (AirlockError, TimeoutError, asyncpg.PostgresError, *CONNECTION_ERRORS) as error:
            log.info("could not sign off: %s", error)

    async def _run(self) -> None:
        failures = 0
        while True:
            try:
                connection = await self._database.connect("agent")
                try:
                    failures = 0
                    await self._follow(connection)
                finally:
                    self.connected = False
                    await asyncio.shield(close_connection(connection, 0.2))
            except AirlockError as error:
                problem = str(error)
            except (asyncpg.PostgresError, *CONNECTION_ERRORS) as error:
                problem = f"The connection to the database was lost: {error or type(error).__name__}."
            if failures in (0, 1) or failures % 100 == 0:
                log.warning("%s Recording goes on; reports follow when it is back.", problem)
            await asyncio.sleep(RETRY[min(failures, len(RETRY) - 1)])
            failures += 1

    async def _follow(self, connection: Connection) -> None:
        def lost(_: object) -> None:
            self._woken.set()

        connection.add_termination_listener(lost)
        await connection.add_listener("airlock", self._notified)
        self._told.clear()
        self._raised = None
        self._live.clear()
        self._disk = await asyncio.to_thread(_disk, self._media)
        async with asyncio.timeout(SILENCE):
            self.node_id = await connection.fetchval(
                SQL.register, self._node, self._base_url, CAPABILITIES, __version__, self._volumes()
            )
        log.info("node %s reports to %s", self._node, self._database.shown)
        self._definitions_changed = self._generations_changed = True
        next_beat = steady()
        while True:
            self._woken.clear()
            if connection.is_closed():
                raise DatabaseLost("The connection to the database was lost.")
            async with asyncio.timeout(SILENCE):
                # Before all else: a channel that is dark, and one that is on air where it should not be.
                await report_deaths(connection, self._channels)
                if self._generations_changed:
                    self._generations_changed = False
                    await compare_generations(connection, self._channels)
                if self._definitions_changed:
                    self._definitions_changed = False
                    self._define(
                        [_definition(r) for r in await connection.fetch(SQL.recorders, self.node_id)]
                    )
                    self.loaded.set()
                    self.connected = True
                await self._report(connection)
                if steady() >= next_beat:
                    next_beat = steady() + BEAT
                    await self._beat(connection)
            try:
                async with asyncio.timeout(max(next_beat - steady(), 0.0)):
                    await self._woken.wait()
            except TimeoutError:
                pass

    def _notified(self, connection: object, pid: int, channel: str, payload: object) -> None:
        if payload == "recorders":
            self._definitions_changed = True
            self._woken.set()
        elif payload == "playout_channels":
            self._generations_changed = True
            self._woken.set()

    def _volumes(self) -> list[dict[str, Any]]:
        return [] if self._disk is None else [asdict(self._disk)]

    # -- what is told at once --------------------------------------------------------------------

    async def _report(self, connection: Connection) -> None:
        await self._report_recorders(connection)
        for recorder in self._recorders():
            for session in recorder.sessions:
                await self._report_session(connection, session)
        await self._report_alarms(connection)

    async def _report_recorders(self, connection: Connection) -> None:
        changed = []
        for recorder in self._recorders():
            if recorder.definition is None:
                continue
            current = recorder.current
            begun = current is not None and current.began_at is not None
            state = (
                recorder.definition.id,
                "recording" if begun else "idle",
                current.id if begun and current is not None else None,
                recorder.error,
                {"faults": sorted(recorder.faults)} if begun else {},
            )
            if self._told.get(recorder.definition.id) != state:
                changed.append(state)
        if changed:
            await connection.execute(
                SQL.recorder_states, self.node_id, *map(list, zip(*changed, strict=True))
            )
            self._told |= {state[0]: state for state in changed}

    async def _report_session(self, connection: Connection, session: Session) -> None:
        if session.reported or session.began_at is None:
            return
        if session.id not in self._live:
            await connection.execute(
                SQL.asset_live, self.node_id, session.recorder_id, session.id, session.name, session.path,
                session.window, session.attempt, session.container, session.size,
                max(time.time() - session.began_at, 0.0),
            )  # fmt: skip
            self._live.add(session.id)
        if session.phase == Phase.ENDED and session.proof is not None:
            proof = session.proof
            # What was captured before a recording broke off is a recording too, and says so.
            status = "ready" if proof["covers"] else "error"
            found = " ".join(sentence for sentence in (session.error, proof["problem"]) if sentence)
            await connection.execute(
                SQL.asset_ended, session.recorder_id, session.id, status, proof["size"], proof["duration_s"],
                found or None, {"expected_s": proof["expected_s"], "stopped_by_us": session.stopped_by_us},
            )  # fmt: skip
            session.reported = True
            session.save()
            self._live.discard(session.id)

    # -- alarms ----------------------------------------------------------------------------------

    def _conditions(self) -> dict[str, Condition]:
        found = []
        for recorder in self._recorders():
            current = recorder.current
            if current is not None:
                found += [
                    signal_alarm(current.recorder_id, current.recorder_name, f) for f in recorder.faults
                ]
        rate = sum(r.watch.rate for r in self._recorders() if r.watch is not None)
        if self._disk is not None and (low := disk_alarm(self._node, self._disk, rate)) is not None:
            found.append(low)
        return {condition.key: condition for condition in found}

    async def _report_alarms(self, connection: Connection) -> None:
        wanted = self._conditions()
        if self._raised is None:
            # A fresh connection: what an earlier agent left open is cleared where it no longer holds.
            ours = {fault_key(r.definition.id, f) for r in self._recorders() if r.definition for f in FAULTS}
            self._raised = dict.fromkeys(ours | {disk_key(self._node)}, "")
        for key, condition in wanted.items():
            # The text may name a figure that changes every second; only the urgency is news.
            if self._raised.get(key) != condition.priority.word:
                await alarms.raise_alarm(connection, condition, repeat=bool(self._raised.get(key)))
                self._raised[key] = condition.priority.word
        for key in [k for k in self._raised if k not in wanted]:
            await alarms.clear_alarm(connection, key)
            del self._raised[key]

    # -- once a second ---------------------------------------------------------------------------

    async def _beat(self, connection: Connection) -> None:
        self._disk = await asyncio.to_thread(_disk, self._media)
        if await connection.fetchval(SQL.heartbeat, self.node_id, self._volumes()) is None:
            raise DatabaseLost("The node was removed from the plant and is entered again.")
        growing = [
            (c.recorder_id, c.id, r.watch.size, r.watch.grown_at - r.watch.began, steady() - r.watch.grown_at)
            for r in self._recorders()
            if (c := r.current) is not None and r.watch is not None
        ]
        if growing:
            await connection.execute(SQL.growth, *map(list, zip(*growing, strict=True)))


def _definition(row: asyncpg.Record) -> Definition:
    settings = row["settings"] if isinstance(row["settings"], dict) else {}
    return Definition(row["id"], row["name"], row["external_id"], row["source"], settings)


def _disk(folder: Path) -> Disk | None:
    try:
        usage = shutil.disk_usage(folder)
    except OSError as error:
        log.warning("the media folder %s cannot be looked at: %s", folder, error)
        return None
    return Disk(str(folder), usage.total, usage.free)
