"""The recorder that is measured against, in a process of its own: it notes when each start request arrived.

It speaks the recorder contract for any number of recorders at one address. The instant of a request is taken
before anything else is done with its first bytes; answers are sent only after all that arrived with it has
been noted, so that answering the first of a burst does not make the last look late.

`GET /arrivals` hands over what was noted as [[window, seconds since the epoch], ...] and forgets it.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time

NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


def answer(body: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


class Recorders:
    def __init__(self) -> None:
        self.arrivals: list[tuple[bytes, float]] = []
        self.by_key: dict[bytes, str] = {}
        self.sessions: dict[bytes, str] = {}

    def reply(self, head: bytes, body: bytes, at: float) -> bytes:
        path = head[: head.index(b" HTTP")].partition(b" ")[2]
        if path.endswith(b"/start"):
            key = head.partition(b"dempotency-Key: ")[2].partition(b"\r\n")[0]
            session = self.by_key.get(key)
            if session is None:
                session = self.by_key[key] = f"s{len(self.by_key)}"
                self.sessions[path[:-6]] = session
            self.arrivals.append((body, at))
            return answer(f'{{"current_session_id": "{session}"}}')
        if path.endswith(b"/stop"):
            self.sessions.pop(path[:-5], None)
            return answer("{}")
        if path == b"/arrivals":
            noted, self.arrivals = self.arrivals, []
            return answer(json.dumps([(json.loads(body)["window"], at) for body, at in noted]))
        if path.endswith(b"/preflight"):
            return NOT_FOUND
        session = self.sessions.get(path)
        status = "idle" if session is None else "recording"
        return answer(json.dumps({"status": status, "current_session_id": session}))


class Connection(asyncio.Protocol):
    def __init__(self, recorders: Recorders) -> None:
        self.recorders = recorders
        self.buffer = b""
        self.at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if not self.buffer:
            self.at = time.time()
        self.buffer += data
        asyncio.get_running_loop().call_soon(self.respond)

    def respond(self) -> None:
        head, blank, rest = self.buffer.partition(b"\r\n\r\n")
        if not blank:
            return
        length = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0] or 0)
        if len(rest) < length:
            return
        self.buffer = rest[length:]
        self.transport.write(self.recorders.reply(head, rest[:length], self.at))


async def serve() -> None:
    recorders = Recorders()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(recorders), "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # until whoever started this is gone


if __name__ == "__main__":
    gc.disable()  # a pause here would pass for lateness of whoever is measured
    asyncio.run(serve())
