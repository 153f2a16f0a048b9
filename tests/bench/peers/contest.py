"""What every contestant shares: what it is told, what it does when a window is due, and how it ends.

A contestant is a process. It reads one line of JSON: the recorder's address, the database's, and when each
window is due. It prepares itself, says "ready", and runs until its standard input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime

from core.recording.answers import Started
from core.recording.recorder_client import Address, RecorderClient, StartRequest

TOKEN = "secret"


@dataclass(frozen=True)
class Task:
    recorder: str
    database: str
    due: list[tuple[int, float]]  # window, seconds since the epoch

    def at(self) -> list[tuple[int, datetime]]:
        return [(window, datetime.fromtimestamp(at, UTC)) for window, at in self.due]


def read_task() -> Task:
    told = json.loads(sys.stdin.readline())
    return Task(told["recorder"], told["database"], [(window, at) for window, at in told["due"]])


async def until_told() -> None:
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)


class Starter:
    """Posts starts with Airlock's own client, so that schedulers are compared and not HTTP clients."""

    def __init__(self, recorder: str) -> None:
        self._recorder = recorder
        self._client = RecorderClient(TOKEN)

    async def start(self, window: int) -> None:
        request = StartRequest(f"bench-{window}", window, 1, "News", "2040-01-01T00:00:00+00:00")
        answer = await self._client.start(Address(self._recorder, f"rec-{window % 500}"), request, 30.0)
        if not isinstance(answer, Started):
            print(f"window {window} was not started: {answer}", file=sys.stderr)

    async def close(self) -> None:
        await self._client.close()
