"""A plant with one node: a real agent, real ffmpeg, a real database, spoken to over HTTP."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import imageio_ffmpeg
import psutil
import pytest

from core.agent import patterns
from core.agent.agent import run_agent
from core.agent.settings import AgentSettings
from core.db.database import Connection
from tests.patience import STEP, Patience

TOKEN = "the plant's secret"
FFMPEG: str = imageio_ffmpeg.get_ffmpeg_exe()
QUICK = {"black_s": 1, "freeze_s": 1, "silence_s": 1, "stalled_s": 2.5}


@dataclass
class Answer:
    status: int
    body: dict[str, Any]


async def until(
    condition: Callable[[], Awaitable[Any]], within: float = 6.0, what: str = "the condition"
) -> Any:
    patience = Patience(within)
    while not (found := await condition()):
        if patience.over():
            pytest.fail(f"{what} did not hold within {within} s")
        await asyncio.sleep(STEP)
    return found


@dataclass
class Rig:
    url: str
    home: Path
    connection: Connection
    http: aiohttp.ClientSession
    base: str = ""
    _stop: asyncio.Event | None = None
    _task: asyncio.Task[None] | None = None
    node_id: int = 0
    subprocesses: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def media(self) -> Path:
        return self.home / "media"

    @property
    def settings(self) -> AgentSettings:
        return AgentSettings(self.url, "NODE-1", TOKEN, self.home / "agent", self.media)

    async def start_agent(self) -> None:
        """In this process, on this loop."""
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(run_agent(self.settings, self._stop))
        await self._registered(lambda: self._task is not None and self._task.done())

    async def _registered(self, dead: Callable[[], bool]) -> None:
        async def online() -> Any:
            if dead():
                pytest.fail("the agent ended as it started")
            return await self.connection.fetchrow("SELECT id, base_url FROM nodes WHERE status = 'online'")

        row = await until(online, what="the node is online")
        self.node_id, self.base = row["id"], row["base_url"]

    async def stop_agent(self) -> None:
        if self._stop is not None and self._task is not None:
            self._stop.set()
            await self._task
        self._stop = self._task = None

    async def start_agent_process(self) -> subprocess.Popen[bytes]:
        """As a process of its own, which can be killed."""
        await self.connection.execute("UPDATE nodes SET status = 'offline'")
        environment = {**os.environ, "AIRLOCK_TOKEN": TOKEN, "AIRLOCK_DATABASE_URL": self.url}
        settings = self.settings
        with (self.home / "agent.log").open("ab") as log:
            process = subprocess.Popen(  # noqa: ASYNC220
                [sys.executable, "-m", "core.agent", "--node", settings.node,
                 "--home", str(settings.home), "--media", str(settings.media)],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )  # fmt: skip
        self.subprocesses.append(process)
        await self._registered(lambda: process.poll() is not None)
        return process

    async def recorder(self, name: str, source: str = "test:bars", **settings: Any) -> int:
        made: int = await self.connection.fetchval(
            "INSERT INTO recorders (name, node_id, external_id, source, settings) "
            "VALUES ($1, $2, $1, $3, $4) RETURNING id",
            name,
            self.node_id,
            source,
            settings,
        )
        return made

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        key: str = "",
        token: str | None = TOKEN,
        raw: bytes | None = None,
    ) -> Answer:
        headers = {"x-internal-token": token} if token is not None else {}
        if key:
            headers["Idempotency-Key"] = key
        extra: dict[str, Any] = {"data": raw} if raw is not None else {"json": body}
        async with self.http.request(method, self.base + path, headers=headers, **extra) as response:
            return Answer(response.status, await response.json())

    async def start(self, recorder: str, key: str = "1:1", **body: Any) -> Answer:
        return await self.call("POST", f"/api/v1/recorders/{recorder}/start", body, key)

    async def record(self, recorder: str, key: str = "1:1", **body: Any) -> str:
        answer = await self.start(recorder, key, **body)
        assert answer.status == 200, answer.body
        session: str = answer.body["current_session_id"]
        return session

    async def stop(self, recorder: str, session: str) -> Answer:
        return await self.call("POST", f"/api/v1/recorders/{recorder}/stop", {"session_id": session})

    async def state(self, recorder: str) -> dict[str, Any]:
        return (await self.call("GET", f"/api/v1/recorders/{recorder}")).body

    async def row(self, recorder: str) -> Any:
        return await self.connection.fetchrow("SELECT * FROM recorders WHERE name = $1", recorder)

    async def asset(self, session: str) -> Any:
        return await self.connection.fetchrow("SELECT * FROM assets WHERE session_id = $1", session)

    def ffmpegs(self) -> list[psutil.Process]:
        """Every recording process of this rig, whoever started it."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            line = process.info["cmdline"] or []
            if line and line[0] == FFMPEG and any(str(self.home) in part for part in line):
                found.append(process)
        return [p for p in found if p.status() != psutil.STATUS_ZOMBIE]

    async def close(self) -> None:
        await self.stop_agent()
        for process in self.subprocesses:
            process.kill()
            process.wait()
        for recording in self.ffmpegs():
            recording.send_signal(signal.SIGKILL)


@pytest.fixture
async def rig(plant: str, connection: Connection, tmp_path: Path) -> AsyncIterator[Rig]:
    async with aiohttp.ClientSession() as http:
        made = Rig(plant, tmp_path, connection, http)
        await made.start_agent()
        yield made
        await made.close()


def duration_of(file: str) -> float:
    """By decoding every picture of it: an oracle that shares nothing with the agent's own proof."""
    done = subprocess.run(
        [FFMPEG, "-hide_banner", "-nostdin", "-i", file, "-map", "0:v:0", "-f", "null", "-"],
        capture_output=True,
        check=True,
        text=True,
    )
    hours, minutes, seconds = re.findall(r"time=(\d+):(\d+):([\d.]+)", done.stderr)[-1]
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def frame_numbers(file: str, pattern: str = "bars", height: int = patterns.HEIGHT) -> list[int | None]:
    """The burnt-in number of every picture in a file."""
    done = subprocess.run(
        [FFMPEG, "-nostdin", "-loglevel", "error", "-i", file, "-map", "0:v:0", "-f", "rawvideo",
         "-pix_fmt", "gray", "-fps_mode", "passthrough", "-"],
        capture_output=True,
        check=True,
    )  # fmt: skip
    width, height = patterns.size_for(height)
    size = width * height
    pictures = [done.stdout[i : i + size] for i in range(0, len(done.stdout), size)]
    return [patterns.read_frame_of_day(picture, pattern, height) for picture in pictures]


def has_no_gap(numbers: list[int | None]) -> bool:
    known = [n for n in numbers if n is not None]
    follows = [(b - a) % patterns.FRAMES_A_DAY == 1 for a, b in itertools.pairwise(known)]
    return len(known) == len(numbers) > 0 and all(follows)
