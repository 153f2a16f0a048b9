"""The sidecar's own server, alone. What it would put on air is a stand-in: the doors are what is tried here."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from core.agent.sidecar import http as sidecar

TOKEN = "secret-of-the-plant"
ADDRESSES = [
    ("GET", "/status"),
    ("GET", "/preview.jpg"),
    ("POST", "/skip"),
    ("PUT", "/playlist"),
    ("POST", "/off-air"),
]


class StandIn:
    def __init__(self) -> None:
        self.order = SimpleNamespace(generation=3)
        self.encoder = SimpleNamespace(preview=b"\xff\xd8")
        self.journal = SimpleNamespace(seq=0)
        self.done = threading.Event()
        self.version = 1
        self.calls: list[str] = []

    def end(self, why: str) -> None:
        self.calls.append("end")
        self.done.set()

    def skip(self) -> bool:
        self.calls.append("skip")
        return True

    def change(self, *_: Any) -> None:
        self.calls.append("change")

    def status(self, after: int) -> dict[str, Any]:
        return {"seq": after}


@pytest.fixture
def air() -> StandIn:
    return StandIn()


@pytest.fixture
def port(air: StandIn, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(sidecar, "FIRST", 0.5)
    stand_in: Any = air
    listening = socket.create_server(("127.0.0.1", 0))
    served = sidecar.Http(stand_in, TOKEN)

    def serve() -> None:
        try:
            served.serve(listening)
        except OSError:
            pass  # the test is over

    threading.Thread(target=serve, daemon=True).start()
    yield listening.getsockname()[1]
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()


def ask(port: int, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        line.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = line.getresponse()
        return answer.status, answer.read()
    finally:
        line.close()


def test_without_the_token_nothing_happens(port: int, air: StandIn) -> None:
    for method, path in ADDRESSES:
        for headers in (
            {},
            {"x_internal_token": ""},
            {"x_internal_token": TOKEN[:-1]},
            {"authorization": TOKEN},
        ):
            status, said = ask(port, method, f"{path}?generation=99", b'{"generation": 99}', **headers)
            assert status == 401 and TOKEN.encode() not in said
    assert air.calls == []


def test_malformed_and_oversized(port: int, air: StandIn) -> None:
    for method, path in ADDRESSES[2:]:
        for body in (
            b"[]",
            b"{",
            b"\xff",
            b"[" * 100_000,
            b'{"generation": "x"}',
            b'{"generation": -1}',
            b'{"generation": true}',
        ):
            status, said = ask(port, method, path, body, x_internal_token=TOKEN)
            assert status == 400 and json.loads(said)["error"].endswith("."), (path, body[:20], said)
        assert ask(port, method, path, b"", x_internal_token=TOKEN, content_length="99999999")[0] == 413
    assert ask(port, "GET", "/status?after=x", x_internal_token=TOKEN)[0] == 400
    assert ask(port, "GET", "/../../etc/passwd", x_internal_token=TOKEN)[0] == 404
    assert air.calls == []
    assert ask(port, "GET", "/status", x_internal_token=TOKEN)[0] == 200


def test_strangers_cannot_keep_all_places(port: int) -> None:
    """Probes would go unanswered, and the channel would fail over for no reason."""
    strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(64)]
    for _ in range(200):
        try:
            if ask(port, "GET", "/status", x_internal_token=TOKEN)[0] == 200:
                break
        except (OSError, http.client.HTTPException):
            threading.Event().wait(0.1)
    else:
        pytest.fail("the sidecar never answered again")
    for stranger in strangers:
        stranger.close()
