"""The HTTP contracts of sidecars and of the agents that spawn them, from the leader's side.

Nothing here decides and nothing raises: an answer that is late, too long or not understood is Miss or NoWord. A
request is never sent twice by itself.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from dataclasses import dataclass
from typing import Any

from core.playout.model import Journal, Miss, Status
from core.playout.status import read_journal, read_object, read_status
from core.recording.http_reply import NoAnswer
from core.recording.wire import Wire, place

LARGEST = 1024 * 1024
Said = tuple[int, dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class NoWord:
    """Nothing was heard: what was asked for may have been done or not."""

    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    why: str


@dataclass(frozen=True, slots=True)
class Started:
    sidecar_url: str


class SidecarClient:
    def __init__(self, token: str, tls: ssl.SSLContext | None = None) -> None:
        self._token = token
        self._wire = Wire(tls, largest=LARGEST)

    async def close(self) -> None:
        self._wire.close()

    async def status(self, sidecar_url: str, after: int, generation: int, limit: float) -> Status | Miss:
        query = f"/status?after={after}&generation={generation}"
        answer = await self._call(limit, sidecar_url, "GET", query)
        if isinstance(answer, NoWord):
            return Miss(answer.why)
        status, said = answer
        return read_status(said) if status == 200 else Miss(f"The sidecar answered HTTP {status}.")

    async def skip(self, sidecar_url: str, generation: int, limit: float) -> NoWord | Refused | None:
        return _done(await self._call(limit, sidecar_url, "POST", "/skip", {"generation": generation}))

    async def off_air(self, sidecar_url: str, generation: int, limit: float) -> NoWord | Refused | None:
        return _done(await self._call(limit, sidecar_url, "POST", "/off-air", {"generation": generation}))

    async def playlist(self, sidecar_url: str, body: dict[str, Any], limit: float) -> NoWord | Refused | None:
        return _done(await self._call(limit, sidecar_url, "PUT", "/playlist", body))

    async def start(
        self, agent_url: str, channel: int, body: dict[str, Any], limit: float
    ) -> Started | Refused | NoWord:
        answer = await self._call(limit, agent_url, "POST", f"/api/v1/channels/{channel}/start", body)
        if isinstance(answer, NoWord):
            return answer
        status, said = answer
        url = (said or {}).get("sidecar_url")
        if status == 200 and isinstance(url, str) and url:
            return Started(url)
        if status == 200:
            return NoWord("The agent's answer to the start cannot be understood.")
        refused = _done(answer)
        return refused if refused is not None else NoWord(f"The agent answered HTTP {status}.")

    async def stop(
        self, agent_url: str, channel: int, generation: int, limit: float
    ) -> NoWord | Refused | None:
        path = f"/api/v1/channels/{channel}/stop"
        return _done(await self._call(limit, agent_url, "POST", path, {"generation": generation}))

    async def journal(
        self, agent_url: str, channel: int, generation: int, after: int, limit: float
    ) -> Journal | NoWord | Refused:
        path = f"/api/v1/channels/{channel}/events?generation={generation}&after={after}"
        answer = await self._call(limit, agent_url, "GET", path)
        if isinstance(answer, NoWord):
            return answer
        if answer[0] == 200:
            return read_journal(answer[1]) or Refused("The agent's journal cannot be understood.")
        return _done(answer) or Refused("The agent has no journal.")

    async def _call(
        self, limit: float, base_url: str, method: str, path: str, body: object = None
    ) -> Said | NoWord:
        try:
            origin, host, prefix = place(base_url)
        except ValueError:
            return NoWord("The address is not a usable URL.")
        data = b"" if body is None else json.dumps(body).encode()
        kind = "" if body is None else f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
        head = f"{method} {prefix}{path} HTTP/1.1\r\nHost: {host}\r\nx-internal-token: {self._token}\r\n{kind}\r\n"
        try:
            async with asyncio.timeout(limit):
                line = await self._wire.take(origin)
                try:
                    reply = await line.send(head.encode() + data)
                finally:
                    self._wire.give_back(line)
        except TimeoutError:
            return NoWord(f"No answer within {limit:.1f} s.")
        except (OSError, ValueError, NoAnswer) as error:
            return NoWord(f"It cannot be reached: {str(error) or type(error).__name__}.")
        return reply.status, read_object(reply.body)


def _done(answer: Said | NoWord) -> NoWord | Refused | None:
    if isinstance(answer, NoWord):
        return answer
    status, said = answer
    if 200 <= status < 300:
        return None
    if status == 401:
        return Refused("It does not accept this plant's token (AIRLOCK_TOKEN).")
    error = (said or {}).get("error")
    if isinstance(error, str) and error:
        return Refused(error[:500])
    return Refused(f"It refused (HTTP {status}).") if status < 500 else NoWord(f"It answered HTTP {status}.")
