"""The demonstration's clips: real files, made by ffmpeg at the first run, of several sizes and frame rates.

A clip is written under another name and renamed when it is whole, so that whoever finds one can play it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core.agent.tool import ask

log = logging.getLogger(__name__)
FONTS = Path(__file__).resolve().parents[2] / "resources" / "fonts"
FOLDER = "clips"
LIMIT = 120.0


@dataclass(frozen=True)
class Clip:
    name: str
    seconds: float
    picture: str  # a filter graph, without its size and rate
    caption: str  # what is written over it; ffmpeg expands %{…}
    tone: str = "sine=f=440"
    size: str = "512x288"
    rate: str = "25"

    @property
    def path(self) -> str:
        """Below the media folder."""
        return f"{FOLDER}/{self.name.lower().replace(' ', '-')}.mp4"


_SECONDS = "%{eif\\:trunc(t)\\:d\\:2}"
IDENT = Clip(
    "Station Ident", 6, "gradients=c0=0x10202c:c1=0x2c5a78:c2=0x0c161c:nb_colors=3:speed=0.02", "AIRLOCK"
)
BARS = Clip("Colour Bars", 20, "smptehdbars=", _SECONDS, "sine=f=1000", "640x360")
COUNTDOWN = Clip("Countdown", 10, "color=c=0x202830", "%{eif\\:10-trunc(t)\\:d}", "sine=f=880:beep_factor=2")
HARBOUR = Clip("Harbour Film", 45, "testsrc2=", f"HARBOUR  {_SECONDS}", "sine=f=330", "480x270", "30")
COAST = Clip(
    "Coast Path", 60, "mandelbrot=maxiter=600:end_scale=0.01:end_pts=1500", f"COAST  {_SECONDS}", "sine=f=392"
)
TIDES = Clip("Tidewater", 40, "gradients=c0=0x2a1f3d:c1=0x7a4b2a:c2=0x1f3d33:nb_colors=3:speed=0.05",
             f"TIDEWATER  {_SECONDS}", "sine=f=262", "512x288", "50")  # fmt: skip
GARDEN = Clip(
    "Garden Show", 30, "sierpinski=type=carpet:jump=20", f"GARDEN  {_SECONDS}", "sine=f=523", "400x300", "24"
)

CLIPS = (IDENT, BARS, COUNTDOWN, HARBOUR, COAST, TIDES, GARDEN)


async def make_clips(ffmpeg: str, media: Path, clips: Iterable[Clip] = CLIPS) -> bool:
    """Makes those that are missing. Whether all are there now; what went wrong is in the log."""
    (media / FOLDER).mkdir(parents=True, exist_ok=True)
    return all([await _make(ffmpeg, clip, media) for clip in clips])


async def _make(ffmpeg: str, clip: Clip, media: Path) -> bool:
    target = media / clip.path
    if target.exists():
        return True
    draft = target.with_suffix(".part")
    answer = await ask([ffmpeg, *_arguments(clip, draft)], LIMIT)
    if answer.exit_code != 0:
        log.error("the clip %s could not be made: %s", clip.name, answer.log.strip().rpartition("\n")[2])
        draft.unlink(missing_ok=True)
        return False
    draft.replace(target)
    return True


def _arguments(clip: Clip, target: Path) -> Iterator[str]:
    glue = "" if clip.picture.endswith("=") else ":"
    font = _escaped(FONTS / "InterDisplay-Bold.ttf")
    picture = (
        f"{clip.picture}{glue}size={clip.size}:rate={clip.rate},format=yuv420p,"
        f"drawtext=fontfile={font}:text='{clip.caption}':fontsize=h/6:fontcolor=white:"
        "box=1:boxcolor=black@0.55:boxborderw=12:x=(w-tw)/2:y=(h-th)/2"
    )
    yield from ("-hide_banner", "-loglevel", "error", "-nostdin", "-y", "-threads", "1")
    yield from ("-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", f"{clip.tone}:r=48000,volume=-12dB")
    yield from ("-t", f"{clip.seconds}", "-c:v", "libx264", "-preset", "veryfast", "-crf", "24", "-g", "50")
    yield from ("-c:a", "aac", "-b:a", "96k", "-ac", "2", "-movflags", "+faststart", "-f", "mp4", str(target))


def _escaped(path: Path) -> str:
    """For a value inside a filter graph: escaped once for the option and once for the graph."""
    text = path.as_posix()
    for character in ("\\", "'", ":"):
        text = text.replace(character, f"\\{character}")
    for character in ("\\", "'", "[", "]", ",", ";"):
        text = text.replace(character, f"\\{character}")
    return text
