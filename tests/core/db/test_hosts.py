"""An address with several hosts: the one that writes is found, whatever the others do or do not do."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from core.db.database import Database
from core.db.hosts import each_host
from core.errors import DatabaseLost


@pytest.mark.parametrize(
    "url, hosts",
    [
        ("postgresql://u:p@a/d", ["postgresql://u:p@a/d"]),
        ("postgresql://u:p@a:1,b:2/d?x=1", ["postgresql://u:p@a:1/d?x=1", "postgresql://u:p@b:2/d?x=1"]),
        ("postgresql:///d?host=/run/a", ["postgresql:///d?host=/run/a"]),
        ("postgresql://u@/d?host=a,/run/b&port=7", ["postgresql://u@/d?host=a&port=7", "postgresql://u@/d?host=/run/b&port=7"]),
        ("postgresql://u@/d?host=a,b&port=7,8", ["postgresql://u@/d?host=a&port=7", "postgresql://u@/d?host=b&port=8"]),
        ("postgresql://u@/d?host=a,b&port=7,8,9", ["postgresql://u@/d?host=a,b&port=7,8,9"]),
    ],
)  # fmt: skip
def test_an_address_once_for_each_host(url: str, hosts: list[str]) -> None:
    assert each_host(url) == hosts


@pytest.fixture
async def relay(plant: str) -> AsyncIterator[int]:
    """The plant's server on a TCP port: the tests' own server has only a socket file."""
    path = _socket_file(plant)

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_unix_connection(path)
        await asyncio.gather(pump(reader, there_writer), pump(there_reader, writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
        server.close()


def _socket_file(plant: str) -> str:
    query = dict(parse_qsl(urlsplit(plant).query))
    return f"{query['host']}/.s.PGSQL.{query.get('port', '5432')}"


@pytest.fixture
def silent() -> Any:
    """A host that takes a connection and never says a word, as one behind a black hole does."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def through(plant: str, *ports: int) -> str:
    parts = urlsplit(plant)
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    return f"postgresql://{parts.username}@{hosts}{parts.path}"


async def test_a_silent_host_does_not_hide_the_one_that_works(plant: str, relay: int, silent: int) -> None:
    database = Database(through(plant, silent, relay), "T")
    async with asyncio.timeout(4):  # below the limit of one host
        connection = await database.connect("test")
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()
        await database.open()
        async with database.acquire() as pooled:
            assert await pooled.fetchval("SELECT 1") == 1
        await database.close()


async def test_a_standby_and_a_closed_port_are_passed_over(plant: str, relay: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        closed = taken.getsockname()[1]
    connection = await Database(through(plant, closed, relay), "T").connect("test")
    # Every new session is read-only from here on, as on a standby.
    await connection.execute(f"ALTER DATABASE {urlsplit(plant).path[1:]} "
                             "SET default_transaction_read_only = on")  # fmt: skip
    await connection.close()
    with pytest.raises(DatabaseLost, match="cannot be reached"):
        await Database(through(plant, closed, relay), "T").connect("test")


async def test_after_a_loss_no_older_session_is_handed_out(
    plant: str, eventually: Callable[..., Any]
) -> None:
    database = Database(plant, "T")
    await database.open()
    async with database.acquire() as first:
        was = await first.fetchval("SELECT pg_backend_pid()")
    await database.renew()
    async with database.acquire() as second:
        assert await second.fetchval("SELECT pg_backend_pid()") != was
    await database.close()
