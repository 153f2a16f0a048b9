"""`loudness`: EBU R 128 of a recording: integrated, range and true peak."""

from __future__ import annotations

import re
from typing import Any

from core.jobs.handlers.media import begin, keep, read, recording, run_ffmpeg
from core.jobs.handlers.services import Services
from core.jobs.registry import JobFailed, RunContext

_FIGURES = {
    "integrated_lufs": re.compile(r"^\s+I:\s+(-?[\d.]+|-?inf|nan) LUFS", re.MULTILINE),
    "range_lu": re.compile(r"^\s+LRA:\s+(-?[\d.]+|-?inf|nan) LU", re.MULTILINE),
    "true_peak_dbtp": re.compile(r"^\s+Peak:\s+(-?[\d.]+|-?inf|nan) dBFS", re.MULTILINE),
}


def figures(said: str) -> dict[str, float | None] | None:
    """What ffmpeg's meter found, or None when it says nothing. Silence has no figures."""
    summary = said.rpartition("Summary:")[2]
    found = {name: pattern.search(summary) for name, pattern in _FIGURES.items()}
    if any(match is None for match in found.values()):
        return None
    return {name: _number(match.group(1)) for name, match in found.items() if match is not None}


def _number(text: str) -> float | None:
    return None if "inf" in text or "nan" in text else float(text)


async def loudness(context: RunContext) -> dict[str, Any]:
    services: Services = context.services
    source = await recording(context)
    try:
        said = await run_ffmpeg(
            context,
            [
                *begin(services), *read(source.path), "-map", "0:a:0", "-vn",
                "-af", "ebur128=peak=true:framelog=quiet", "-f", "null", "-",
            ],
            source.duration_s,
        )  # fmt: skip
    except JobFailed as error:
        if "no picture" not in str(error):
            raise
        # The stream that is missing here is the sound.
        await keep(context, source.asset_id, {"loudness": {"sound": False}})
        return {"sound": False}
    found = figures(said)
    if found is None:
        raise JobFailed("ffmpeg's loudness meter gave no figures.")
    await keep(context, source.asset_id, {"loudness": found})
    return dict(found)
