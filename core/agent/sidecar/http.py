"""The sidecar's contract over HTTP, by hand: a web framework would take longer to load than going on air takes."""

from __future__ import annotations

import hmac
import json
import logging
import socket
import ssl
import threading
from typing import Any
from urllib.parse import parse_qs, urlsplit

from core.agent.sidecar.air import Air
from core.agent.sidecar.order import items_of, whole
from core.errors import AirlockError

log = logging.getLogger(__name__)
LARGEST_HEAD, LARGEST_BODY = 16 * 1024, 8 * 1024**2
IDLE = 75.0
FIRST = 5.0  # whoever has not shown the token yet may not keep a place for longer: probes need them
_WORDS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    409: "Conflict",
    413: "Too Large",
}
Answer = tuple[int, dict[str, Any] | bytes]


class Http:
    def __init__(self, air: Air, token: str, tls: ssl.SSLContext | None = None) -> None:
        self._air, self._token, self._tls = air, token.encode(), tls
        self._room = threading.BoundedSemaphore(64)

    def serve(self, listening: socket.socket) -> None:
        while True:
            connection, _ = listening.accept()
            if self._room.acquire(blocking=False):
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()
            else:
                connection.close()

    def _talk(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(FIRST)
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as reader:
                while (request := _request(reader)) is not None:
                    method, target, headers, body = request
                    status, answer = self._answer(method, target, headers, body)
                    keep = status not in (401, 413) and headers.get("connection", "").lower() != "close"
                    connection.sendall(_response(status, answer, keep))
                    if not keep:
                        return
                    connection.settimeout(IDLE)
        except OSError:
            pass  # a client that went away
        finally:
            self._room.release()

    def _answer(self, method: str, target: str, headers: dict[str, str], body: bytes | None) -> Answer:
        given = headers.get("x-internal-token", "").encode("latin-1", "replace")
        if not hmac.compare_digest(given, self._token):
            return 401, {"error": "The token is missing or wrong."}
        if body is None:
            return 413, {"error": "The request is too large."}
        try:
            parts = urlsplit(target)
            return self._route(method, parts.path, parse_qs(parts.query), body)
        except AirlockError as error:
            return 400, {"error": str(error)}
        except (ValueError, RecursionError):
            return 400, {"error": "The request cannot be understood."}

    def _route(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> Answer:
        air = self._air
        own = air.order.generation
        if (method, path) == ("GET", "/status"):
            if int(query.get("generation", ["0"])[0]) > own:
                air.end("A newer generation of the channel exists.")
            return 200, air.status(max(int(query.get("after", ["0"])[0]), 0))
        if (method, path) == ("GET", "/preview.jpg"):
            return (
                (200, air.encoder.preview)
                if air.encoder.preview
                else (404, {"error": "There is no picture yet."})
            )
        if (method, path) not in (("POST", "/skip"), ("PUT", "/playlist"), ("POST", "/off-air")):
            return 404, {"error": "There is nothing at this address."}
        asked = json.loads(body or b"{}")
        if not isinstance(asked, dict):
            raise ValueError
        generation = whole(asked, "generation")
        if generation < own:
            return 409, {"error": "The request is about an older generation.", "generation": own}
        if path == "/off-air" or generation > own:
            air.end("It was told to go off air.")
            air.done.wait(2.0)
            return (200 if path == "/off-air" else 409), {"generation": own, "seq": air.journal.seq}
        if path == "/skip":
            return (
                (200, {"generation": own})
                if air.skip()
                else (409, {"error": "No item is on air to be skipped."})
            )
        air.change(items_of(asked), bool(asked.get("looping")), whole(asked, "version"))
        return 200, {"generation": own, "playlist_version": air.version}


def _request(reader: Any) -> tuple[str, str, dict[str, str], bytes | None] | None:
    first = reader.readline(LARGEST_HEAD)
    words = first.decode("latin-1").split()
    if len(words) != 3:
        return None
    headers: dict[str, str] = {}
    size = len(first)
    while (line := reader.readline(LARGEST_HEAD)) not in (b"\r\n", b"\n", b""):
        size += len(line)
        if size > LARGEST_HEAD:
            return None
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > LARGEST_BODY or "transfer-encoding" in headers:
        return words[0], words[1], headers, None
    return words[0], words[1], headers, reader.read(int(length))


def _response(status: int, answer: dict[str, Any] | bytes, keep: bool) -> bytes:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    kind = "image/jpeg" if isinstance(answer, bytes) else "application/json; charset=utf-8"
    head = (
        f"HTTP/1.1 {status} {_WORDS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        f"Cache-Control: no-store\r\nConnection: {'keep-alive' if keep else 'close'}\r\n\r\n"
    )
    return head.encode() + body
