"""The contracts of recorders and channels over HTTP.

What must stay true: without the plant's token nothing happens and nothing is said; whatever comes
in, the answer is JSON with one sentence, and never a traceback; the token is in no log and no answer.
"""

from __future__ import annotations

import hmac
import logging
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from core.agent import metrics
from core.agent.body import read_body
from core.agent.channel_routes import LARGEST_ORDER, ChannelRoutes
from core.agent.channels import Channels
from core.agent.errors import AgentError, BadRequest
from core.agent.orders import StartOrder
from core.agent.preflight import Plan, Preflight
from core.agent.recorder import Recorder
from core.agent.session import Session
from core.errors import AirlockError, CommandRefused

log = logging.getLogger(__name__)
PREFIX = "/api/v1/recorders/{external_id}"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Lookup = Callable[[str], Awaitable[Recorder]]


class Server:
    def __init__(
        self,
        token: str,
        lookup: Lookup,
        preflight: Preflight,
        channels: Channels,
        health: Callable[[], dict[str, Any]],
    ) -> None:
        self._token = token.encode()
        self._lookup = lookup
        self._preflight = preflight
        self._channels = ChannelRoutes(channels)
        self._health = health
        self._runner: web.AppRunner | None = None

    def application(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=LARGEST_ORDER)
        app.router.add_get("/health", self._get_health)
        app.router.add_get("/metrics", self._get_metrics)
        app.router.add_post("/api/v1/probe", self._post_probe)
        app.router.add_get(PREFIX, self._get_recorder)
        app.router.add_post(f"{PREFIX}/start", self._post_start)
        app.router.add_post(f"{PREFIX}/stop", self._post_stop)
        app.router.add_post(f"{PREFIX}/preflight", self._post_preflight)
        app.router.add_get(f"{PREFIX}/preview.jpg", self._get_preview)
        self._channels.add_to(app.router)
        return app

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Returns the port that was taken."""
        self._runner = web.AppRunner(
            self.application(), access_log=None, shutdown_timeout=5.0, keepalive_timeout=75.0
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port, backlog=1024, ssl_context=tls).start()
        chosen: int = self._runner.addresses[0][1]
        return chosen

    async def close(self) -> None:
        """Takes no more requests and lets those under way finish, within limits."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("x-internal-token", "").encode("utf-8", "surrogateescape")
        if not given and request.path == "/metrics":
            # Scrapers know this form of showing a secret.
            said = request.headers.get("Authorization", "").removeprefix("Bearer ")
            given = said.encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, self._token):
            return _refuse(401, "The token is missing or wrong.")
        try:
            return await handler(request)
        except AgentError as error:
            return _refuse(error.status, str(error), error.details())
        except CommandRefused as error:
            return _refuse(400, str(error))
        except AirlockError as error:
            return _refuse(502, str(error))
        except web.HTTPRequestEntityTooLarge:
            return _refuse(413, f"The request is larger than {LARGEST_ORDER // 1024} KB.")
        except web.HTTPException as error:
            return _refuse(error.status, f"{error.reason}.")
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return _refuse(500, "The agent met a fault of its own; its log says more.")

    async def _recorder(self, request: web.Request) -> Recorder:
        return await self._lookup(request.match_info["external_id"])

    async def _get_health(self, request: web.Request) -> web.Response:
        return web.json_response(self._health())

    async def _get_metrics(self, request: web.Request) -> web.Response:
        return web.Response(
            body=metrics.text(self._health()), headers={"Content-Type": "text/plain; version=0.0.4"}
        )

    async def _get_recorder(self, request: web.Request) -> web.Response:
        return web.json_response((await self._recorder(request)).view())

    async def _post_start(self, request: web.Request) -> web.Response:
        body = await read_body(request)
        order = start_order(request.headers.get("Idempotency-Key", ""), body)
        recorder = await self._recorder(request)
        session = await recorder.start(order)
        return web.json_response({"current_session_id": session.id, "session": session.summary()})

    async def _post_stop(self, request: web.Request) -> web.Response:
        body = await read_body(request)
        session_id = _text(body, "session_id")
        if not session_id:
            raise BadRequest("The request names no session to stop.")
        recorder = await self._recorder(request)
        return web.json_response(_stopped(await recorder.stop(session_id), recorder))

    async def _post_preflight(self, request: web.Request) -> web.Response:
        body = await read_body(request)
        recorder = await self._recorder(request)
        plan = Plan(_number(body, "duration_s"), _text(body, "source") or None)
        return web.json_response((await self._preflight.check(recorder, plan)).plain())

    async def _post_probe(self, request: web.Request) -> web.Response:
        body = await read_body(request)
        source = _text(body, "source")
        if not source:
            raise BadRequest("The request names no source.")
        return web.json_response((await self._preflight.probe(source)).plain())

    async def _get_preview(self, request: web.Request) -> web.StreamResponse:
        recorder = await self._recorder(request)
        current = recorder.current
        if current is None or not current.preview.is_file():
            return _refuse(404, "There is no picture: the recorder is not recording.")
        return web.FileResponse(current.preview, headers={"Cache-Control": "no-store"})


def start_order(key: str, body: dict[str, Any]) -> StartOrder:
    window, attempt = _integer(body, "window"), _integer(body, "attempt")
    if not key and window is not None and attempt is not None:
        key = f"{window}:{attempt}"
    if not key:
        raise BadRequest("The request carries no Idempotency-Key, nor a window and attempt to make one of.")
    if len(key) > 200:
        raise BadRequest("The Idempotency-Key is longer than 200 characters.")
    return StartOrder(
        key=key,
        window=window,
        attempt=attempt,
        name=_text(body, "name")[:200],
        source=_text(body, "source") or None,
        planned_end=_text(body, "planned_end") or None,
    )


def _stopped(session: Session, recorder: Recorder) -> dict[str, Any]:
    current = recorder.current
    return {
        **session.summary(),
        "status": recorder.status,
        "current_session_id": None if current is None else current.id,
    }


def _refuse(status: int, sentence: str, more: dict[str, Any] | None = None) -> web.Response:
    return web.json_response({"error": sentence, **(more or {})}, status=status)


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRequest(f"{name} must be a text.")
    return value


def _integer(body: dict[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise BadRequest(f"{name} must be a whole number.")
    return value


def _number(body: dict[str, Any], name: str) -> float | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 7 * 86400:
        raise BadRequest(f"{name} must be a number of seconds, a week at most.")
    return float(value)
