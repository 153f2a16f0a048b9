"""A recorder that counts: it speaks the HTTP contract for any number of recorders, keeps a log of
everything it did, and misbehaves as told. A fake, because no real recorder can be made to act and then
lose its answer on demand.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

OBEY, STALL, DROP, REFUSE, GARBAGE, DEAF = "obey", "stall", "drop", "refuse", "garbage", "deaf"


@dataclass
class Unit:
    session: str | None = None
    key: str | None = None
    window: int | None = None
    attempt: int | None = None
    by_key: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Event:
    at: float
    unit: str
    what: str  # start, stop, foreign_stop, again, refused
    session: str | None
    window: int | None = None
    key: str | None = None


class CountingRecorder:
    """`mood(unit, operation)` says how to behave: obey, act then stall, act then drop the connection,
    refuse without acting, act and answer garbage, or neither act nor answer."""

    def __init__(self, token: str = "secret", has_get: bool = True) -> None:
        self.token = token
        self.has_get = has_get
        self.units: dict[str, Unit] = {}
        self.log: list[Event] = []
        self.mood: Callable[[str, str], str] = lambda unit, operation: OBEY
        self.arrivals: dict[int, float] = {}  # wall time of the first start request, by window
        self.url = ""
        self._runner: web.AppRunner | None = None
        self._stalled = asyncio.Event()

    async def __aenter__(self) -> CountingRecorder:
        app = web.Application()
        app.router.add_post("/api/v1/recorders/{unit}/start", self._start)
        app.router.add_post("/api/v1/recorders/{unit}/stop", self._stop)
        app.router.add_get("/api/v1/recorders/{unit}", self._get)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, backlog=1024)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stalled.set()
        assert self._runner is not None
        await self._runner.cleanup()

    def unit(self, name: str) -> Unit:
        return self.units.setdefault(name, Unit())

    def _note(
        self, unit: str, what: str, session: str | None, window: int | None = None, key: str | None = None
    ) -> None:
        self.log.append(Event(time.time(), unit, what, session, window, key))

    def _unauthorised(self, request: web.Request) -> bool:
        return request.headers.get("x-internal-token") != self.token

    async def _start(self, request: web.Request) -> web.StreamResponse:
        arrived = time.time()
        if self._unauthorised(request):
            return web.json_response({"error": "wrong token"}, status=401)
        name = request.match_info["unit"]
        body = await request.json()
        self.arrivals.setdefault(body["window"], arrived)
        unit, key, mood = self.unit(name), request.headers["Idempotency-Key"], self.mood(name, "start")
        if mood == DEAF:
            return await self._stall(request)
        if key in unit.by_key:
            self._note(name, "again", unit.by_key[key], body["window"], key)
            return await self._answer(request, mood, {"current_session_id": unit.by_key[key]})
        if mood == REFUSE:
            self._note(name, "refused", None, body["window"], key)
            return web.json_response({"error": "No signal on the input."}, status=502)
        if unit.session is not None:
            return web.json_response({"error": "Busy.", "current_session_id": unit.session}, status=409)
        unit.session, unit.key, unit.window, unit.attempt = (
            uuid.uuid4().hex,
            key,
            body["window"],
            body["attempt"],
        )
        unit.by_key[key] = unit.session
        self._note(name, "start", unit.session, body["window"], key)
        return await self._answer(request, mood, {"current_session_id": unit.session})

    async def _stop(self, request: web.Request) -> web.StreamResponse:
        if self._unauthorised(request):
            return web.json_response({"error": "wrong token"}, status=401)
        name = request.match_info["unit"]
        body = await request.json()
        unit, mood = self.unit(name), self.mood(name, "stop")
        if mood == DEAF:
            return await self._stall(request)
        if unit.session is None or unit.session != body["session_id"]:
            self._note(name, "foreign_stop" if unit.session else "late_stop", body["session_id"])
            return web.json_response(
                {"error": "Not in that session.", "current_session_id": unit.session}, status=409
            )
        if mood == REFUSE:
            return web.json_response({"error": "Cannot stop now."}, status=503)
        self._note(name, "stop", unit.session, unit.window)
        unit.session = None
        return await self._answer(request, mood, {})

    async def _get(self, request: web.Request) -> web.StreamResponse:
        if self._unauthorised(request):
            return web.json_response({"error": "wrong token"}, status=401)
        if not self.has_get:
            return web.json_response({}, status=404)
        unit = self.unit(request.match_info["unit"])
        recording = unit.session is not None
        return web.json_response({
            "status": "recording" if recording else "idle",
            "current_session_id": unit.session,
            "window": unit.window if recording else None,
            "attempt": unit.attempt if recording else None,
        })  # fmt: skip

    async def _answer(self, request: web.Request, mood: str, body: dict[str, object]) -> web.StreamResponse:
        if mood == STALL:
            return await self._stall(request)
        if mood == DROP:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if mood == GARBAGE:
            return web.Response(text="<html>ok</html>")
        return web.json_response(body)

    async def _stall(self, request: web.Request) -> web.StreamResponse:
        await self._stalled.wait()
        return web.Response(status=504)
