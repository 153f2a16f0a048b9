"""Every address that an agent answers at: without the token nothing happens, and nothing that comes in breaks it."""

from __future__ import annotations

import asyncio
import io
import json
import re
from typing import Any

import aiohttp
import pytest

from core.agent.server import Server
from tests.core.agent.conftest import TOKEN, Rig
from tests.security.conftest import HOSTILE, everything

REFUSED = {"error": "The token is missing or wrong."}


def routes() -> list[tuple[str, str]]:
    """As the server itself has them, so that a new one is covered by being there."""
    nobody: Any = None
    app = Server(TOKEN, nobody, nobody, nobody, nobody).application()
    return sorted({(r.method, r.resource.canonical) for r in app.router.routes() if r.resource is not None})


ROUTES = routes()
BODIES: list[bytes] = [
    b"[]", b"1", b"null", b'"text"', b"{", b"\xff\xfe", b"[" * 50_000, b'{"a":' * 50_000,
    json.dumps(dict.fromkeys(("session_id", "source", "window", "generation", "items", "channel"), 0.5)).encode(),
    json.dumps(dict.fromkeys(("session_id", "source", "window", "generation", "duration_s"), -10 ** 30)).encode(),
    json.dumps({"window": "x", "generation": 1, "items": [1, None, "x"], "settings": [], "resume": 7}).encode(),
    b'{"duration_s": NaN, "generation": Infinity, "window": 1e400, "attempt": 1e400}',
]  # fmt: skip


def filled(path: str, value: str) -> str:
    return re.sub(r"\{\w+\}", lambda _: value, path)


async def ask(
    rig: Rig, method: str, path: str, headers: dict[str, str], data: bytes = b""
) -> tuple[int, bytes]:
    url = aiohttp.client.URL(rig.base + path, encoded=True)
    async with rig.http.request(
        method, url, headers=headers, data=io.BytesIO(data) if data else None
    ) as response:
        return response.status, await response.read()


def test_there_are_routes() -> None:
    assert len(ROUTES) >= 8 and ("POST", "/api/v1/recorders/{external_id}/start") in ROUTES


async def test_without_the_token_nothing_happens_and_nothing_is_said(rig: Rig) -> None:
    await rig.recorder("1")
    plain = [{}, {"x-internal-token": ""}, {"x-internal-token": TOKEN[:-1]}, {"x-internal-token": TOKEN + "x"},
             {"x-internal-token": "wr\u00f6ng"},
             {"Authorization": f"Bearer {TOKEN}"}, {"Cookie": f"x-internal-token={TOKEN}"}]  # fmt: skip
    before = await everything(rig.connection)
    for method, route in [*ROUTES, ("GET", "/"), ("POST", "/nowhere"), ("OPTIONS", "/health")]:
        for headers in plain:
            if route == "/metrics" and "Authorization" in headers:
                continue  # the form in which scrapers show the secret, right there and nowhere else
            path = filled(route, "1") + "?token=" + TOKEN.replace(" ", "%20").replace("'", "%27")
            status, body = await ask(
                rig, method, path, {**headers, "Idempotency-Key": "1:1"}, b'{"generation": 1}'
            )
            assert status == 401, (method, route, headers)
            assert method == "HEAD" or json.loads(body) == REFUSED
    assert rig.ffmpegs() == []
    after = await everything(rig.connection)
    assert after["assets"] == before["assets"] == [] and len(after["recorders"]) == 1


async def test_an_unknown_sender_cannot_fill_the_memory(rig: Rig) -> None:
    """The body of a request without the token is not read to its end."""
    sent = 0

    async def endless() -> Any:
        nonlocal sent
        while sent < 256 * 1024**2:
            sent += 65536
            yield bytes(65536)

    try:
        async with rig.http.post(rig.base + "/api/v1/probe", data=endless()) as response:
            assert response.status == 401
    except aiohttp.ClientError:
        pass  # it hung up: just as well
    assert sent < 64 * 1024**2


async def test_whatever_comes_in_the_answer_is_one_sentence(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    await rig.recorder("1")
    headers = {"x-internal-token": TOKEN, "Idempotency-Key": "1:1"}
    for method, route in ROUTES:
        if method in ("GET", "HEAD"):
            continue
        for body in BODIES:
            status, said = await ask(rig, method, filled(route, "1"), headers, body)
            # A stop of a channel that is not on air is fulfilled, whatever else its body holds.
            assert 400 <= status < 500 or (status == 200 and route.endswith(("/preflight", "/stop"))), (
                route,
                body[:60],
                said,
            )
            assert status == 200 or json.loads(said)["error"].endswith("."), said
        status, said = await ask(rig, method, filled(route, "1"), headers, b" " * (9 * 1024**2))
        assert status == 413, (route, said)
    assert rig.ffmpegs() == []
    assert not [r for r in caplog.records if r.exc_info], "a traceback is a fault of ours"
    assert (await ask(rig, "GET", "/health", headers))[0] == 200


@pytest.mark.parametrize(
    "name",
    ["..%2f..%2fetc%2fpasswd", "%00", "%2e%2e", "%ff%fe", "a" * 3000, "%27%3b--", "-1", "1e9", "%D9%A3"],
)
async def test_names_in_the_path_lead_nowhere(rig: Rig, name: str) -> None:
    headers = {"x-internal-token": TOKEN, "Idempotency-Key": "1:1"}
    for method, route in ROUTES:
        if "{" in route:
            status, said = await ask(
                rig, method, filled(route, name), headers, b"{}" if method == "POST" else b""
            )
            assert 400 <= status < 500, (method, route, status, said)
    assert not [p for p in rig.home.rglob("*") if p.name.startswith(("passwd", ".."))]


@pytest.mark.parametrize("path", ["file:/etc/passwd", "file:../../etc/passwd", "concat:a|b",
                                  "http://127.0.0.1/x -y", "-i", "lavfi:testsrc",
                                  "subfile,,start,0,end,0,,:/etc/passwd", "data:text/plain,x",
                                  "pipe:0", "\\\\host\\x", "file:///etc/passwd"])  # fmt: skip
async def test_sources_that_reach_elsewhere_are_refused(rig: Rig, path: str) -> None:
    await rig.recorder("1")
    for answer in (
        await rig.call("POST", "/api/v1/probe", {"source": path}),
        await rig.start("1", source=path),
    ):
        assert answer.status != 200 or answer.body["ok"] is False, answer
        assert answer.body["error"].endswith(".") and "root:" not in str(answer.body)
    assert rig.ffmpegs() == []


@pytest.mark.parametrize("noise", [b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 4096,
                                   b"GET /health HTTP/1.1\r\n" + b"a: b\r\n" * 20_000,
                                   b"POST /api/v1/probe HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
                                   b"POST /api/v1/probe HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                                   b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"])  # fmt: skip
async def test_noise_on_the_line_hurts_nobody(rig: Rig, noise: bytes) -> None:
    host, _, port = rig.base.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(noise)
        await writer.drain()
        writer.write_eof()
        said = await asyncio.wait_for(reader.read(65536), 20)
    except OSError:
        said = b""
    writer.close()
    assert not said.startswith(b"HTTP/1.1 200") and b"Traceback" not in said and TOKEN.encode() not in said
    assert (await ask(rig, "GET", "/health", {"x-internal-token": TOKEN}))[0] == 200


async def test_the_token_is_in_no_log_and_no_row(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    await rig.recorder("1")
    session = await rig.record("1")
    for text in HOSTILE[:3]:
        await rig.call("POST", "/api/v1/probe", {"source": text, "x-internal-token": TOKEN})
    await rig.call("GET", "/health", token="another")
    await rig.stop("1", session)
    held = json.dumps(await everything(rig.connection)) + caplog.text
    for file in rig.home.rglob("*"):
        if file.is_file() and file.suffix in (".json", ".log", ".txt", ""):
            held += file.read_text(encoding="utf-8", errors="replace")
    assert TOKEN not in held
