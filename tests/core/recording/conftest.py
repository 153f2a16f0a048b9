"""A station with the recording lane, against the counting recorder and a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta

import pytest

from core.db.database import Connection
from core.recording.lane import RecordingLane
from core.recording.recorder_client import RecorderClient
from core.station import Identity, Station
from tests.fakes.counting_recorder import CountingRecorder

Window = Callable[..., Awaitable[int]]


@pytest.fixture
async def recorder() -> AsyncIterator[CountingRecorder]:
    async with CountingRecorder() as made:
        yield made


@pytest.fixture
async def station(plant: str, recorder: CountingRecorder) -> AsyncIterator[Station]:
    client = RecorderClient(recorder.token)
    lane = RecordingLane(client, timedelta(seconds=1), timedelta(minutes=120))
    made = Station(plant, Identity("ALPHA", "headless", "kim"), [lane])
    await made.start()
    yield made
    await made.stop()
    await client.close()


@pytest.fixture
async def add_recorder(connection: Connection, recorder: CountingRecorder) -> Callable[[str], Awaitable[int]]:
    async def add(name: str) -> int:
        made: int = await connection.fetchval(
            "INSERT INTO recorders (name, base_url, external_id, status) VALUES ($1, $2, $1, 'idle') RETURNING id",
            name, recorder.url,
        )  # fmt: skip
        return made

    return add


@pytest.fixture
async def add_window(connection: Connection) -> Window:
    async def add(recorder_id: int, starts_in: float, lasts: float, name: str = "News") -> int:
        now: datetime = await connection.fetchval("SELECT clock_timestamp()")
        start = now + timedelta(seconds=starts_in)
        made: int = await connection.fetchval(
            "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) VALUES ($1, $2, $3, $4) RETURNING id",
            name, recorder_id, start, start + timedelta(seconds=lasts),
        )  # fmt: skip
        return made

    return add


@pytest.fixture
async def status_of(connection: Connection) -> Callable[[int], Awaitable[str]]:
    async def status(window: int) -> str:
        return str(await connection.fetchval("SELECT status FROM recorder_schedules WHERE id = $1", window))

    return status
