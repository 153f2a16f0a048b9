"""The node agent: takes over what the agent before it left running, serves, reports, and goes.

What must stay true: an agent that ends, however it ends, leaves its recordings running and its channels
on air; the next one knows every session and every sidecar before it answers the first request.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import fasteners

from core import __version__, tls
from core.agent.channels import Channels
from core.agent.errors import AgentError, UnknownRecorder
from core.agent.job_worker import JobWorker
from core.agent.orders import Definition, Workshop
from core.agent.preflight import Preflight
from core.agent.recorder import Recorder
from core.agent.report import Reporter
from core.agent.server import Server
from core.agent.session import KEPT_DAYS, Phase, SessionStore
from core.agent.settings import AgentSettings
from core.db.database import Database
from core.errors import PlantError

log = logging.getLogger(__name__)
STATE = "agent.json"
DEFINITIONS = "recorders.json"
TIDY = 3600.0
LOOKUP = 1.5  # how long a request for an unknown recorder waits for the database to name it


class Agent:
    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._store = SessionStore(settings.home / "sessions")
        self._spawner = ThreadPoolExecutor(8, "spawn")
        self._shop = Workshop(settings.ffmpeg_path, settings.media, self._store, self._spawner, self._changed)
        self.recorders: dict[str, Recorder] = {}
        self.channels = Channels(settings, self._spawner, self._changed)
        preflight = Preflight(settings.ffmpeg_path, settings.media)
        self._server = Server(settings.token, self._lookup, preflight, self.channels, self._health)
        self._reporter: Reporter | None = None
        self._jobs = JobWorker(settings)
        self.base_url = ""

    async def run(self, stop: asyncio.Event) -> None:
        await self._take_over()
        await self._listen()
        database = Database(self._settings.database_url, self._settings.node)
        self._reporter = Reporter(
            database,
            self._settings.node,
            self.base_url,
            self._settings.media,
            lambda: list(self.recorders.values()),
            self._define,
            self.channels,
        )
        self._reporter.start()
        self._jobs.start()
        log.info("node %s listens on %s", self._settings.node, self.base_url)
        try:
            while not stop.is_set():
                self._tidy()
                try:
                    async with asyncio.timeout(TIDY):
                        await stop.wait()
                except TimeoutError:
                    pass
        finally:
            await self._server.close()
            await asyncio.gather(self._reporter.stop(), self._jobs.stop())
            await asyncio.gather(*(r.let_go() for r in self.recorders.values()), self.channels.let_go())
            self._spawner.shutdown(wait=True)
            log.info("node %s ends; recordings and channels go on", self._settings.node)

    def _changed(self) -> None:
        if self._reporter is not None:
            self._reporter.wake()

    # -- start -----------------------------------------------------------------------------------

    async def _take_over(self) -> None:
        for definition in _read_definitions(self._settings.home / DEFINITIONS):
            self._recorder(definition.external_id).definition = definition
        sessions = await asyncio.to_thread(lambda: list(self._store.load()))
        await asyncio.gather(*(self._recorder(s.external_id).resume(s) for s in sessions))
        await self.channels.take_over()

    def _identity(self) -> ssl.SSLContext | None:
        certificate = self._settings.certificate
        return None if certificate is None else tls.identity(certificate, self._settings.key)

    async def _listen(self) -> None:
        kept = _read_json(self._settings.home / STATE).get("port")
        wanted = self._settings.port or (kept if isinstance(kept, int) else 0)
        try:
            port = await self._server.listen(self._settings.host, wanted, self._identity())
        except OSError as error:
            if self._settings.port or error.errno != errno.EADDRINUSE:
                raise AgentError(
                    f"The agent cannot listen on {self._settings.host}:{wanted}: {error.strerror or error}."
                ) from error
            # Somebody took our port while we were away: any other will do, the plant is told.
            await self._server.close()
            port = await self._server.listen(self._settings.host, 0, self._identity())
        self.base_url = f"{self._settings.scheme}://{self._settings.shown_host}:{port}"
        _write_json(
            self._settings.home / STATE,
            {"port": port, "base_url": self.base_url, "pid": os.getpid(), "node": self._settings.node},
        )

    # -- recorders -------------------------------------------------------------------------------

    def _recorder(self, external_id: str) -> Recorder:
        if external_id not in self.recorders:
            self.recorders[external_id] = Recorder(external_id, self._shop)
        return self.recorders[external_id]

    def _define(self, definitions: list[Definition]) -> None:
        """What the database says now. A recorder that left this node keeps its running session."""
        wanted = {d.external_id: d for d in reversed(definitions)}
        had = {e: r.definition for e, r in self.recorders.items() if r.definition is not None}
        if wanted == had:
            return
        for external_id, definition in wanted.items():
            self._recorder(external_id).definition = definition
        for external_id in had.keys() - wanted.keys():
            self.recorders[external_id].definition = None
        _write_json(self._settings.home / DEFINITIONS, [asdict(d) for d in wanted.values()])

    async def _lookup(self, external_id: str) -> Recorder:
        recorder = self.recorders.get(external_id)
        if recorder is not None and (recorder.definition is not None or recorder.sessions):
            return recorder
        if self._reporter is not None and self._reporter.connected:
            # It may have been made a moment ago.
            self._reporter.reload()
            try:
                async with asyncio.timeout(LOOKUP):
                    await self._reporter.loaded.wait()
            except TimeoutError:
                pass
        recorder = self.recorders.get(external_id)
        if recorder is None or (recorder.definition is None and not recorder.sessions):
            raise UnknownRecorder(f"The node {self._settings.node} has no recorder {external_id[:100]}.")
        return recorder

    def _tidy(self) -> None:
        """Forgets sessions that nobody will ask for any more."""
        oldest = time.time() - KEPT_DAYS * 86400
        for recorder in self.recorders.values():
            for session in recorder.sessions:
                if session.phase == Phase.ENDED and session.reported and (session.ended_at or 0) < oldest:
                    recorder.forget(session)
                    self._store.forget(session)
        self.channels.tidy()

    def _health(self) -> dict[str, Any]:
        reporter = self._reporter
        disk = None if reporter is None else reporter.disk
        return {
            "status": "ok",
            "node": self._settings.node,
            "version": __version__,
            "pid": os.getpid(),
            "database": bool(reporter is not None and reporter.connected),
            "recorders": {e: r.status for e, r in self.recorders.items() if r.definition is not None},
            "spawn_ms": {
                e: round(r.spawn_ms, 2) for e, r in self.recorders.items() if r.spawn_ms is not None
            },
            "channels": self.channels.running(),
            "jobs": self._jobs.pid,
            "volumes": [] if disk is None else [asdict(disk)],
        }


async def run_agent(settings: AgentSettings, stop: asyncio.Event) -> None:
    """Runs until told to stop. Raises an AirlockError with a sentence when it cannot begin."""
    if not settings.token:
        raise AgentError("The agent has no token: set AIRLOCK_TOKEN.")
    if not settings.node.strip():
        raise AgentError("The agent has no node name.")
    for folder in (settings.home, settings.media):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PlantError(f"The folder {folder} cannot be made: {error.strerror or error}.") from error
    lock = fasteners.InterProcessLock(settings.home / ".running")
    if not lock.acquire(blocking=False):
        raise AgentError(
            f"Another agent works in {settings.home}: end it, or give this one a folder of its own."
        )
    try:
        await Agent(settings).run(stop)
    finally:
        lock.release()


def _read_definitions(path: Path) -> list[Definition]:
    """What the recorders were when the database was last heard: an agent can start without it."""
    try:
        return [Definition(**d) for d in json.loads(path.read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        log.warning("%s cannot be read and is made again: %s", path, error)
        return []


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_json(path: Path, content: object) -> None:
    partial = path.with_suffix(".part")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file)
    partial.replace(path)
