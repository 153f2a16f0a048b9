"""A handler as another package would bring it."""

from __future__ import annotations

from core.jobs.model import Definition
from core.jobs.registry import RunContext


async def checksum(context: RunContext) -> dict[str, int]:
    return {"sum": 1}


checksum.recurring = [Definition("checksums", "0 4 * * *", "theirs")]  # type: ignore[attr-defined]


def no_coroutine(context: RunContext) -> None:
    return None
