"""Writes that come in bursts, gathered into one statement.

Five hundred recordings that start at one instant are one UPDATE, not five hundred; each caller still
learns its own outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")


class Batch(Generic[Item]):
    """`write` takes many items and returns the ids that were written."""

    def __init__(
        self,
        write: Callable[[list[Item]], Awaitable[set[int]]],
        identify: Callable[[Item], int],
        pause: float,
    ) -> None:
        self._write = write
        self._identify = identify
        self._pause = pause
        self._waiting: list[tuple[Item, asyncio.Future[bool]]] = []
        self._task: asyncio.Task[None] | None = None

    async def put(self, item: Item) -> bool:
        """Whether the row was still ours to write."""
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if self._task is None:
            self._task = asyncio.create_task(self._flush(), name="batched writes")
        return await done

    async def _flush(self) -> None:
        await asyncio.sleep(self._pause)
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                written = await self._write([item for item, _ in batch])
            except BaseException as error:
                self._settle(batch, error=error)
                if not isinstance(error, Exception):
                    self._settle(self._waiting, error=error)
                    self._task = None
                    raise
                continue
            self._settle(batch, written)
        self._task = None

    def _settle(
        self,
        batch: list[tuple[Item, asyncio.Future[bool]]],
        written: set[int] | None = None,
        error: Any = None,
    ) -> None:
        for item, done in batch:
            if done.done():
                continue
            if isinstance(error, asyncio.CancelledError):
                done.cancel()
            elif error is not None:
                done.set_exception(error)
            else:
                done.set_result(self._identify(item) in (written or set()))
