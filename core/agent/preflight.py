"""Looks ahead: can the source be opened, is there room, can the folder be written."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from core.agent import ffmpeg as say
from core.agent.recorder import Recorder
from core.agent.settings import CaptureSettings
from core.agent.tool import ask
from core.errors import AirlockError
from core.recording.sources import Source, parse_source, shown

PROBE_LIMIT = 9.0
SPARE = 1024**3  # what must be left when the recording is over
USUAL = 1_000_000.0  # bytes a second where nothing better is known: 8 Mbit/s
TEST_PATTERN = 30_000.0


@dataclass(frozen=True)
class Plan:
    duration_s: float | None = None
    source: str | None = None  # None: the recorder's own


@dataclass(frozen=True)
class Probe:
    """What was found at a source."""

    problem: str | None
    streams: list[str] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        return {"ok": self.problem is None, "error": self.problem, "streams": self.streams}


@dataclass(frozen=True)
class Findings:
    problems: list[str]
    streams: list[str]
    free: int | None
    needed: int | None

    def plain(self) -> dict[str, Any]:
        return {"ok": not self.problems, **asdict(self)}


def expected_rate(source: Source | None, settings: CaptureSettings, measured: float | None) -> float:
    """Bytes a second, from the best that is known: the last recording, the settings, or what is usual."""
    if measured:
        return measured
    if settings.video_kbps:
        return (settings.video_kbps + 128) * 125.0
    return TEST_PATTERN if source is not None and source.kind == "test" else USUAL


def room(free: int, needed: int) -> str | None:
    if needed + SPARE <= free:
        return None
    return (
        f"The disk has {free / 1024**3:.1f} GB free; the recording needs about {needed / 1024**3:.1f} GB "
        f"and {SPARE // 1024**3} GB must stay free."
    )


class Preflight:
    def __init__(self, ffmpeg: str, media: Path) -> None:
        self._ffmpeg = ffmpeg
        self._media = media

    async def probe(self, text: str) -> Probe:
        try:
            source = await asyncio.to_thread(parse_source, text, self._media)
        except AirlockError as error:
            return Probe(str(error))
        return await self._open(source)

    async def _open(self, source: Source) -> Probe:
        answer = await ask(say.probe(self._ffmpeg, source), PROBE_LIMIT)
        seconds, _ = say.progress(answer.output)
        found = say.streams(answer.log)
        if seconds > 0 or (answer.exit_code == 0 and found):
            return Probe(None, found)
        if not answer.in_time:
            return Probe(f"{shown(source.address)} delivered nothing within {PROBE_LIMIT:.0f} s.")
        return Probe(say.explain(answer.log, answer.exit_code))

    async def check(self, recorder: Recorder, plan: Plan) -> Findings:
        problems: list[str] = []
        streams: list[str] = []
        settings, source = CaptureSettings(), None
        try:
            settings = recorder.capture_settings()
            own = "" if recorder.definition is None else recorder.definition.source
            source = await asyncio.to_thread(parse_source, plan.source or own, self._media)
        except AirlockError as error:
            problems.append(str(error))
        if source is not None and not (source.exclusive and recorder.current is not None):
            # A source that has one reader only is in use by this very recorder: it is there.
            probe = await self._open(source)
            streams = probe.streams
            problems += [f"Source: {probe.problem}"] if probe.problem else []
        folder_problem, free = await asyncio.to_thread(_folder, self._media)
        problems += [folder_problem] if folder_problem else []
        needed = None
        if plan.duration_s is not None:
            needed = int(expected_rate(source, settings, _measured(recorder)) * plan.duration_s)
            if free is not None and (lack := room(free, needed)) is not None:
                problems.append(lack)
        return Findings(problems, streams, free, needed)


def _measured(recorder: Recorder) -> float | None:
    ended = [s for s in recorder.sessions if s.proof is not None and s.proof["duration_s"] > 5]
    if not ended:
        return None
    last = max(ended, key=lambda s: s.requested_at)
    return float(last.size / last.proof["duration_s"]) if last.proof is not None else None


def _folder(media: Path) -> tuple[str | None, int | None]:
    try:
        target = media / "recordings"
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target):
            pass
        return None, shutil.disk_usage(target).free
    except OSError as error:
        return f"The target folder {media} cannot be written: {error.strerror or error}.", None
