"""`thumbnails`: a poster, and a filmstrip in one picture that the timeline can lay under a window."""

from __future__ import annotations

import math
from typing import Any

from core.jobs.handlers.media import begin, in_place, keep, read, recording, run_ffmpeg
from core.jobs.handlers.services import Services
from core.jobs.registry import RunContext

WIDTH, HEIGHT = 160, 90
MOST = 60  # pictures in a strip: 9600 points wide, which every toolkit can load
SPARSE = 300.0  # a longer recording is looked at by its key frames alone


def strip(duration_s: float) -> tuple[int, float]:
    """How many pictures, and how many seconds apart."""
    count = min(MOST, max(1, math.floor(duration_s)))
    return count, max(duration_s, 0.04) / count


async def thumbnails(context: RunContext) -> dict[str, Any]:
    services: Services = context.services
    source = await recording(context)
    folder = services.derived(source.asset_id)
    duration = source.duration_s or 1.0
    count, apart = strip(duration)
    frame = (
        f"scale={WIDTH}:{HEIGHT}:force_original_aspect_ratio=decrease:flags=bilinear,"
        f"pad={WIDTH}:{HEIGHT}:(ow-iw)/2:(oh-ih)/2"
    )
    poster, film = folder / "poster.jpg", folder / "filmstrip.jpg"
    one = ["-frames:v", "1", "-update", "1", "-c:v", "mjpeg", "-q:v", "4", "-f", "image2"]
    async with in_place(context, poster) as draft:
        await run_ffmpeg(
            context,
            [
                *begin(services), "-ss", f"{duration * 0.1:.3f}", *read(source.path), "-map", "0:v:0",
                "-vf", "scale='min(640,iw)':-2", *one, f"file:{draft}",
            ],
            None, (0.0, 0.1),
        )  # fmt: skip
    async with in_place(context, film) as draft:
        await run_ffmpeg(
            context,
            [
                *begin(services), *(["-skip_frame", "nokey"] if duration > SPARSE else []), *read(source.path),
                "-map", "0:v:0", "-an", "-vf", f"fps=1/{apart:.6f}:start_time=0,{frame},tile={count}x1", *one,
                f"file:{draft}",
            ],
            duration, (0.1, 1.0),
        )  # fmt: skip
    pictures = {
        "path": str(film),
        "count": count,
        "every_s": round(apart, 6),
        "width": WIDTH,
        "height": HEIGHT,
    }
    await keep(context, source.asset_id, {"poster": str(poster), "filmstrip": pictures})
    return {"pictures": count}
