"""The lines to recorders, against a server that says exactly the bytes it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from core.recording import wire as wiring
from core.recording.answers import NoWord, Refused, Says, Started
from core.recording.http_reply import LARGEST_BODY, NoAnswer, Reply, ReplyReader
from core.recording.recorder_client import Address, RecorderClient, StartRequest
from core.recording.wire import Origin, Wire

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
OK = b'HTTP/1.1 200 OK\r\nContent-Length: 28\r\n\r\n{"current_session_id": "s1"}'
REQUEST = StartRequest("key-1", 1, 1, "News", "2030-01-01T00:00:00+00:00")


class Scripted:
    """Answers each request with the next bytes of the script; None hangs up instead."""

    def __init__(self) -> None:
        self.script: list[bytes | None] = []
        self.requests: list[bytes] = []
        self.connections = 0
        self.open: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0] or 0)
                self.requests.append(head + await reader.readexactly(length))
                answer = self.script.pop(0) if self.script else OK
                if answer is None:
                    break
                writer.write(answer)
                if b"Connection: close" in answer or b"HTTP/1.0" in answer:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()


@pytest.fixture
async def scripted() -> AsyncIterator[tuple[Scripted, str]]:
    made = Scripted()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    yield made, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for writer in made.open:
        writer.close()
    server.close()
    await server.wait_closed()


@pytest.fixture
async def client() -> AsyncIterator[RecorderClient]:
    made = RecorderClient("secret")
    yield made
    await made.close()


def read(*pieces: bytes) -> Reply | None:
    reader = ReplyReader()
    found = None
    for piece in pieces:
        found = reader.feed(piece)
    return found


@pytest.mark.parametrize(
    "raw, expected",
    [
        (OK, Reply(200, b'{"current_session_id": "s1"}')),
        (CHUNKED + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", Reply(200, b"abcde")),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n1\r\na\r\n0\r\nTrail: x\r\n\r\n", Reply(200, b"a")),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, Reply(200, b'{"current_session_id": "s1"}')),
        (b"HTTP/1.1 204 No Content\r\n\r\n", Reply(204, b"")),
        (b"HTTP/1.1 409 \r\ncontent-length:0\r\n\r\n", Reply(409, b"")),
    ],
)  # fmt: skip
def test_an_answer_is_read_however_it_is_cut(raw: bytes, expected: Reply) -> None:
    assert read(raw) == expected
    assert read(*(raw[i : i + 1] for i in range(len(raw)))) == expected


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 20_000,
        b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * (LARGEST_BODY + 1),
    ],
)
def test_what_is_not_understood_is_no_answer(raw: bytes) -> None:
    with pytest.raises(NoAnswer):
        read(raw)


async def test_a_start_says_what_the_contract_asks(
    scripted: tuple[Scripted, str], client: RecorderClient
) -> None:
    server, url = scripted
    assert await client.start(Address(f"{url}/base/", "rec/1 ä"), REQUEST, 2.0) == Started("s1")
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /base/api/v1/recorders/rec%2F1%20%C3%A4/start HTTP/1.1"
    assert {"x-internal-token: secret", "Idempotency-Key: key-1", "Content-Type: application/json"} <= set(
        lines[1:]
    )
    assert b'"window": 1' in body


async def test_a_line_is_used_again(scripted: tuple[Scripted, str], client: RecorderClient) -> None:
    server, url = scripted
    for _ in range(5):
        await client.start(Address(url, "rec-1"), REQUEST, 2.0)
    assert server.connections == 1


@pytest.mark.parametrize(
    "answer, expected",
    [
        (None, NoWord),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<html", NoWord),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]", NoWord),
        (b"nonsense\r\n\r\n", NoWord),
        (b"HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n", NoWord),
        (b'HTTP/1.1 502 Bad\r\nContent-Length: 14\r\n\r\n{"error": "x"}', Refused),
        (b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", Refused),
        (b"HTTP/1.0 200 OK\r\n\r\n" + OK.partition(b"\r\n\r\n")[2], Started),
        (OK + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Started),
    ],
)
async def test_whatever_it_says_the_next_request_is_sound(
    scripted: tuple[Scripted, str], client: RecorderClient, answer: bytes | None, expected: type
) -> None:
    server, url = scripted
    server.script = [answer, b'HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{"status": "idle"}']
    address = Address(url, "rec-1")
    assert isinstance(await client.start(address, REQUEST, 2.0), expected)
    assert await client.ask(address, 2.0) == Says(False, None)
    assert len(server.requests) == 2  # nothing is sent twice


async def test_a_request_that_was_given_up_on_does_not_leave_its_answer_to_the_next(
    scripted: tuple[Scripted, str], client: RecorderClient
) -> None:
    server, url = scripted
    server.script = [b"HTTP/1.1 200 OK\r\n"]  # and no more
    address = Address(url, "rec-1")
    assert isinstance(await client.start(address, REQUEST, 0.05), NoWord)
    assert await client.start(address, REQUEST, 2.0) == Started("s1")
    assert server.connections == 2


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://host",
        "http://",
        "http://user:pass@host",
        "http://ho st",
        "http://host:99999",
        "http://h\r\nX: y",
    ],
)
async def test_an_address_that_is_none_is_said(client: RecorderClient, url: str) -> None:
    said = await client.ask(Address(url, "rec-1"), 0.5)
    assert isinstance(said, NoWord)
    assert await client.prepare(Address(url, "rec-1"), REQUEST, 1) is None


async def test_nobody_there_is_said(client: RecorderClient) -> None:
    said = await client.ask(Address("http://127.0.0.1:1", "rec-1"), 1.0)
    assert isinstance(said, NoWord) and "cannot be reached" in said.why


async def test_a_prepared_start_is_on_its_way_when_send_returns(
    scripted: tuple[Scripted, str], client: RecorderClient
) -> None:
    server, url = scripted
    address = Address(url, "rec-1")
    prepared = [await client.prepare(address, REQUEST, n + 1) for n in range(3)]
    assert all(p is not None and p.send() for p in prepared)
    assert [await p.answer(2.0) for p in prepared if p] == [Started("s1")] * 3
    assert server.connections == 3


async def test_a_prepared_start_whose_line_was_hung_up_on_is_not_sent(
    scripted: tuple[Scripted, str], client: RecorderClient
) -> None:
    server, url = scripted
    prepared = await client.prepare(Address(url, "rec-1"), REQUEST, 1)
    assert prepared is not None
    while not server.open:  # noqa: ASYNC110 - one turn of the loop or two
        await asyncio.sleep(0)
    for writer in server.open:
        writer.close()
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert not prepared.send()
    assert await client.start(Address(url, "rec-1"), REQUEST, 2.0) == Started("s1")


async def test_lines_are_bounded(scripted: tuple[Scripted, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "LINES", 3)
    _, url = scripted
    origin = Origin(False, "127.0.0.1", int(url.rpartition(":")[2]))
    wire = Wire()
    taken = [await wire.take(origin) for _ in range(3)]
    waiting = asyncio.create_task(wire.take(origin))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    wire.give_back(taken[0])
    assert await asyncio.wait_for(waiting, 1) is taken[0]
    wire.close()
