"""Starts ffmpeg for a session, sees it deliver, and looks at what it writes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.agent import ffmpeg as say
from core.agent import process as processes
from core.agent.errors import StartFailed
from core.agent.orders import Workshop
from core.agent.patterns import frame_of_day
from core.agent.process import Detached
from core.agent.session import Session, file_name, slug
from core.agent.settings import CaptureSettings
from core.agent.watch import LogTail, Watch
from core.clock import steady
from core.recording.sources import parse_source, shown

FIRST_BYTES = 10.0  # a source that has delivered nothing by then is not there
LAST_WORDS = 65536


def spawn(shop: Workshop, session: Session, raw_settings: Mapping[str, Any]) -> Detached:
    """Runs on a thread: disks can be slow. The state is on disk before the process exists."""
    settings = CaptureSettings.parse(raw_settings)
    source = parse_source(session.source, shop.media)
    session.container = settings.container
    folder = shop.media / "recordings" / slug(session.external_id)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / file_name(session, settings.container)
    session.path = str(target)
    session.folder.mkdir(parents=True, mode=0o700)
    first_frame = frame_of_day(datetime.now(UTC))
    session.argv = say.record(shop.ffmpeg, source, settings, target, session.preview, first_frame)
    session.save()
    process = processes.spawn(session.argv, session.log)
    session.pid = process.pid
    session.save()
    return process


async def await_first_bytes(session: Session, process: Detached) -> None:
    target = Path(session.path)
    limit = steady() + FIRST_BYTES
    while not size_of(target):
        if not process.running():
            raise StartFailed(say.explain(log_of(session), process.exit_code))
        if steady() > limit:
            raise StartFailed(f"{shown(session.source)} delivered nothing within {FIRST_BYTES:.0f} s.")
        await asyncio.sleep(0.01)


async def look(session: Session, watch: Watch, tail: LogTail, heard: float | None = None) -> None:
    lines, session.size = await asyncio.to_thread(lambda: (tail.lines(), size_of(Path(session.path))))
    watch.hear(lines, heard or steady())
    watch.see(session.size, steady())


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def last_written(path: Path) -> float:
    return path.stat().st_mtime


def log_of(session: Session) -> str:
    """The end of what ffmpeg said."""
    try:
        with session.log.open("rb") as file:
            file.seek(max(session.log.stat().st_size - LAST_WORDS, 0))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
