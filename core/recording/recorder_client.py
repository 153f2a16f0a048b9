"""The recorder's HTTP contract, from our side: asks, and says in plain values what was answered.

Nothing here decides. An answer that cannot be understood is NoWord, because the recorder may have
acted; a refusal is believed only when it is a well-formed refusal.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from core.errors import PlantError
from core.recording.answers import (
    AskAnswer,
    CannotSay,
    NotInSession,
    NoWord,
    Proof,
    Refused,
    Says,
    StartAnswer,
    Started,
    StopAnswer,
    Stopped,
)
from core.recording.http_reply import NoAnswer, Reply
from core.recording.wire import Line, Origin, Wire, place

JSON = "Content-Type: application/json\r\n"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a recorder is."""

    base_url: str
    external_id: str

    def path(self, operation: str = "") -> str:
        tail = f"/{operation}" if operation else ""
        return f"/api/v1/recorders/{quote(self.external_id, safe='')}{tail}"


@dataclass(frozen=True, slots=True)
class StartRequest:
    key: str
    window: int
    attempt: int
    name: str
    planned_end: str
    source: str | None = None

    def body(self) -> dict[str, Any]:
        made = {
            "window": self.window,
            "attempt": self.attempt,
            "name": self.name,
            "planned_end": self.planned_end,
        }
        return made if self.source is None else {**made, "source": self.source}


class PreparedStart:
    """A start that only has to be sent: its bytes are made and lines to its recorder are open."""

    def __init__(self, wire: Wire, origin: Origin, request: bytes) -> None:
        self._wire = wire
        self._origin = origin
        self._request = request
        self._line: Line | None = None
        self._reply: asyncio.Future[Reply] | None = None

    @property
    def sent(self) -> bool:
        return self._reply is not None

    def send(self) -> bool:
        """On its way to the recorder when this returns true; false when no line is free."""
        self._line = self._wire.take_now(self._origin)
        if self._line is None:
            return False
        self._reply = self._line.send(self._request)
        return True

    async def answer(self, limit: float) -> StartAnswer:
        """What the recorder says to what was sent."""
        assert self._reply is not None
        try:
            return _start_answer(await _hear(self._reply, limit))
        finally:
            self.drop()

    def drop(self) -> None:
        if self._line is not None:
            self._wire.give_back(self._line)


class RecorderClient:
    def __init__(self, token: str, tls: ssl.SSLContext | None = None) -> None:
        if not token.isprintable():
            raise PlantError(
                "The plant's secret (AIRLOCK_TOKEN) has characters that cannot be sent: choose another."
            )
        self._token = token
        self._wire = Wire(tls)

    async def close(self) -> None:
        self._wire.close()

    async def start(self, address: Address, request: StartRequest, limit: float) -> StartAnswer:
        return _start_answer(await self._call(limit, address, "POST", "start", request.body(), request.key))

    async def prepare(self, address: Address, request: StartRequest, together: int) -> PreparedStart | None:
        """Makes a start that is sent later, as one of so many at that instant, and opens a line for it.

        None when its recorder cannot be reached now; that is found out again, and said, at the start.
        """
        try:
            origin, made = self._request(address, "POST", "start", request.body(), request.key)
            await self._wire.open_ahead(origin, together)
        except (ValueError, OSError):
            return None
        return PreparedStart(self._wire, origin, made)

    async def stop(self, address: Address, session_id: str, limit: float) -> StopAnswer:
        answer = await self._call(limit, address, "POST", "stop", {"session_id": session_id})
        if isinstance(answer, NoWord):
            return answer
        status, said = answer
        if status == 200:
            return Stopped(_proof(said))
        if status == 409:
            current = (said or {}).get("current_session_id")
            return NotInSession(current if isinstance(current, str) else None)
        return _refusal(status, said)

    async def ask(self, address: Address, limit: float) -> AskAnswer:
        answer = await self._call(limit, address, "GET")
        if isinstance(answer, NoWord):
            return answer
        status, body = answer
        if status in (404, 405, 501):
            return CannotSay()
        if status != 200 or body is None or body.get("status") not in ("idle", "recording", "error"):
            return NoWord(f"The recorder's answer cannot be understood (HTTP {status}).")
        session, about = body.get("current_session_id"), _session(body)
        window, attempt = about.get("window"), about.get("attempt")
        return Says(
            body["status"] == "recording",
            session if isinstance(session, str) and session else None,
            window if isinstance(window, int) else None,
            attempt if isinstance(attempt, int) else None,
        )

    async def preflight(
        self, address: Address, source: str | None, seconds: float, limit: float
    ) -> list[str]:
        """What the agent finds wrong ahead of a window; foreign recorders have no such question."""
        answer = await self._call(
            limit, address, "POST", "preflight", {"source": source, "duration_s": seconds}
        )
        if isinstance(answer, NoWord):
            return [answer.why]
        status, said = answer
        problems = (said or {}).get("problems", [])
        if status == 200 and isinstance(problems, list):
            return [str(p)[:500] for p in problems]
        return []

    def _request(
        self, address: Address, method: str, operation: str = "", body: object = None, key: str = ""
    ) -> tuple[Origin, bytes]:
        origin, host, prefix = place(address.base_url)
        data = b"" if body is None else json.dumps(body).encode()
        kind = "" if body is None else f"{JSON}Content-Length: {len(data)}\r\n"
        once = f"Idempotency-Key: {key}\r\n" if key else ""
        head = (
            f"{method} {prefix}{address.path(operation)} HTTP/1.1\r\nHost: {host}\r\n"
            f"x-internal-token: {self._token}\r\n{once}{kind}\r\n"
        )
        return origin, head.encode() + data

    async def _call(
        self,
        limit: float,
        address: Address,
        method: str,
        operation: str = "",
        body: object = None,
        key: str = "",
    ) -> tuple[int, dict[str, Any] | None] | NoWord:
        try:
            origin, request = self._request(address, method, operation, body, key)
        except ValueError:
            return NoWord("The recorder's address is not a usable URL.")
        try:
            async with asyncio.timeout(limit):
                line = await self._wire.take(origin)
        except TimeoutError:
            return _too_late(limit)
        except (OSError, ValueError) as error:
            return _unreachable(error)
        try:
            return await _hear(line.send(request), limit)
        finally:
            self._wire.give_back(line)


async def _hear(reply: asyncio.Future[Reply], limit: float) -> tuple[int, dict[str, Any] | None] | NoWord:
    try:
        async with asyncio.timeout(limit):
            said = await reply
    except TimeoutError:
        return _too_late(limit)
    except NoAnswer as error:
        return _unreachable(error)
    return said.status, _object(said.body)


def _too_late(limit: float) -> NoWord:
    return NoWord(f"The recorder did not answer within {limit:.0f} s.")


def _unreachable(error: Exception) -> NoWord:
    return NoWord(f"The recorder cannot be reached: {str(error) or type(error).__name__}.")


def _start_answer(answer: tuple[int, dict[str, Any] | None] | NoWord) -> StartAnswer:
    if isinstance(answer, NoWord):
        return answer
    status, body = answer
    session = body.get("current_session_id") if body is not None else None
    if status == 200 and body is not None and isinstance(session, str) and session:
        about = _session(body)
        path, container = about.get("path"), about.get("container")
        return Started(session, str(path or ""), str(container) if container else None)
    if status == 200:
        return NoWord("The recorder's answer to the start cannot be understood.")
    return _refusal(status, body)


def _refusal(status: int, body: dict[str, Any] | None) -> Refused | NoWord:
    if status == 401:
        return Refused("The recorder does not accept this plant's token (AIRLOCK_TOKEN).")
    if body is not None and isinstance(body.get("error"), str):
        return Refused(body["error"])
    if 400 <= status < 500:
        return Refused(f"The recorder refused (HTTP {status}).")
    # A gateway's 502 or 504 says nothing about the recorder behind it.
    return NoWord(f"The recorder answered HTTP {status}.")


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _proof(body: dict[str, Any] | None) -> Proof | None:
    if body is None or not isinstance(body.get("readable"), bool):
        return None
    duration, size, covers = body.get("duration_s"), body.get("size"), body.get("covers")
    return Proof(
        body["readable"],
        float(duration) if isinstance(duration, int | float) else None,
        size if isinstance(size, int) else 0,
        str(body.get("path") or ""),
        str(body.get("problem") or ""),
        covers if isinstance(covers, bool) else None,
    )


def _session(body: dict[str, Any]) -> dict[str, Any]:
    """Our agents say more of a session, in an object of its own; others may say it at the top, or not."""
    found = body.get("session")
    return found if isinstance(found, dict) else body
