"""Logins of each role, and the few rows that most tests of the core begin with."""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import pytest

from core.db.database import Connection

Login = Callable[[str], Awaitable[str]]


@pytest.fixture
async def login(server: str, plant: str) -> AsyncIterator[Login]:
    """Makes a login that is a member of a role and returns the plant's address for it."""
    admin = await asyncpg.connect(server)
    made: list[str] = []

    async def make(role: str) -> str:
        name = f"{role.removeprefix('airlock_')}_{uuid.uuid4().hex[:8]}"
        await admin.execute(f"CREATE ROLE {name} LOGIN IN ROLE {role}")
        made.append(name)
        return re.sub(r"//[^@]*@", f"//{name}@", plant)

    yield make
    for name in made:
        await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", name)
        await admin.execute(f"DROP ROLE {name}")
    await admin.close()


@pytest.fixture
async def recorder(connection: Connection) -> int:
    return await connection.fetchval(
        "INSERT INTO recorders (name, base_url, external_id) VALUES ('REC 1', 'http://x', 'r1') RETURNING id"
    )


@pytest.fixture
async def channel(connection: Connection) -> int:
    return await connection.fetchval(
        "INSERT INTO playout_channels (name, output_type, output_url) VALUES ('ONE', 'udp', 'udp://x') RETURNING id"
    )
