"""What can be set: the agent's own start-up settings, and the `settings` of a recorder."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import imageio_ffmpeg

from core.errors import CommandRefused

CONTAINERS = {"mp4": "fragmented MP4", "ts": "MPEG-TS", "mkv": "Matroska"}


class SettingsRefused(CommandRefused):
    """A recorder's settings cannot be used."""


@dataclass(frozen=True)
class AgentSettings:
    database_url: str
    node: str
    token: str
    home: Path  # the agent's own state
    media: Path  # recordings go here, and file sources come from here
    host: str = "127.0.0.1"
    port: int = 0  # 0: any, and the same again after a restart
    ffmpeg: str = ""
    jobs: int = 0  # background jobs at once; 0: this node does none
    advertise: str = ""  # the name that stations use for this host, when it is not the address listened on
    certificate: Path | None = None  # with it the agent and its sidecars speak https only
    key: Path | None = None

    @property
    def ffmpeg_path(self) -> str:
        found: str = self.ffmpeg or imageio_ffmpeg.get_ffmpeg_exe()
        return found

    @property
    def shown_host(self) -> str:
        """As others write it into an address."""
        host = self.advertise or self.host
        host = socket.gethostname() if host in ("0.0.0.0", "::", "") else host
        return f"[{host}]" if ":" in host else host

    @property
    def scheme(self) -> str:
        return "http" if self.certificate is None else "https"

    def __repr__(self) -> str:
        # The token and the database's password must not reach a log by way of a traceback.
        return f"AgentSettings(node={self.node!r}, home={str(self.home)!r}, port={self.port})"


@dataclass(frozen=True)
class CaptureSettings:
    """A recorder's `settings`. Zero seconds switch a signal check off."""

    container: str = "mp4"
    video: str = "h264"  # or copy
    audio: str = "aac"  # or copy, or none
    height: int | None = None  # None: as it comes
    video_kbps: int | None = None  # None: constant quality
    black_s: float = 3.0
    freeze_s: float = 10.0
    silence_s: float = 10.0
    stalled_s: float = 5.0

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> CaptureSettings:
        known = {f.name for f in fields(cls)}
        # Somebody else's keys are theirs; ours must be right.
        settings = cls(**{name: value for name, value in raw.items() if name in known and value is not None})
        _one_of("container", settings.container, CONTAINERS)
        _one_of("video", settings.video, ("h264", "copy"))
        _one_of("audio", settings.audio, ("aac", "copy", "none"))
        _number("height", settings.height, 90, 4320)
        _number("video_kbps", settings.video_kbps, 50, 200_000)
        for name in ("black_s", "freeze_s", "silence_s", "stalled_s"):
            _number(name, getattr(settings, name), 0, 3600)
        if settings.video == "copy" and (settings.height or settings.video_kbps):
            raise SettingsRefused("A recorder that copies the picture cannot change its height or bit rate.")
        return settings


def _one_of(name: str, value: object, allowed: Mapping[str, str] | tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise SettingsRefused(f"The recorder's {name} is set to {value!r}: use {', '.join(allowed)}.")


def _number(name: str, value: object, least: float, most: float) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise SettingsRefused(
            f"The recorder's {name} is set to {value!r}: use a number from {least} to {most}."
        )
