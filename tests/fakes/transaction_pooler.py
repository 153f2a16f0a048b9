"""A proxy that pools server sessions the way PgBouncer and its kin do, at the level of the protocol.

It is a fake because a real pooler is not on every machine where the tests run, and because a real
one cannot be told to be as awkward as we need: which session it hands out next, how few it has,
whose process number it announces. The server behind it is real. `tests/core/db/test_pooler.py`
puts a real PgBouncer through the same tests where there is one.
"""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass, field
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

SSL_REQUEST = 80877103
CANCEL_REQUEST = 80877102
PROTOCOL = 196608
# What PgBouncer takes in a connection request; it refuses all else.
ACCEPTED = {"user", "database", "client_encoding", "datestyle", "timezone", "application_name"}
ACCEPTED |= {"standard_conforming_strings"}


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


async def read_message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    kind = await reader.readexactly(1)
    (length,) = struct.unpack("!i", await reader.readexactly(4))
    return kind, await reader.readexactly(length - 4)


@dataclass(eq=False)
class ServerSession:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    key: bytes
    greeting: list[bytes] = field(default_factory=list)


@dataclass
class Attached:
    """The server session that serves a client at the moment."""

    session: ServerSession | None = None
    answers: asyncio.Task[None] | None = None


class TransactionPooler:
    """`async with TransactionPooler(url) as pooler:` gives `pooler.url`, the same database through it."""

    def __init__(
        self,
        url: str,
        *,
        sessions: int = 4,
        newest_first: bool = True,
        own_number: bool = True,
        by_session: bool = False,
    ) -> None:
        parts = urlsplit(url)
        query = parse_qs(parts.query)
        self._socket = f"{query['host'][0]}/.s.PGSQL.{query['port'][0]}"
        self._user = parts.netloc.rpartition("@")[0]
        self._database = parts.path.lstrip("/")
        self._limit = asyncio.Semaphore(sessions)
        self._newest_first = newest_first
        self._own_number = own_number
        self._by_session = by_session
        self._idle: list[ServerSession] = []
        self._all: list[ServerSession] = []
        self._clients: set[asyncio.Task[None]] = set()
        self._number = 1_000_000
        self.url = ""

    async def __aenter__(self) -> TransactionPooler:
        self._server = await asyncio.start_server(self._client, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"postgresql://{self._user}@127.0.0.1:{port}/{self._database}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._clients:
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        for session in self._all:
            session.writer.close()

    # -- server sessions -----------------------------------------------------------------------

    async def _take(self) -> ServerSession:
        await self._limit.acquire()
        if self._idle:
            return self._idle.pop(-1 if self._newest_first else 0)
        return await self._connect()

    def _give_back(self, session: ServerSession) -> None:
        self._idle.append(session)
        self._limit.release()

    def _throw_away(self, session: ServerSession) -> None:
        session.writer.close()
        self._limit.release()

    async def _connect(self) -> ServerSession:
        reader, writer = await asyncio.open_unix_connection(self._socket)
        body = struct.pack("!i", PROTOCOL)
        for name, value in (("user", self._user), ("database", self._database), ("client_encoding", "utf-8")):
            body += name.encode() + b"\0" + value.encode() + b"\0"
        writer.write(struct.pack("!i", len(body) + 5) + body + b"\0")
        session = ServerSession(reader, writer, b"")
        while True:
            kind, content = await read_message(reader)
            if kind == b"S":
                session.greeting.append(message(kind, content))
            elif kind == b"K":
                session.key = content
            elif kind == b"Z":
                self._all.append(session)
                return session

    # -- clients -------------------------------------------------------------------------------

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        attached = Attached()
        try:
            if not await self._greet(reader, writer):
                return
            while True:
                kind, body = await read_message(reader)
                if kind == b"X":
                    return
                if attached.session is None:
                    attached.session = await self._take()
                    attached.answers = asyncio.create_task(self._answer(attached, writer))
                attached.session.writer.write(message(kind, body))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client is gone, or the test is over
        finally:
            if attached.answers is not None:
                attached.answers.cancel()
            if attached.session is not None:
                self._throw_away(attached.session)
            self._clients.discard(task)
            writer.close()

    async def _answer(self, attached: Attached, writer: asyncio.StreamWriter) -> None:
        """Passes on what the server says, until it is ready and in no transaction."""
        session = attached.session
        assert session is not None
        try:
            while True:
                kind, body = await read_message(session.reader)
                if kind == b"Z" and body == b"I" and not self._by_session:
                    attached.session = None
                    self._give_back(session)
                    writer.write(message(kind, body))
                    return
                writer.write(message(kind, body))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        while True:
            (length,) = struct.unpack("!i", await reader.readexactly(4))
            body = await reader.readexactly(length - 4)
            (code,) = struct.unpack("!i", body[:4])
            if code == SSL_REQUEST:
                writer.write(b"N")
            elif code == CANCEL_REQUEST:
                return False
            else:
                break
        names = [name.decode() for name in body[4:].rstrip(b"\0").split(b"\0")[::2]]
        if unknown := [n for n in names if n.lower() not in ACCEPTED]:
            text = f"unsupported startup parameter: {unknown[0]}"
            writer.write(message(b"E", b"SFATAL\0VFATAL\0C08P01\0M" + text.encode() + b"\0\0"))
            await writer.drain()
            return False
        session = await self._take()
        self._number += 1
        key = struct.pack("!ii", self._number, 0) if self._own_number else session.key
        greeting = b"".join(session.greeting)
        writer.write(
            message(b"R", struct.pack("!i", 0)) + greeting + message(b"K", key) + message(b"Z", b"I")
        )
        await writer.drain()
        self._give_back(session)
        return True
