"""`proxy`: a small copy of a recording that any player and browser can show from its first byte."""

from __future__ import annotations

from typing import Any

from core.jobs.handlers.media import begin, in_place, keep, read, recording, run_ffmpeg
from core.jobs.handlers.services import Services
from core.jobs.registry import RunContext

HEIGHT = 360


async def proxy(context: RunContext) -> dict[str, Any]:
    services: Services = context.services
    source = await recording(context)
    target = services.derived(source.asset_id) / "proxy.mp4"
    async with in_place(context, target) as draft:
        await run_ffmpeg(
            context,
            [
                *begin(services), *read(source.path), "-map", "0:v:0", "-map", "0:a:0?",
                "-vf", f"scale=-2:'min({HEIGHT},ih)':flags=bilinear,format=yuv420p",
                "-c:v", "libx264", "-preset", "veryfast", "-crf", "28", "-threads", "1", "-g", "50",
                "-c:a", "aac", "-b:a", "96k", "-ac", "2", "-movflags", "+faststart", "-f", "mp4", f"file:{draft}",
            ],
            source.duration_s,
        )  # fmt: skip
        size = draft.stat().st_size
    await keep(context, source.asset_id, {"proxy": {"path": str(target), "size": size, "height": HEIGHT}})
    return {"size": size}
