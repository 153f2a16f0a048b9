"""Keeps a job worker running beside the agent, in a process of its own and at the lowest priority.

What must stay true: whatever the worker does, the agent goes on as if it were not there; the worker leaves when the
agent ends, however it ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from pathlib import Path

from core.agent.settings import AgentSettings
from core.clock import steady

log = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parents[2]
LATER = 2.0  # the recorders come first, also at the start
PATIENCE = 4.0  # a worker that leaves lets its handlers finish, within its own limit
AGAIN = (0.5, 2.0, 10.0, 60.0)
SETTLED = 60.0


class JobWorker:
    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._task: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    def start(self) -> None:
        if self._settings.jobs > 0:
            self._task = asyncio.create_task(self._keep(), name="job worker")

    async def stop(self) -> None:
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        process = self._process
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(PATIENCE):
                await process.wait()
        except TimeoutError:
            log.warning("the job worker did not leave in time and is ended")
            process.kill()
            await process.wait()

    async def _keep(self) -> None:
        await asyncio.sleep(LATER)
        failures = 0
        while True:
            began = steady()
            try:
                await self._run()
            except OSError as error:
                log.error("the job worker cannot be started: %s", error.strerror or error)
            failures = 0 if steady() - began > SETTLED else failures + 1
            await asyncio.sleep(AGAIN[min(failures, len(AGAIN)) - 1])

    async def _run(self) -> None:
        settings = self._settings
        # What it writes goes where the agent's own log goes.
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "core.jobs", "--node", settings.node, "--media", str(settings.media),
            "--ffmpeg", settings.ffmpeg_path, "--concurrency", str(settings.jobs),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=ROOT,
            env={**os.environ, "AIRLOCK_DATABASE_URL": settings.database_url},
        )  # fmt: skip
        code = await self._process.wait()
        log.warning("the job worker ended (%s) and is started again", code)
