"""Proves that a recording is one: its file can be read, decodes, and covers the time that was recorded."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.agent import ffmpeg as say
from core.agent.errors import AgentError
from core.agent.tool import Answer, ask

log = logging.getLogger(__name__)
WHOLE = 512 * 1024**2  # a file up to this size is read from end to end; of a larger one the end is read
TAIL = 10.0
LIMIT = 20.0  # well inside the time that a stop may take
_DURATION = re.compile(r"Duration: (\d+):(\d\d):(\d\d(?:\.\d+)?)")


@dataclass(frozen=True)
class Proof:
    readable: bool
    duration_s: float
    expected_s: float
    size: int
    covers: bool  # the duration covers the time recorded, within tolerance
    problem: str | None  # what is wrong with it, as a sentence

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def tolerance(expected: float) -> float:
    """A source may take a moment to deliver and the last fragment may be lost; more is not a recording."""
    return max(1.5, expected * 0.01)


def judge(size: int, duration: float, expected: float, problem: str | None) -> Proof:
    readable = problem is None and duration > 0
    covers = readable and duration >= expected - tolerance(expected)
    if problem is None and duration <= 0:
        problem = "The file holds no pictures."
    elif problem is None and not covers:
        problem = f"The file holds {duration:.1f} s of the {expected:.1f} s that were recorded."
    return Proof(readable, round(duration, 3), round(expected, 3), size, covers, problem)


async def prove(ffmpeg: str, file: Path, expected: float) -> Proof:
    try:
        size = (await asyncio.to_thread(file.stat)).st_size
    except OSError as error:
        return judge(0, 0.0, expected, f"The file is not there: {error.strerror}.")
    if size == 0:
        return judge(0, 0.0, expected, "The file is empty.")
    try:
        pictures, (duration, wrong) = await asyncio.gather(
            ask(say.decode(ffmpeg, file), LIMIT), _length(ffmpeg, file, size)
        )
    except AgentError as error:
        return judge(size, 0.0, expected, str(error))
    return judge(size, duration, expected, _decodes(pictures) or wrong)


def _decodes(answer: Answer) -> str | None:
    if not answer.in_time:
        return "The file could not be read in time."
    _, frames = say.progress(answer.output)
    if answer.exit_code != 0 or frames == 0:
        log.warning("a recording does not decode: %s", answer.log[-2000:])
        return f"The file cannot be read: {say.explain(answer.log)}"
    return None


async def _length(ffmpeg: str, file: Path, size: int) -> tuple[float, str | None]:
    start = 0.0
    if size > WHOLE and (stated := await _stated(ffmpeg, file)) is not None:
        start = max(0.0, stated - TAIL)
    answer = await ask(say.walk(ffmpeg, file, start), LIMIT)
    seconds, frames = say.progress(answer.output)
    if not answer.in_time:
        return start + seconds, "The file could not be read to its end in time."
    if answer.exit_code != 0 or frames == 0:
        return start + seconds, f"The file cannot be read to its end: {say.explain(answer.log)}"
    return start + seconds, None


async def _stated(ffmpeg: str, file: Path) -> float | None:
    """The duration that the file itself states; a killed Matroska states none."""
    found = _DURATION.search((await ask(say.decode(ffmpeg, file, 1), LIMIT)).log)
    if found is None:
        return None
    hours, minutes, seconds = found.groups()
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
