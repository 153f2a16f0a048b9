"""A proxy that pools transactions is refused with a sentence; one that pools sessions is no trouble."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from core.db import database as database_module
from core.db.database import Database, refuse_transaction_pooler
from core.embedded.postgres import SYSTEM_USER
from core.errors import AirlockError, DatabaseLost, PoolerError
from core.station import Identity, Station
from tests.fakes.transaction_pooler import TransactionPooler

Eventually = Callable[..., Awaitable[None]]
PGBOUNCER = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + os.pathsep + "/usr/sbin")
POOLERS = ["fake", *(["pgbouncer"] if PGBOUNCER else [])]


def launch(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@asynccontextmanager
async def pgbouncer(url: str, mode: str, folder: Path) -> AsyncIterator[str]:
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = folder / "pgbouncer.ini"
    config.write_text(
        f"[databases]\n* = host={query['host'][0]} port={query['port'][0]}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = any\npool_mode = {mode}\ndefault_pool_size = 30\nmax_client_conn = 100\n"
        # With "any" authentication the server's user has to be named.
        .replace("port=", "user=postgres port=", 1)
    )
    command = [str(PGBOUNCER), "-q", str(config)]
    if os.geteuid() == 0:
        command[1:1] = ["-u", SYSTEM_USER]
    process = launch(command, folder)
    try:
        address = f"postgresql://postgres@127.0.0.1:{port}{parts.path}"
        async with asyncio.timeout(10):
            while True:
                try:
                    connection = await Database(address, "PROBE").connect_plain("probe")
                    await connection.close()
                    break
                except AirlockError:
                    assert process.poll() is None, "pgbouncer did not start"
                    await asyncio.sleep(0.05)
        yield address
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
async def through(plant: str, tmp_path: Path) -> AsyncIterator[Callable[[str, str], Awaitable[str]]]:
    """The plant's address by way of a pooler of this kind in this mode."""
    async with AsyncExitStack() as stack:

        async def open_pooler(kind: str, mode: str) -> str:
            if kind == "pgbouncer":
                return await stack.enter_async_context(pgbouncer(plant, mode, tmp_path))
            fake = TransactionPooler(plant, sessions=30, by_session=mode == "session")
            return (await stack.enter_async_context(fake)).url

        yield open_pooler


@pytest.mark.parametrize("kind", POOLERS)
async def test_a_station_behind_a_transaction_pooler_says_what_to_change(
    through: Callable[[str, str], Awaitable[str]], kind: str
) -> None:
    station = Station(await through(kind, "transaction"), Identity("A", "headless", "test"))
    with pytest.raises(
        PoolerError, match=r"pools transactions.*connect to PostgreSQL directly.*pool mode to session"
    ):
        await station.start()


@pytest.mark.parametrize("kind", POOLERS)
async def test_a_station_behind_a_session_pooler_leads(
    through: Callable[[str, str], Awaitable[str]], kind: str, eventually: Eventually
) -> None:
    station = Station(await through(kind, "session"), Identity("A", "headless", "test"))
    await station.start()
    try:
        await eventually(lambda: station.leading)
        lead = station.leadership.lead
        assert lead is not None
        async with lead.pool.acquire() as connection:
            assert await connection.fetchval("SELECT current_setting('airlock.epoch')") == str(lead.epoch)
            assert await connection.fetchval("SHOW lock_timeout") == "5s"
    finally:
        await station.stop()


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize("own_number", [True, False])
@pytest.mark.parametrize("sessions", [2, 5])
async def test_every_way_to_hand_out_sessions_is_found_out(
    plant: str, sessions: int, newest_first: bool, own_number: bool
) -> None:
    pooler = TransactionPooler(plant, sessions=sessions, newest_first=newest_first, own_number=own_number)
    async with pooler:
        with pytest.raises(PoolerError):
            await refuse_transaction_pooler(Database(pooler.url, "A"))


@pytest.mark.parametrize("own_number", [True, False])
async def test_a_pooler_with_a_single_session_is_found_out_and_does_not_hang(
    plant: str, own_number: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "PROBE_TIMEOUT", 0.3)
    async with TransactionPooler(plant, sessions=1, own_number=own_number) as pooler, asyncio.timeout(10):
        with pytest.raises(PoolerError):
            await refuse_transaction_pooler(Database(pooler.url, "A"))


async def test_a_pooler_that_is_in_use_already_is_found_out(plant: str) -> None:
    """Sessions that others have left behind must not make it look as if each client had its own."""
    async with TransactionPooler(plant, sessions=10, newest_first=False) as pooler:
        busy = [await Database(pooler.url, "X").connect_plain("busy") for _ in range(4)]
        for connection in busy:
            await connection.execute("BEGIN")
        for connection in busy:
            await connection.execute("COMMIT")
        with pytest.raises(PoolerError):
            await refuse_transaction_pooler(Database(pooler.url, "A"))
        for connection in busy:
            await connection.close()


async def test_a_direct_connection_is_accepted_and_leaves_nothing_behind(plant: str) -> None:
    database = Database(plant, "A")
    await refuse_transaction_pooler(database)
    connection = await database.connect("test")
    left = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'airlock probe%'"
    async with asyncio.timeout(2):
        while await connection.fetchval(left):  # noqa: ASYNC110 - a closed session takes a moment to go
            await asyncio.sleep(0.01)
    await connection.close()


async def test_a_database_that_does_not_answer_is_not_called_a_pooler() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"postgresql://postgres@127.0.0.1:{closed.getsockname()[1]}/postgres"
        with pytest.raises(DatabaseLost, match="cannot be reached"):
            await refuse_transaction_pooler(Database(address, "A"))
