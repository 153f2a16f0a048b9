"""Reading what a request carries: a JSON object of a bounded size, or one sentence that says what is wrong."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from core.agent.errors import BadRequest, TooLarge

LARGEST_BODY = 64 * 1024


async def read_body(request: web.Request, largest: int = LARGEST_BODY) -> dict[str, Any]:
    """The server's own limit is the largest of all: what is more than this address takes is refused here."""
    if (request.content_length or 0) > largest:
        raise TooLarge(f"The request is larger than {largest // 1024} KB.")
    raw = await request.read()
    if len(raw) > largest:
        raise TooLarge(f"The request is larger than {largest // 1024} KB.")
    try:
        body = json.loads(raw) if raw else {}
    except (ValueError, RecursionError):
        raise BadRequest("The request is not JSON.") from None
    if not isinstance(body, dict):
        raise BadRequest("The request must be a JSON object.")
    return body
