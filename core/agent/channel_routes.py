"""The channel contract over HTTP; the server that carries it keeps its own rules (token, one sentence)."""

from __future__ import annotations

from aiohttp import web

from core.agent.body import read_body
from core.agent.channels import Channels
from core.agent.errors import BadRequest, UnknownChannel
from core.agent.sidecar.order import whole

LARGEST_ORDER = 8 * 1024 * 1024  # a playlist of many thousand items
PREFIX = "/api/v1/channels/{channel}"


class ChannelRoutes:
    def __init__(self, channels: Channels) -> None:
        self._channels = channels

    def add_to(self, router: web.UrlDispatcher) -> None:
        router.add_get(PREFIX, self._get)
        router.add_get(f"{PREFIX}/events", self._get_events)
        router.add_post(f"{PREFIX}/start", self._post_start)
        router.add_post(f"{PREFIX}/stop", self._post_stop)

    async def _get(self, request: web.Request) -> web.Response:
        return web.json_response(self._channels.view(_channel(request)))

    async def _post_start(self, request: web.Request) -> web.Response:
        channel, body = _channel(request), await read_body(request, LARGEST_ORDER)
        if whole(body, "channel", channel) != channel:
            raise BadRequest("The order is for another channel than its address says.")
        if whole(body, "generation") < 1:
            raise BadRequest("generation must be 1 or more.")
        return web.json_response(await self._channels.start(channel, {**body, "channel": channel}))

    async def _post_stop(self, request: web.Request) -> web.Response:
        channel, body = _channel(request), await read_body(request)
        generation = whole(body, "generation")
        await self._channels.stop(channel, generation)
        return web.json_response({"generation": generation, **self._channels.view(channel)})

    async def _get_events(self, request: web.Request) -> web.Response:
        generation, after = _asked(request, "generation"), _asked(request, "after", "0")
        found = await self._channels.events(_channel(request), generation, after)
        if found is None:
            raise UnknownChannel(f"This node knows no generation {generation} of that channel.")
        return web.json_response(found)


def _channel(request: web.Request) -> int:
    return _number(request.match_info["channel"], "The channel")


def _asked(request: web.Request, name: str, default: str = "") -> int:
    return _number(request.query.get(name, default), name)


def _number(text: str, what: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise BadRequest(f"{what} must be a whole number.")
    return int(text)
