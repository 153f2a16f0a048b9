"""What all tests share: one real PostgreSQL for the whole run, and a fresh plant for each test."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from core.db.database import Connection, Database
from core.db.migrate import migrate
from core.embedded.postgres import EmbeddedPostgres
from tests.patience import patiently

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("QT_API", "pyside6")
TEMPLATE = "airlock_template"


def database_url(server: str, name: str) -> str:
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a PostgreSQL that belongs to this test run (one for each xdist worker)."""
    home = Path(tempfile.mkdtemp(prefix="airlock-test-", dir=_fast_folder()))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(home)
    try:
        running = postgres.start()
        _relax(postgres)
        asyncio.run(_make_template(running.url))
        yield running.url
    finally:
        postgres.stop()
        shutil.rmtree(home, ignore_errors=True)


def _fast_folder() -> str | None:
    """Memory, where there is room: making a database takes a tenth of the time there."""
    shared = Path("/dev/shm")
    roomy = shared.is_dir() and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 2 * 1024**3
    return str(shared) if roomy else None


def _relax(postgres: EmbeddedPostgres) -> None:
    """Tests need no durability across power cuts; kill -9 of a process loses nothing either way."""
    with (postgres.data / "postgresql.auto.conf").open("a", encoding="utf-8") as file:
        file.write("fsync = 'off'\n")
    postgres.stop()
    postgres.start()


async def _make_template(url: str) -> None:
    admin = await asyncpg.connect(url)
    await admin.execute(f"CREATE DATABASE {TEMPLATE}")
    await admin.close()
    connection = await Database(database_url(url, TEMPLATE), "template").connect("template")
    await migrate(connection)
    await connection.close()


@pytest.fixture
async def plant(server: str) -> AsyncIterator[str]:
    """The address of a fresh, migrated plant."""
    name = f"plant_{uuid.uuid4().hex[:12]}"
    admin = await asyncpg.connect(server)
    await admin.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    yield database_url(server, name)
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()


@pytest.fixture
async def connection(plant: str) -> AsyncIterator[Connection]:
    opened = await Database(plant, "test").connect("test")
    yield opened
    await opened.close()


@pytest.fixture
def eventually() -> Callable[..., object]:
    return patiently
