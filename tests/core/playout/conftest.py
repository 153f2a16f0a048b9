"""A station with the playout lane, against two scripted nodes and a real database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest

from core.db.database import Connection
from core.playout.lane import PlayoutLane
from core.playout.sidecar_client import SidecarClient
from core.station import Identity, Station
from tests.fakes.playout_node import PlayoutNode

Until = Callable[..., Awaitable[object]]


@pytest.fixture
async def nodes(connection: Connection) -> AsyncIterator[list[PlayoutNode]]:
    """Their heartbeats are of tomorrow: nobody sends any here, and they shall be fresh all along."""
    async with PlayoutNode() as one, PlayoutNode() as two:
        for n, node in enumerate((one, two)):
            await connection.execute(
                "INSERT INTO nodes (name, base_url, status, capabilities, last_heartbeat_at) "
                "VALUES ($1, $2, 'online', '{playout,decklink}', now() + interval '1 day')",
                f"play-{n + 1}", node.url,
            )  # fmt: skip
        yield [one, two]


@pytest.fixture
def lane() -> PlayoutLane:
    return PlayoutLane(SidecarClient("secret"), timedelta(seconds=1), timedelta(milliseconds=200))


@pytest.fixture
async def station(plant: str, nodes: list[PlayoutNode], lane: PlayoutLane) -> AsyncIterator[Station]:
    made = Station(plant, Identity("ALPHA", "headless", "kim"), [lane])
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def add_channel(connection: Connection) -> Callable[..., Awaitable[int]]:
    async def add(name: str = "ONE", wanted: str = "on", output: str = "udp", items: int = 3) -> int:
        made: int = await connection.fetchval(
            "INSERT INTO playout_channels (name, output_type, output_url) VALUES ($1, $2, 'udp://x') RETURNING id",
            name, output,
        )  # fmt: skip
        await connection.execute(
            "INSERT INTO playout_items (channel_id, position, clip_name, path, duration_s) "
            "SELECT $1, n, 'clip ' || n, 'clip.mp4', 10 FROM generate_series(1, $2::int) n",
            made, items,
        )  # fmt: skip
        await connection.execute("UPDATE playout_channels SET wanted = $2 WHERE id = $1", made, wanted)
        return made

    return add


@pytest.fixture
async def until(connection: Connection) -> Until:
    """Waits until a question to the database has the answer wanted."""

    async def wait(question: str, wanted: object, *arguments: object, within: float = 15.0) -> None:
        deadline = time.monotonic() + within
        while (found := await connection.fetchval(question, *arguments)) != wanted:
            if time.monotonic() > deadline:
                pytest.fail(f"{question} is {found!r}, not {wanted!r}, after {within} s")
            await asyncio.sleep(0.02)

    return wait
