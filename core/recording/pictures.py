"""Confidence pictures: the latest frame of a recorder or a channel, fetched for whoever shows it.

A picture is a courtesy: one that cannot be had is None, never an error.
"""

from __future__ import annotations

import asyncio
import ssl

import aiohttp

from core.recording.model import Node, Recorder
from core.recording.recorder_client import Address

LARGEST = 512 * 1024
LIMIT = 2.0


class Pictures:
    def __init__(self, token: str, tls: ssl.SSLContext | None = None) -> None:
        self._token = token
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    async def of(self, recorder: Recorder, node: Node | None) -> bytes | None:
        """The newest picture as JPEG, or None when there is none."""
        base = recorder.base_url or (node.base_url if node is not None else None)
        if base is None:
            return None
        return await self.at(base.rstrip("/") + Address(base, recorder.external_id).path("preview.jpg"))

    async def of_sidecar(self, sidecar_url: str | None) -> bytes | None:
        """The newest picture that a channel's sidecar sends out."""
        return None if not sidecar_url else await self.at(sidecar_url.rstrip("/") + "/preview.jpg")

    async def at(self, url: str) -> bytes | None:
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=self._tls or True),
                headers={"x-internal-token": self._token},
            )
        try:
            # A redirection would carry the token to whomever it names.
            async with asyncio.timeout(LIMIT), self._session.get(url, allow_redirects=False) as response:
                if response.status != 200:
                    return None
                picture = b""
                async for part in response.content.iter_any():
                    picture += part
                    if len(picture) > LARGEST:
                        return None
                return picture if picture.startswith(b"\xff\xd8") else None
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError):
            return None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
