"""HTTP/1.1 to recorders over connections that are opened ahead and kept: as much of it as the contract needs.

A general client spends a quarter of a millisecond of its own on each request; five hundred at one instant would
wait for one another. Here a request is made of bytes beforehand and sending it is one write to an open socket.

What must stay true: a line carries one request at a time, and is used again only after the whole answer to it
was read. A line that was given up on, or that said anything unasked, is closed. Nothing is ever sent twice:
what a lost answer means is for others to decide.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, urlsplit

from core.recording.http_reply import LARGEST_BODY, NoAnswer, Reply, ReplyReader

LINES = 600  # connections at one time, below the thousand files that a process may usually have open
IDLE = 15.0  # seconds that a line is kept; recorders hang up on their own later than that


@dataclass(frozen=True, slots=True)
class Origin:
    secure: bool
    host: str
    port: int


class Line(asyncio.Protocol):
    """One connection to a recorder."""

    def __init__(self, origin: Origin, largest: int = LARGEST_BODY) -> None:
        self.origin = origin
        self._largest = largest
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Reply] | None = None
        self._reader = ReplyReader(self._largest)

    @property
    def open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def reusable(self) -> bool:
        return self.open and self._answer is None

    def send(self, request: bytes) -> asyncio.Future[Reply]:
        """Puts the request on the wire before it returns. The future raises NoAnswer."""
        assert self._answer is None, "a line carries one request at a time"
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        if self._transport is None or self._transport.is_closing():
            answer.set_exception(NoAnswer("the connection was closed"))
            return answer
        self._answer = answer
        self._reader = ReplyReader(self._largest)
        self._transport.write(request)
        return answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            self.close()
            return
        try:
            reply = self._reader.feed(data)
        except NoAnswer as error:
            self._fail(error)
            self.close()
            return
        if reply is not None:
            self._settle(reply)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._answer is None:
            return
        reply = self._reader.end() if error is None else None
        if reply is not None:
            self._settle(reply)
        else:
            self._fail(NoAnswer(str(error) if error else "the connection was closed without an answer"))

    def _settle(self, reply: Reply) -> None:
        answer, self._answer = self._answer, None
        if not self._reader.keeps_open:
            self.close()
        if answer is not None and not answer.done():
            answer.set_result(reply)

    def _fail(self, error: NoAnswer) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(error)


class Wire:
    """The lines to all recorders. Whoever takes a line gives it back, whatever happened on it."""

    def __init__(self, tls: ssl.SSLContext | None = None, largest: int = LARGEST_BODY) -> None:
        self._tls = tls
        self._largest = largest  # bytes of an answer's body
        self._idle: defaultdict[Origin, deque[Line]] = defaultdict(deque)
        self._opening: Counter[Origin] = Counter()
        self._taken: set[Line] = set()
        self._slots = asyncio.Semaphore(LINES)
        self._sweeper: asyncio.TimerHandle | None = None

    async def take(self, origin: Origin) -> Line:
        """An open line. Raises OSError when there is none to be had, or waits: limit it."""
        await self._slots.acquire()
        try:
            line = self._kept(origin) or await self._connect(origin)
        except BaseException:
            self._slots.release()
            raise
        self._taken.add(line)
        return line

    def take_now(self, origin: Origin) -> Line | None:
        """A line that is open already, if there is one."""
        if not self._idle[origin] or not acquire_now(self._slots):
            return None
        line = self._kept(origin)
        if line is None:
            self._slots.release()
        else:
            self._taken.add(line)
        return line

    async def open_ahead(self, origin: Origin, wanted: int) -> None:
        """Opens one line more unless so many are open and free, or on their way. Raises OSError."""
        fresh = asyncio.get_running_loop().time() - IDLE / 2
        free = sum(line.idle_since > fresh for line in self._idle[origin])
        if free + self._opening[origin] >= wanted or len(self._taken) + self._opening.total() >= LINES:
            return
        self._opening[origin] += 1
        try:
            self._keep(await self._connect(origin))
        finally:
            self._opening[origin] -= 1

    def give_back(self, line: Line) -> None:
        if line not in self._taken:
            return
        self._taken.discard(line)
        self._slots.release()
        self._keep(line)

    def close(self) -> None:
        """Hangs up everywhere. It can be used again afterwards."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        for line in [*self._taken, *(line for lines in self._idle.values() for line in lines)]:
            line.close()
        self._idle.clear()

    def _keep(self, line: Line) -> None:
        if not line.reusable:
            line.close()
            return
        loop = asyncio.get_running_loop()
        line.idle_since = loop.time()
        self._idle[line.origin].append(line)
        if self._sweeper is None:
            self._sweeper = loop.call_later(IDLE, self._sweep)

    def _kept(self, origin: Origin) -> Line | None:
        lines = self._idle[origin]
        while lines:
            line = lines.pop()  # the one used last: the least likely to be hung up on
            if line.reusable and asyncio.get_running_loop().time() - line.idle_since < IDLE:
                return line
            line.close()
        return None

    async def _connect(self, origin: Origin) -> Line:
        self._make_room()
        context = None
        if origin.secure:
            if self._tls is None:
                self._tls = await asyncio.to_thread(ssl.create_default_context)
            context = self._tls
        _, line = await asyncio.get_running_loop().create_connection(
            lambda: Line(origin, self._largest),
            origin.host,
            origin.port,
            ssl=context,
            happy_eyeballs_delay=0.25,
        )
        return line

    def _make_room(self) -> None:
        """Taken and kept lines together stay within the limit: the one that was idle longest goes."""
        if len(self._taken) + sum(map(len, self._idle.values())) >= LINES:
            kept = [lines for lines in self._idle.values() if lines]
            if kept:
                min(kept, key=lambda lines: lines[0].idle_since).popleft().close()

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        oldest = loop.time() - IDLE
        for origin, lines in list(self._idle.items()):
            while lines and (lines[0].idle_since <= oldest or not lines[0].reusable):
                lines.popleft().close()
            if not lines:
                del self._idle[origin]
        self._sweeper = loop.call_later(IDLE, self._sweep) if self._idle else None


def acquire_now(lock: asyncio.Lock | asyncio.Semaphore) -> bool:
    """Takes it if nobody has to be waited for, without giving up the loop."""
    taking = lock.acquire()
    try:
        taking.send(None)
    except StopIteration:
        return True
    taking.close()
    return False


@lru_cache(maxsize=1024)
def place(base_url: str) -> tuple[Origin, str, str]:
    """Where to connect, what to call it, and what stands before the path. ValueError when it is no address."""
    parts = urlsplit(base_url)
    secure = parts.scheme == "https"
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError("not an http address")
    if not re.fullmatch(r"[\w.:%\[\]-]+", parts.netloc):
        raise ValueError("not a host")
    origin = Origin(secure, parts.hostname, parts.port or (443 if secure else 80))
    return origin, parts.netloc, quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
