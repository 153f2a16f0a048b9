"""Rows of a plant that plays out, as the leader would have written them: no leader acts on them here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from core.db.database import Connection
from tests.patience import STEP, Patience

ON_AIR_SINCE = 60.0  # seconds that an item on air has run
CLIP = 600.0  # and how long it is


class Rows:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def node(self, name: str, *capabilities: str) -> int:
        """Its heartbeat is of tomorrow: nobody sends one here, and it shall not be missed."""
        made: int = await self.connection.fetchval(
            "INSERT INTO nodes (name, base_url, status, capabilities, last_heartbeat_at) "
            "VALUES ($1, 'http://127.0.0.1:1', 'online', $2, now() + interval '1 day') RETURNING id",
            name, list(capabilities or ("udp", "srt", "playout")),
        )  # fmt: skip
        return made

    async def channel(self, name: str, node: int | None = None, *clips: str, **columns: object) -> int:
        """A stopped channel with a playlist; other columns as given."""
        made: int = await self.connection.fetchval(
            "INSERT INTO playout_channels (name, title, output_type, output_url, node_id, position) "
            "VALUES ($1, 'Main', 'udp', 'udp://127.0.0.1:9', $2, "
            "(SELECT count(*) + 1 FROM playout_channels)) RETURNING id",
            name, node,
        )  # fmt: skip
        for number, clip in enumerate(clips, 1):
            await self.item(made, number, clip)
        await self.set(made, **columns)
        return made

    async def item(self, channel: int, position: int, clip: str, duration: float | None = CLIP) -> int:
        made: int = await self.connection.fetchval(
            "INSERT INTO playout_items (channel_id, position, clip_name, path, duration_s) "
            "VALUES ($1, $2, $3, '/media/' || $3 || '.mp4', $4) RETURNING id",
            channel, position, clip, duration,
        )  # fmt: skip
        return made

    async def set(self, channel: int, **columns: object) -> None:
        for name, value in columns.items():
            await self.connection.execute(
                f"UPDATE playout_channels SET {name} = $2 WHERE id = $1", channel, value
            )

    async def on_air(self, channel: int, position: int = 1, since: float = ON_AIR_SINCE) -> None:
        """Running, with an open as-run row for an item of its playlist."""
        await self.connection.execute(
            "UPDATE playout_channels SET wanted = 'on', status = 'running', generation = generation + 1, "
            "last_heartbeat_at = clock_timestamp(), heartbeat_ms = 12 WHERE id = $1",
            channel,
        )
        await self.connection.execute(
            "INSERT INTO playout_as_run (channel_id, item_id, clip_name, started_at, node_id) "
            "SELECT $1, i.id, i.clip_name, clock_timestamp() - $3::interval, c.node_id FROM playout_items i "
            "JOIN playout_channels c ON c.id = i.channel_id WHERE c.id = $1 AND i.position = $2",
            channel, position, timedelta(seconds=since),
        )  # fmt: skip

    async def log(
        self,
        channel: int,
        count: int,
        result: str = "played",
        clip: str = "Spot",
        until: datetime | None = None,
    ) -> None:
        """Closed rows of ten seconds, one after the other, the last ending two minutes ago."""
        last = until or datetime.now(UTC) - timedelta(minutes=2)
        await self.connection.execute(
            "INSERT INTO playout_as_run (channel_id, clip_name, started_at, ended_at, result) "
            "SELECT $1, $3 || ' ' || n, $5::timestamptz - make_interval(secs => ($2 - n + 1) * 10), "
            "$5::timestamptz - make_interval(secs => ($2 - n) * 10), $4 FROM generate_series(1, $2::int) n",
            channel, count, clip, result, last,
        )  # fmt: skip

    async def column(self, channel: int, name: str) -> object:
        return await self.connection.fetchval(f"SELECT {name} FROM playout_channels WHERE id = $1", channel)

    async def order(self, channel: int) -> list[str]:
        found = await self.connection.fetch(
            "SELECT clip_name FROM playout_items WHERE channel_id = $1 ORDER BY position", channel
        )
        return [r["clip_name"] for r in found]


@pytest.fixture
def rows(connection: Connection) -> Rows:
    return Rows(connection)


async def until(read: Callable[[], Awaitable[object]], wanted: object) -> None:
    """Waits until the database says so."""
    patience = Patience(10)
    while (found := await read()) != wanted:
        if patience.over():
            pytest.fail(f"the database says {found!r}, not {wanted!r}")
        await asyncio.sleep(STEP)
