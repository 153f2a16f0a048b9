"""What the handlers of recordings share: finding the file, running ffmpeg out of everybody's way, keeping the outcome.

What must stay true: a file is in its place whole or not at all; ffmpeg runs at the lowest priority and is gone when
its handler is; paths come from the database and are used only inside the media folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from core.db.queries import beside
from core.jobs.handlers.services import Services
from core.jobs.registry import JobFailed, RunContext

log = logging.getLogger(__name__)
SQL = beside(__file__, "handlers.sql")
LOWEST = 19
KEPT_LOG = 200  # lines of what ffmpeg says
UNDECODABLE = "undecodable"
_REASONS = (
    ("no space left on device", "The disk is full.", True),
    ("permission denied", "Access to the file was denied: check its rights.", True),
    ("no such file or directory", "The recording's file is not there.", False),
    ("moov atom not found", "The recording cannot be decoded: it is not a complete media file.", False),
    ("invalid data found", "The recording cannot be decoded: it holds no picture or sound in a known form.", False),
    ("could not find codec parameters", "The recording cannot be decoded: its form is not known.", False),
    ("matches no streams", "The recording has no picture.", False),
    ("output file does not contain any stream", "The recording has no picture.", False),
)  # fmt: skip


@dataclass(frozen=True)
class Recording:
    asset_id: int
    name: str
    path: Path
    duration_s: float | None


async def recording(context: RunContext) -> Recording:
    services: Services = context.services
    asset_id = context.arguments.get("asset_id")
    if not isinstance(asset_id, int):
        raise JobFailed("The run does not say which asset it is about.", code="bad_arguments", retry=False)
    async with services.database.acquire() as connection:
        row = await connection.fetchrow(SQL.asset, asset_id)
    if row is None:
        raise JobFailed(f"There is no asset {asset_id} any more.", code="gone", retry=False)
    path = inside(services.media, row["path"])
    if not await asyncio.to_thread(path.is_file):
        raise JobFailed(f"The recording's file is not there: {path.name}.", code="gone", retry=False)
    return Recording(asset_id, row["display_name"], path, row["duration_s"])


def inside(media: Path, path: str) -> Path:
    """The file of that name, if it is in the media folder."""
    found = (media / path).resolve()
    if not path or not found.is_relative_to(media.resolve()):
        raise JobFailed("The recording's path leads out of the media folder.", code="bad_path", retry=False)
    return found


@contextlib.asynccontextmanager
async def in_place(context: RunContext, target: Path) -> AsyncIterator[Path]:
    """A draft that becomes the target when all went well; no two attempts share one."""
    await asyncio.to_thread(target.parent.mkdir, parents=True, exist_ok=True)
    draft = target.with_name(f".{context.lease.token.hex}-{target.name}")
    try:
        yield draft
        await asyncio.to_thread(draft.replace, target)
    finally:
        draft.unlink(missing_ok=True)


def begin(services: Services) -> list[str]:
    # A report a second, and no more threads than leave a core to the recorders.
    return [
        services.ffmpeg,
        "-hide_banner",
        "-nostdin",
        "-nostats",
        "-stats_period",
        "1",
        "-loglevel",
        "level+info",
    ]


def read(path: Path) -> list[str]:
    return ["-threads", "1", "-protocol_whitelist", "file,pipe", "-i", f"file:{path}"]


async def run_ffmpeg(
    context: RunContext,
    arguments: Sequence[str],
    duration_s: float | None,
    part: tuple[float, float] = (0.0, 1.0),
) -> str:
    """Runs to its end and returns what ffmpeg wrote. `part`: which part of the run's progress this is."""
    try:
        process = await asyncio.create_subprocess_exec(
            *arguments, "-progress", "pipe:1", stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        raise JobFailed(f"ffmpeg could not be started: {error.strerror or error}.") from error
    said: list[str] = []
    try:
        lower(process.pid)
        assert process.stdout is not None
        assert process.stderr is not None
        await asyncio.gather(
            _follow(context, process.stdout, duration_s, part), _listen(process.stderr, said)
        )
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code != 0:
        raise failure("\n".join(said), code)
    context.progress = part[1]
    return "\n".join(said)


def lower(pid: int) -> None:
    """Recordings come first: this gets what they leave."""
    try:
        process = psutil.Process(pid)
        if sys.platform == "win32":
            process.nice(psutil.IDLE_PRIORITY_CLASS)
        else:
            process.nice(LOWEST)
        if sys.platform == "linux":
            process.ionice(psutil.IOPRIO_CLASS_IDLE)
    except (psutil.Error, OSError) as error:
        log.info("process %d keeps its priority: %s", pid, error)


async def _follow(
    context: RunContext, stream: asyncio.StreamReader, duration_s: float | None, part: tuple[float, float]
) -> None:
    while line := await stream.readline():
        name, _, value = line.decode(errors="replace").strip().partition("=")
        # out_time_ms counts microseconds too, whatever its name says.
        if name == "out_time_us" and duration_s and value.isdigit():
            done = min(int(value) / 1e6 / duration_s, 1.0)
            context.progress = part[0] + (part[1] - part[0]) * done


async def _listen(stream: asyncio.StreamReader, said: list[str]) -> None:
    while line := await stream.readline():
        said.append(line.decode(errors="replace").rstrip())
        if len(said) > KEPT_LOG:
            del said[KEPT_LOG // 4]  # how it began and how it ended are what tells


def failure(text: str, code: int) -> JobFailed:
    """One sentence that says why, and whether trying again can help."""
    low = text.lower()
    for sign, sentence, again in _REASONS:
        if sign in low:
            return JobFailed(sentence, code="handler_error" if again else UNDECODABLE, retry=again)
    complaints = [line for line in text.splitlines() if "[error]" in line or "[fatal]" in line]
    if code < 0:
        return JobFailed(f"ffmpeg was ended by signal {-code}.")
    if not complaints:
        return JobFailed("ffmpeg ended without a reason.")
    return JobFailed(f"ffmpeg says: {complaints[-1].rpartition('] ')[2].rstrip('.')[:300]}.")


async def keep(context: RunContext, asset_id: int, facts: Mapping[str, Any]) -> None:
    """Enters what was found with the asset, as long as the run is still ours."""
    services: Services = context.services
    lease = context.lease
    async with services.database.acquire() as connection:
        if not await connection.fetchval(SQL.keep_meta, lease.id, lease.token, asset_id, dict(facts)):
            raise JobFailed(
                "The asset is gone, or the run was given to another worker.", code="gone", retry=False
            )
