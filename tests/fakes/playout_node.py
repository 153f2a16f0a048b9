"""A node whose agent and sidecars are scripted: a fake, because a real sidecar cannot be made to lose an answer, die
between two events or hang on demand. It speaks both HTTP contracts and keeps what really went to air.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

ANSWER, HANG, GARBAGE, HUGE, MALFORMED, FOREIGN, GONE = (
    "answer", "hang", "garbage", "huge", "malformed", "foreign", "gone",
)  # fmt: skip


def now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Engine:
    """One generation of one channel, as its sidecar would be."""

    channel: int
    generation: int
    order: dict[str, Any]
    events: list[dict[str, Any]] = field(default_factory=list)
    running: bool = True
    ended_at: datetime | None = None
    version: int = 0
    skips: int = 0
    foreign: dict[str, Any] = field(default_factory=dict)
    says: dict[str, Any] = field(default_factory=dict)  # what its answers say otherwise

    def event(self, type: str, clip: str, item: int | None = None, **more: Any) -> None:
        made = {"seq": len(self.events) + 1, "type": type, "at": now().isoformat(), "item_id": item, "asset_id": None,
                "clip": clip, "result": None, "offset_s": 0.0, "why": None}  # fmt: skip
        self.events.append(made | more)

    def die(self) -> None:
        self.running, self.ended_at = False, now()


class PlayoutNode:
    """`mood(channel)` says how its sidecars answer; `agent_mood` how its agent does (answer, hang, refuse)."""

    def __init__(self, token: str = "secret") -> None:
        self.token = token
        self.engines: dict[tuple[int, int], Engine] = {}
        self.starts: list[tuple[int, int]] = []
        self.stops: list[tuple[int, int]] = []
        self.off_airs: list[tuple[int, int]] = []
        self.probes: list[int] = []
        self.mood: Callable[[int], str] = lambda channel: ANSWER
        self.agent_mood = "answer"
        self.url = ""
        self._hanging = asyncio.Event()

    async def __aenter__(self) -> PlayoutNode:
        app = web.Application()
        app.router.add_post("/api/v1/channels/{channel}/start", self._start)
        app.router.add_post("/api/v1/channels/{channel}/stop", self._stop)
        app.router.add_get("/api/v1/channels/{channel}/events", self._events)
        app.router.add_get("/{channel}/{generation}/status", self._status)
        app.router.add_post("/{channel}/{generation}/skip", self._skip)
        app.router.add_put("/{channel}/{generation}/playlist", self._playlist)
        app.router.add_post("/{channel}/{generation}/off-air", self._off_air)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, backlog=1024).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._hanging.set()
        await self._runner.cleanup()

    def engine(self, channel: int) -> Engine:
        """The newest of a channel here."""
        return max((e for e in self.engines.values() if e.channel == channel), key=lambda e: e.generation)

    async def _start(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("x-internal-token") != self.token:
            return web.json_response({"error": "wrong token"}, status=401)
        channel, body = int(request.match_info["channel"]), await request.json()
        mine = (channel, body["generation"])
        self.starts.append(mine)
        if self.agent_mood == "hang":
            await self._hanging.wait()
        if self.agent_mood == "refuse":
            return web.json_response({"error": "No encoder is left."}, status=503)
        known = self.engines.get(mine)
        if known is not None and not known.running:
            return web.json_response(
                {"error": "That generation died here.", "generation": mine[1]}, status=409
            )
        if known is None:
            known = self.engines[mine] = Engine(*mine, body, version=body["playlist_version"])
            if body["items"]:
                first = body["items"][0]
                known.event("start", first["clip_name"], first["id"])
            else:
                known.event("start", "Slate")
        if self.agent_mood == "lose":
            self.agent_mood = "answer"
            assert request.transport is not None
            request.transport.abort()
        url = f"{self.url}/{mine[0]}/{mine[1]}"
        return web.json_response({"sidecar_url": url, "generation": mine[1], "pid": 1})

    async def _stop(self, request: web.Request) -> web.StreamResponse:
        channel, body = int(request.match_info["channel"]), await request.json()
        if self.agent_mood == "hang":
            await self._hanging.wait()
        self.stops.append((channel, body["generation"]))
        for engine in self.engines.values():
            if engine.channel == channel and engine.generation <= body["generation"] and engine.running:
                engine.die()
        return web.json_response({})

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if self.agent_mood == "hang":
            await self._hanging.wait()
        engine = self.engines.get((int(request.match_info["channel"]), int(request.query["generation"])))
        if engine is None:
            return web.json_response({"error": "unknown"}, status=404)
        fresh = [e for e in engine.events if e["seq"] > int(request.query["after"])]
        ended = engine.ended_at.isoformat() if engine.ended_at else None
        return web.json_response({"generation": engine.generation, "running": engine.running, "ended_at": ended,
                                  "events": fresh})  # fmt: skip

    def _engine(self, request: web.Request) -> Engine | None:
        return self.engines.get((int(request.match_info["channel"]), int(request.match_info["generation"])))

    async def _status(self, request: web.Request) -> web.StreamResponse:
        channel, engine = int(request.match_info["channel"]), self._engine(request)
        self.probes.append(channel)
        mood = self.mood(channel)
        if mood == HANG:
            await self._hanging.wait()
        if mood == GARBAGE:
            return web.Response(text="<html>fine</html>")
        if mood == HUGE:
            return web.Response(body=b'{"currentItemId": 1, "x": "' + b"x" * 2_000_000 + b'"}')
        if mood == MALFORMED:
            return web.json_response({"currentItemId": 1, "seq": 3, "events": [{"seq": "x"}]})
        if engine is None or not engine.running or mood == GONE:
            if request.transport is not None:  # else whoever asked has hung up already
                request.transport.abort()
            return web.Response()
        if mood == FOREIGN:
            return web.json_response(engine.foreign)
        after = int(request.query["after"])
        return web.json_response({
            "currentItemId": None, "currentClip": None, "currentItemStartedAt": None, "generation": engine.generation,
            "seq": len(engine.events), "events": [e for e in engine.events if e["seq"] > after][:500],
            "clock": now().isoformat(), "on_air": True, "playlist_version": engine.version, "problems": [],
            "runs_dry_in_s": None,
        } | engine.says)  # fmt: skip

    async def _skip(self, request: web.Request) -> web.StreamResponse:
        engine = self._engine(request)
        assert engine is not None
        engine.skips += 1
        return web.json_response({})

    async def _playlist(self, request: web.Request) -> web.StreamResponse:
        engine, body = self._engine(request), await request.json()
        assert engine is not None
        engine.version, engine.order = body["version"], engine.order | body
        return web.json_response({})

    async def _off_air(self, request: web.Request) -> web.StreamResponse:
        engine, body = self._engine(request), await request.json()
        if engine is None or not engine.running:
            if request.transport is not None:  # else whoever asked has hung up already
                request.transport.abort()
            return web.Response()
        self.off_airs.append((engine.channel, body["generation"]))
        if engine.events and engine.events[-1]["type"] == "start":
            engine.event("end", engine.events[-1]["clip"], engine.events[-1]["item_id"], result="interrupted")
        engine.die()
        return web.json_response({})
