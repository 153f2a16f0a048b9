"""Where contestants run: a PostgreSQL as durable as a plant's, the recorder's process, one contestant at a time."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import asyncpg

from core.db.database import Database
from core.db.migrate import migrate
from core.embedded.postgres import EmbeddedPostgres

ROOT = Path(__file__).parents[2]
LATE_ANSWERS = 2.0  # seconds after the last due time that starts may still come in


@dataclass(frozen=True)
class Window:
    """A window to be recorded: when it begins after the contest does, on which recorder, for how long."""

    after: float
    recorder: int
    lasts: float


class Arena:
    def __init__(self, server: str, recorder: str) -> None:
        self.server = server
        self.recorder = recorder
        self._databases = 0

    async def database(self) -> str:
        self._databases += 1
        name = f"bench_{self._databases}"
        admin = await asyncpg.connect(self.server)
        await admin.execute(f"CREATE DATABASE {name}")
        await admin.close()
        return self.server.replace("/postgres?", f"/{name}?")

    async def plant(self, recorders: int) -> str:
        """A migrated plant with so many recorders, all at the receiver."""
        url = await self.database()
        connection = await Database(url, "bench").connect("bench")
        await migrate(connection)
        await connection.execute(
            "INSERT INTO recorders (name, base_url, external_id, status) "
            "SELECT 'rec-' || n, $1, 'rec-' || n, 'idle' FROM generate_series(0, $2 - 1) n",
            self.recorder, recorders,
        )  # fmt: skip
        await connection.close()
        return url

    async def insert(self, url: str, windows: list[Window], begin: float) -> list[int]:
        """Their numbers, in order."""
        connection = await asyncpg.connect(url)
        rows = await connection.fetch(
            "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) "
            "SELECT 'News', r.id, to_timestamp(w.at), to_timestamp(w.at + w.lasts) "
            "FROM unnest($1::float8[], $2::text[], $3::float8[]) WITH ORDINALITY w (at, recorder, lasts, n) "
            "JOIN recorders r ON r.name = w.recorder ORDER BY w.n RETURNING id",
            [begin + w.after for w in windows],
            [f"rec-{w.recorder}" for w in windows],
            [w.lasts for w in windows],
        )
        await connection.close()
        return [row["id"] for row in rows]

    async def arrivals(self) -> list[tuple[int, float]]:
        async with aiohttp.ClientSession() as http, http.get(f"{self.recorder}/arrivals") as answer:
            return [(window, at) for window, at in json.loads(await answer.read())]

    @asynccontextmanager
    async def contestant(
        self, module: str, arguments: list[str], url: str, due: list[tuple[int, float]]
    ) -> AsyncIterator[None]:
        """Runs one, ready, for as long as the block."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, *arguments, cwd=ROOT,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(
                json.dumps({"recorder": self.recorder, "database": url, "due": due}).encode() + b"\n"
            )
            await process.stdin.drain()
            said = await asyncio.wait_for(process.stdout.readline(), 60)
            if said != b"ready\n":
                raise RuntimeError(f"{module} {' '.join(arguments)} did not get ready: {said!r}")
            yield
        finally:
            process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), 15)
            except TimeoutError:
                process.kill()
                await process.wait()

    async def contest(
        self, module: str, arguments: list[str], windows: list[Window], lead: float, plant: str | None = None
    ) -> list[float]:
        """The lateness of each window in seconds, in order. The contestant has `lead` seconds to prepare."""
        await self.arrivals()
        begin = time.time() + lead
        url = plant or await self.database()
        ids = await self.insert(url, windows, begin) if plant else list(range(len(windows)))
        due = {number: begin + window.after for number, window in zip(ids, windows, strict=True)}
        async with self.contestant(module, arguments, url, [] if plant else list(due.items())):
            if (left := min(due.values()) - time.time()) < 0.2:
                raise RuntimeError(
                    f"{module} {' '.join(arguments)} needs {0.5 - left:.1f} s more to prepare itself."
                )
            await asyncio.sleep(max(due.values()) - time.time() + LATE_ANSWERS)
            noted = await self.arrivals()
        arrived: dict[int, float] = {}
        for window, at in noted:
            if window in arrived:
                raise RuntimeError(f"{module} started window {window} twice.")
            arrived[window] = at
        if missing := due.keys() - arrived.keys():
            raise RuntimeError(
                f"{module} {' '.join(arguments)} did not start {len(missing)} of {len(due)} windows."
            )
        return [arrived[number] - due[number] for number in ids]


@asynccontextmanager
async def open_arena() -> AsyncIterator[Arena]:
    home = Path(tempfile.mkdtemp(prefix="airlock-bench-"))
    os.chmod(home, 0o755)  # noqa: PTH101 - a moment, before anything is measured
    postgres = EmbeddedPostgres(home)
    running = await asyncio.to_thread(postgres.start)
    receiver = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.receiver", cwd=ROOT,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert receiver.stdin is not None and receiver.stdout is not None
        port = int(await receiver.stdout.readline())
        yield Arena(running.url, f"http://127.0.0.1:{port}")
        receiver.stdin.close()
        await receiver.wait()
    finally:
        if receiver.returncode is None:
            receiver.kill()
            await receiver.wait()
        await asyncio.to_thread(postgres.stop)
        shutil.rmtree(home, ignore_errors=True)
