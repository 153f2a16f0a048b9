"""How long tests wait: by the time that this process really had.

A limit is about the program, not about the machine. Where the whole machine stood still, or other programs had the
processor, the time in between counts only as one step, so that a limit can be as short as the behaviour asks for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from core.clock import steady

STEP = 0.005
COUNTED = 4 * STEP  # the most that one step counts


class Patience:
    def __init__(self, within: float) -> None:
        self._left = within
        self._last = steady()

    def over(self) -> bool:
        """To be asked after every step."""
        now = steady()
        self._left -= min(now - self._last, COUNTED)
        self._last = now
        return self._left <= 0


async def patiently(
    condition: Callable[[], object], within: float = 5.0, what: str = "the condition"
) -> None:
    """Waits until a condition holds, and says what it was when it does not."""
    patience = Patience(within)
    while not condition():
        if patience.over():
            pytest.fail(f"{what} did not hold within {within} s")
        await asyncio.sleep(STEP)
