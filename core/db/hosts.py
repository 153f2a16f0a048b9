"""One address that lists several hosts: finds the one that can write, also when another does not answer at all.

The driver tries hosts one after the other within one time limit, and gives up at a host that is starting up. A host
that lost its power says nothing, so it would use up the whole limit and the promoted standby would never be asked.
Here each host has its own limit and the next one is asked shortly after. The host that served last is asked first.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import asyncpg

HEAD_START = 0.25  # seconds that a host has before the next one is asked as well
PATIENCE = 1.0  # seconds for the last silent host once another has said that it cannot be written to


def each_host(url: str) -> list[str]:
    """The address once for each of its hosts."""
    parts = urlsplit(url)
    login, at, places = parts.netloc.rpartition("@")
    if "," in places:
        return [urlunsplit(parts._replace(netloc=f"{login}{at}{place}")) for place in places.split(",")]
    query = parse_qsl(parts.query, keep_blank_values=True)
    hosts = dict(query).get("host", "").split(",")
    ports = dict(query).get("port", "").split(",")
    if len(hosts) < 2 or len(ports) not in (1, len(hosts)):
        return [url]
    ports = ports * len(hosts) if len(ports) == 1 else ports
    made = []
    for host, port in zip(hosts, ports, strict=True):
        own = [(n, {"host": host, "port": port}.get(n, v)) for n, v in query]
        made.append(urlunsplit(parts._replace(query=urlencode(own, safe="/", quote_via=quote))))
    return made


class Hosts:
    """Connects like asyncpg.connect, to whichever of the hosts can write."""

    def __init__(self, url: str) -> None:
        self._urls = each_host(url)

    @property
    def several(self) -> bool:
        return len(self._urls) > 1

    async def connect(self, url: str, **options: Any) -> Any:
        """`url` is what a pool hands in; the hosts are known already."""
        if not self.several:
            return await asyncpg.connect(url, **options)
        # After a failover the old primary may still answer as a standby: take the one that writes.
        options["target_session_attrs"] = "read-write"
        return await self._race(options)

    async def _race(self, options: dict[str, Any]) -> Any:
        waiting = list(self._urls)
        asked: dict[asyncio.Task[Any], str] = {}
        errors: list[BaseException] = []
        try:
            while waiting or asked:
                if waiting:
                    url = waiting.pop(0)
                    asked[asyncio.create_task(asyncpg.connect(url, **options))] = url
                limit = HEAD_START if waiting else PATIENCE if errors else None
                done, _ = await asyncio.wait(asked, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
                if not done and not waiting:
                    break  # the others have answered: ask them again soon, rather than wait for the silent one
                for task in done:
                    url = asked.pop(task)
                    if (error := task.exception()) is not None:
                        errors.append(error)
                        continue
                    self._urls.sort(key=lambda u, served=url: u != served)  # type: ignore[misc]
                    return task.result()
        finally:
            await _hang_up(asked)
        raise _telling(errors)


async def _hang_up(tasks: dict[asyncio.Task[Any], str]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError, Exception):
            (await task).terminate()


def _telling(errors: Sequence[BaseException]) -> BaseException:
    """Of what the hosts said, what helps most: a refusal says more than silence."""
    said = [e for e in errors if isinstance(e, asyncpg.PostgresError)]
    return said[0] if said else errors[0]
