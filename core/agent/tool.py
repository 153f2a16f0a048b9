"""Runs ffmpeg for a short question and takes its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from core.agent.errors import AgentError


@dataclass(frozen=True)
class Answer:
    exit_code: int | None  # None: it took too long and was ended
    output: str
    log: str

    @property
    def in_time(self) -> bool:
        return self.exit_code is not None


async def ask(argv: Sequence[str], limit: float) -> Answer:
    """Runs to its end or to the limit; the process is gone when this returns, whatever happens."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise AgentError(f"ffmpeg could not be started: {error.strerror or error}.") from error
    reading = asyncio.ensure_future(process.communicate())
    in_time = False
    try:
        done, _ = await asyncio.wait({reading}, timeout=limit)
        in_time = bool(done)
    finally:
        if not reading.done():
            process.kill()
        await asyncio.wait({reading})
    output, log = await reading
    code = process.returncode if in_time else None
    return Answer(code, output.decode(errors="replace"), log.decode(errors="replace"))
