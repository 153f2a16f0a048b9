"""How Airlock connects to its plant's database, and what a lost connection is called.

Every connection names itself (`application_name`), speaks UTC, and is bounded: a client that stops
in the middle of a transaction is ended by the server instead of blocking everybody else.

A session's settings are made by a statement right after connecting, not in the connection request:
a proxy that pools sessions refuses settings there, or drops them without a word, and a leader's
session without its epoch would be outside the fence. They last as long as the session; the pools
therefore never RESET ALL, and whoever needs another setting uses SET LOCAL.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from core.db.hosts import Hosts
from core.db.queries import beside
from core.errors import DatabaseLost, PlantError, PoolerError

log = logging.getLogger(__name__)
SQL = beside(__file__, "database.sql")

CONNECT_TIMEOUT = 5.0
COMMAND_TIMEOUT = 40.0  # above the server's own limit: only for a server that vanished without a word
WARM = 2  # connections a pool opens before it is used, so that the first work does not wait for them
PROBES = 3  # clients that hold a transaction while another is watched for changing its session
PROBE_TIMEOUT = 3.0
POOLER = (
    "A proxy that pools transactions stands between Airlock and the database, and would break the lock that "
    "elects the leader: connect to PostgreSQL directly, or set the proxy's pool mode to session."
)
CONNECTION_ERRORS = (
    OSError,
    TimeoutError,
    asyncio.TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InternalClientError,  # a session that the server has ended, before its socket is closed
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.IdleSessionTimeoutError,
)

SETTINGS = {
    "timezone": "UTC",
    "default_transaction_isolation": "read committed",  # the fence is exact in no other
    "jit": "off",
    "idle_in_transaction_session_timeout": "3000",
    "lock_timeout": "5000",
    "statement_timeout": "30000",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
}

# Seconds, and for the last one milliseconds: the same for our end of the connection.
CLIENT_KEEPALIVE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 11_000}

if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
    AnyConnection: TypeAlias = Connection | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]
else:
    Connection = AnyConnection = asyncpg.Connection
    Pool = asyncpg.Pool


def without_password(url: str) -> str:
    """The address as it may be shown or logged."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the database address"
    login, at, hosts = parts.netloc.rpartition("@")
    user = login.partition(":")[0]
    query = "&".join(p for p in parts.query.split("&") if "password=" not in p.lower())
    return urlunsplit((parts.scheme, f"{user}{at}{hosts}", parts.path, query, ""))


class Database:
    """Opens connections to one plant. Holds no state but the address and the ordinary pool."""

    def __init__(self, url: str, station: str) -> None:
        self.url = url
        self.station = station
        self._pool: Pool | None = None
        self._hosts = Hosts(url)

    @property
    def shown(self) -> str:
        return without_password(self.url)

    def lost(self, error: BaseException) -> DatabaseLost:
        return DatabaseLost(f"The database at {self.shown} cannot be reached: {reason(error)}.")

    @property
    def where(self) -> str:
        """The server in words short enough for a sentence."""
        hosts = urlsplit(self.url).netloc.rpartition("@")[2]
        return f"The database at {hosts}" if hosts else "The embedded database"

    def _options(self, purpose: str) -> dict[str, Any]:
        name = f"airlock {purpose} {self.station}"[:63]
        return {"timeout": CONNECT_TIMEOUT, "server_settings": {"application_name": name}}

    async def connect(self, purpose: str, settings: dict[str, str] | None = None) -> Connection:
        """A connection of its own, to be closed by whoever asked for it."""
        with self._said_in_words():
            connection: Connection = await self._hosts.connect(self.url, **self._options(purpose))
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    await _prepare(connection, settings)
            except BaseException:
                connection.terminate()
                raise
            return connection

    async def connect_plain(self, purpose: str) -> Connection:
        """A connection that asks nothing of whatever stands in between: no settings, nothing prepared."""
        with self._said_in_words():
            options = self._options(purpose)
            connection: Connection = await self._hosts.connect(self.url, statement_cache_size=0, **options)
            return connection

    @contextmanager
    def _said_in_words(self) -> Iterator[None]:
        try:
            yield
        except asyncpg.InvalidAuthorizationSpecificationError as error:
            raise PlantError(f"The database at {self.shown} refused the login: {reason(error)}.") from error
        except asyncpg.InvalidCatalogNameError as error:
            raise PlantError(
                f"There is no such database: {reason(error)}. Create it, or correct its name."
            ) from error
        except (asyncpg.ClientConfigurationError, ValueError) as error:
            raise PlantError(f"The database address {self.shown} cannot be used: {error}.") from error
        except CONNECTION_ERRORS as error:
            raise self.lost(error) from error
        except asyncpg.PostgresError as error:
            raise PlantError(
                f"The database at {self.shown} refused the connection: {reason(error)}."
            ) from error

    async def open_pool(
        self,
        purpose: str,
        size: int,
        settings: dict[str, str] | None = None,
        hand_out: Callable[[AnyConnection], Coroutine[Any, Any, None]] | None = None,
    ) -> Pool:
        """A pool of sessions with these settings; `hand_out` sees each connection before its user does."""
        with self._said_in_words():
            connect: Any = self._hosts.connect  # the stubs know only asyncpg.connect itself
            pool: Pool = await asyncpg.create_pool(
                self.url,
                connect=connect,
                min_size=0,  # a floor is restored behind our back, with a traceback in the log each time
                max_size=size,
                max_inactive_connection_lifetime=300,
                init=partial(_prepare, settings=settings),
                setup=hand_out,
                reset=_clean,
                command_timeout=COMMAND_TIMEOUT,
                **self._options(purpose),
            )
            try:
                warm = await asyncio.gather(*(pool.acquire() for _ in range(min(size, WARM))))
                for connection in warm:
                    await pool.release(connection)
            except BaseException:
                pool.terminate()
                raise
            return pool

    async def open(self) -> None:
        if self._pool is None:
            self._pool = await self.open_pool("station", 6)

    async def renew(self) -> None:
        """The database was lost: no session from before is handed out again, even if it still looks open."""
        if self._pool is not None:
            await self._pool.expire_connections()

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await close_pool(pool)

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[AnyConnection]:
        """A connection of the ordinary pool; a lost database is said as DatabaseLost."""
        if self._pool is None:
            raise DatabaseLost("The database is not connected yet.")
        try:
            async with self._pool.acquire(timeout=CONNECT_TIMEOUT) as connection:
                yield connection
        except CONNECTION_ERRORS as error:
            raise self.lost(error) from error


async def _prepare(connection: Connection, settings: dict[str, str] | None) -> None:
    """Makes a new session ours."""
    _notice_silence(connection)
    wanted = SETTINGS | (settings or {})
    await connection.execute(SQL.set, list(wanted), list(wanted.values()))
    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)


def _notice_silence(connection: Connection) -> None:
    """A server that lost its power says nothing: the system finds out within seconds, not after two hours."""
    transport = getattr(connection, "_transport", None)  # the driver has no public way to its socket
    opened = None if transport is None else transport.get_extra_info("socket")
    if opened is None or opened.family not in (socket.AF_INET, socket.AF_INET6):
        return
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in CLIENT_KEEPALIVE.items():
        if (option := getattr(socket, name, None)) is not None:  # not every system has each of them
            opened.setsockopt(socket.IPPROTO_TCP, option, value)


async def _clean(connection: Connection) -> None:
    """What a pool does with a session that comes back. It keeps the settings."""
    await connection.execute(SQL.clean)


async def close_pool(pool: Pool, limit: float = 1.0) -> None:
    """Closes a pool politely, but never waits long for a database that does not answer."""
    try:
        async with asyncio.timeout(limit):
            await pool.close()
    except (TimeoutError, *CONNECTION_ERRORS):
        pool.terminate()


async def close_connection(connection: Connection, limit: float = 1.0) -> None:
    try:
        await connection.close(timeout=limit)
    except (TimeoutError, *CONNECTION_ERRORS):
        connection.terminate()


async def refuse_transaction_pooler(database: Database) -> None:
    """Raises PoolerError when statements of one client session wander between server sessions.

    While other clients hold transactions open, a client must still be served by the session that
    served it before. A proxy that pools transactions gives that session to one of the others, or
    lets the client wait for ever when it has no session left. It may also trip over the driver's
    prepared statements: behind a proxy, that means the same.
    """
    first = await database.connect_plain("probe")
    try:
        await _watch_session(database, first)
    except (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError) as error:
        raise PoolerError(POOLER) from error
    except CONNECTION_ERRORS as error:
        raise database.lost(error) from error
    finally:
        await close_connection(first)


async def _watch_session(database: Database, first: Connection) -> None:
    async with AsyncExitStack() as others:
        mine = await first.fetchval(SQL.server_process, timeout=PROBE_TIMEOUT)
        # Most proxies announce a process number of their own; one that hands the server's through,
        # and no proxy at all, look alike here and get the shorter test.
        proxy = mine != first.get_server_pid()
        for _ in range(PROBES if proxy else 1):
            other = await database.connect_plain("probe")
            others.push_async_callback(close_connection, other)
            await other.execute(SQL.begin, timeout=PROBE_TIMEOUT)
            taken = await other.fetchval(SQL.server_process, timeout=PROBE_TIMEOUT)
            try:
                again = await first.fetchval(SQL.server_process, timeout=PROBE_TIMEOUT)
            except (TimeoutError, asyncpg.PostgresConnectionError) as error:
                if not proxy and taken != mine:
                    raise
                raise PoolerError(POOLER) from error
            if taken == mine or again != mine:
                raise PoolerError(POOLER)


def reason(error: BaseException) -> str:
    """What went wrong, on one line and without a full stop: the end of a sentence."""
    if isinstance(error, TimeoutError | asyncio.TimeoutError):
        return "it did not answer in time"
    return (str(error) or type(error).__name__).rstrip(".").splitlines()[0]
