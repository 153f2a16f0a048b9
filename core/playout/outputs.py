"""Where a channel may send, which clips it may play, and in which raster. Pure: used when saved and when used.

An allow-list: what is not recognised here is refused. What must stay true: text from the database
becomes one argument of ffmpeg, never an option or a protocol that was not meant; and a file is
opened only inside the media folder, wherever links and dots lead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from core.errors import CommandRefused

TYPES = ("srt", "udp", "rtmp", "hls", "file", "decklink")
FILES = {".ts": "mpegts", ".mkv": "matroska", ".mp4": "mp4"}
_SCHEMES = {"srt": ("srt",), "udp": ("udp",), "rtmp": ("rtmp", "rtmps")}
_QUERY = {
    "srt": {"mode", "latency", "passphrase", "pbkeylen", "streamid", "pkt_size", "maxbw", "transtype"},
    "udp": {"pkt_size", "ttl", "localaddr", "localport", "buffer_size", "bitrate", "burst_bits", "reuse"},
}
_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ()@._\-]{0,99}")
LONGEST = 1000


class OutputRefused(CommandRefused):
    """An output, a clip or a raster that may not be used."""


@dataclass(frozen=True, slots=True)
class Output:
    kind: str
    address: str  # a URL, a path inside the media folder, or a device's name


@dataclass(frozen=True, slots=True)
class Raster:
    """The picture that a channel sends."""

    width: int = 1280
    height: int = 720
    rate: Fraction = Fraction(25)
    video_kbps: int = 0  # 0: by the size of the picture

    @property
    def frame_bytes(self) -> int:
        return self.width * self.height * 3 // 2

    @property
    def kbps(self) -> int:
        return self.video_kbps or max(
            int(self.width * self.height * self.rate * Fraction(13, 100)) // 1000, 300
        )

    @classmethod
    def parse(cls, settings: Mapping[str, Any]) -> Raster:
        width, height = settings.get("width", 1280), settings.get("height", 720)
        for name, value, most in (("width", width, 4096), ("height", height, 2304)):
            if isinstance(value, bool) or not isinstance(value, int) or not 64 <= value <= most or value % 2:
                raise OutputRefused(f"The channel's {name} must be an even number from 64 to {most}.")
        kbps = settings.get("video_kbps") or 0
        if isinstance(kbps, bool) or not isinstance(kbps, int) or (kbps and not 50 <= kbps <= 200_000):
            raise OutputRefused("The channel's video_kbps must be a number from 50 to 200000.")
        try:
            rate = Fraction(str(settings.get("rate", 25)))
        except (ValueError, ZeroDivisionError):
            raise OutputRefused("The channel's rate must be a number such as 25 or 30000/1001.") from None
        if not 5 <= rate <= 120 or rate.denominator > 1001:
            raise OutputRefused("The channel's rate must lie between 5 and 120 pictures a second.")
        return cls(width, height, rate, kbps)


def check_output(kind: str, address: str, media: Path | None = None) -> Output:
    """Recognises an output, or raises OutputRefused. With a media folder, a file's place is resolved in it."""
    if kind not in TYPES:
        raise OutputRefused(f"There is no output of that kind: use {', '.join(TYPES)}.")
    _plain(address, "output's address")
    if kind in _SCHEMES:
        return _url(kind, address)
    if kind == "decklink":
        name = address.removeprefix("decklink:")
        if not _DEVICE.fullmatch(name):
            raise OutputRefused("Name the DeckLink device as its driver does.")
        return Output(kind, name)
    path = address.removeprefix("file:")
    suffixes = (".m3u8",) if kind == "hls" else tuple(FILES)
    if not path.endswith(suffixes):
        raise OutputRefused(f"The output's file name must end in {' or '.join(suffixes)}.")
    return Output(kind, _inside(path, media, "output"))


def check_clip(path: str, media: Path | None = None) -> str:
    """A clip's path, or OutputRefused. With a media folder, where it really lies."""
    _plain(path, "clip's path")
    return _inside(path.removeprefix("file:"), media, "clip")


def _plain(text: str, what: str) -> None:
    if not text.strip():
        raise OutputRefused(f"The {what} is empty.")
    if len(text) > LONGEST or text != text.strip() or any(not c.isprintable() for c in text):
        raise OutputRefused(f"The {what} is too long or holds an invisible character.")
    if text.startswith("-"):
        raise OutputRefused(f"The {what} may not begin with a minus sign.")


def _inside(path: str, media: Path | None, what: str) -> str:
    outside = OutputRefused(f"The {what} lies outside the media folder.")
    if re.match(r"[A-Za-z][A-Za-z0-9+.\-]+:", path):
        raise OutputRefused(f"The {what} must be a file in the media folder.")
    if ".." in (*PurePosixPath(path).parts, *PureWindowsPath(path).parts) or path.startswith(("~", "\\\\")):
        raise outside
    if media is None:
        return path
    folder = media.resolve()
    found = (folder / path).resolve()
    if not found.is_relative_to(folder) or found == folder:
        raise outside
    return str(found)


def _url(kind: str, address: str) -> Output:
    scheme = address.partition("://")[0]
    if scheme not in _SCHEMES[kind] or "://" not in address:
        raise OutputRefused(f"The address of a {kind} output begins with {kind}://.")
    if any(c in address for c in " \"'<>|\\^`{}"):
        raise OutputRefused("The address contains a character that does not belong into an address.")
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise OutputRefused("The host or the port of the output cannot be read.") from None
    query = parse_qsl(parts.query, keep_blank_values=True)
    if kind in _QUERY:
        if not port:
            raise OutputRefused(f"The {kind} output needs a port, for example {kind}://host:9000.")
        for name, _ in query:
            if name not in _QUERY[kind]:
                raise OutputRefused(f"The option {name[:40]} of a {kind} address is not allowed.")
    if not host and ("mode", "listener") not in query:
        raise OutputRefused(f"The {kind} output names no host.")
    return Output(kind, address)
