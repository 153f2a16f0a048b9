"""Playout's share of the leader's connections.

What must stay true: however many channels are in trouble at once, the other half of the leader's connections is left
to recordings, which are due at an instant; playout work waits for its turn here, in the order in which it came.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.db.database import AnyConnection
from core.leadership import Lead

AT_ONCE = 4  # of the leader's eight


class Share:
    def __init__(self, lead: Lead) -> None:
        self._lead = lead
        self._turn = asyncio.Semaphore(AT_ONCE)

    def trusted(self) -> bool:
        return self._lead.trusted()

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[AnyConnection]:
        """Not to be nested: who holds one and waits for another could wait for ever."""
        async with self._turn, self._lead.pool.acquire() as connection:
            yield connection
