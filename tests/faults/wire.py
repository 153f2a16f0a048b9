"""A cable between a station and its database that a test can slow down or cut without anybody noticing.

A pulled plug, a dead switch or a crashed host close no connection: both sides simply hear nothing
more. That cannot be had from a healthy server on this machine, so the bytes go through here.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from urllib.parse import parse_qs, urlsplit


class Wire:
    """`async with Wire(url) as wire:` gives `wire.url`, the same database by way of the cable."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        query = parse_qs(parts.query)
        self._socket = f"{query['host'][0]}/.s.PGSQL.{query['port'][0]}"
        self._user = parts.netloc.rpartition("@")[0]
        self._database = parts.path
        self.delay = 0.0  # seconds that each answer of the database takes longer
        self._deaf = False
        self._dead: set[asyncio.StreamWriter] = set()
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.url = ""

    async def __aenter__(self) -> Wire:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"postgresql://{self._user}@127.0.0.1:{port}{self._database}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._open:
            writer.close()

    def go_silent(self, for_good: bool = False) -> None:
        """What is connected now hears nothing more, and nobody is told. New connections may work."""
        self._dead |= self._open
        self._deaf = for_good

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        there, back = await asyncio.open_unix_connection(self._socket)
        self._open |= {writer, back}
        if self._deaf:
            self._dead |= {writer, back}
        try:
            await asyncio.gather(
                self._pass(reader, back, answers=False), self._pass(there, writer, answers=True)
            )
        except (OSError, asyncio.CancelledError):
            pass  # one end is gone, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()
            back.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answers: bool) -> None:
        while data := await reader.read(65536):
            if answers and self.delay:
                await asyncio.sleep(self.delay)
            if writer in self._dead:
                continue
            writer.write(data)
            await writer.drain()
        if writer not in self._dead:
            writer.close()
