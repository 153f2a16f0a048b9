"""Which sources a recorder may open, and what ffmpeg is allowed to do with each.

An allow-list: a source that is not recognised here is refused, when it is saved and again when it
is used. What must stay true: text from the database becomes one argument of ffmpeg, never an option,
a filter, a list of files or a protocol that was not meant; and a file is opened only inside the
media folder, wherever links and dots lead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from core.errors import CommandRefused

LONGEST = 1000
PATTERNS = {
    "bars": "colour bars with a tone",
    "clock": "large timecode with a tone",
    "motion": "moving picture with a tone",
    "silent": "colour bars without sound",
    "black": "black picture with a tone",
    "freeze": "picture that stands still, with a tone",
}

# What each protocol may open in turn: a playlist from the network must not reach into local files.
_PROTOCOLS = {
    "srt": "srt",
    "udp": "udp",
    "rtp": "rtp,udp",
    "rtmp": "rtmp,tcp",
    "rtmps": "rtmps,rtmp,tls,tcp",
    "rtsp": "rtsp,rtp,rtcp,udp,tcp,tls",
    "http": "http,https,tcp,tls,crypto",
    "https": "http,https,tcp,tls,crypto",
    "file": "file",
}
_STREAMS = (
    "mpegts,flv,live_flv,rtsp,sdp,rtp,hls,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,aac,mp3,ogg,h264,hevc,mpjpeg"
)
_FILES = (
    "mpegts,flv,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,aac,mp3,ogg,wav,w64,flac,avi,mxf,gxf,mpeg,h264,hevc,dv"
)
_NEEDS_PORT = {"srt", "udp", "rtp"}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_V4L2 = re.compile(r"/dev/video[0-9]{1,3}")
_DEVICE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ()@._\-]{0,99}")
_SECRET = re.compile(r"(?i)pass|key|token|secret|auth|sig")

ALLOWED = "srt, rtmp, rtmps, rtsp, udp, rtp, http, https, file:, /dev/videoN, decklink: and test:"


class SourceRefused(CommandRefused):
    """A source that may not be opened."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source that was recognised."""

    kind: str  # srt, udp, …, file, v4l2, decklink, test
    address: str  # what ffmpeg is to open: a URL, a path, a device's name, or a pattern's name
    protocols: str = ""  # for -protocol_whitelist
    formats: str = ""  # for -format_whitelist

    @property
    def live(self) -> bool:
        """Whether it comes at its own pace; a file and a test pattern are paced by us."""
        return self.kind not in ("file", "test")

    @property
    def exclusive(self) -> bool:
        """Whether a second reader would take it from the first, or be refused."""
        return self.kind in ("v4l2", "decklink", "srt", "udp", "rtp", "rtmp", "rtmps")

    @property
    def shown(self) -> str:
        return shown(self.address)


def check_source(text: str) -> None:
    """For whoever saves a source: raises SourceRefused with a sentence when it could never be used.

    Links and the real place of a file are looked at on the node that opens it.
    """
    parse_source(text)


def parse_source(text: str, media_folder: Path | None = None) -> Source:
    """Recognises a source. With a media folder, a file must exist in it and its address is absolute."""
    if not text.strip():
        raise SourceRefused("No source is set: enter an address, a device or a test pattern.")
    if len(text) > LONGEST:
        raise SourceRefused(f"The source is longer than {LONGEST} characters.")
    if text != text.strip() or any(not c.isprintable() for c in text):
        raise SourceRefused(
            "The source contains a space at an end, a line break or another invisible character."
        )
    if text.startswith("-"):
        raise SourceRefused("A source may not begin with a minus sign.")
    if _V4L2.fullmatch(text):
        return Source("v4l2", text)
    found = _SCHEME.match(text)
    if found is None:
        raise SourceRefused(f"{shown(text)} is not a source: use {ALLOWED}.")
    scheme, rest = found.group(1).lower(), text[found.end() :]
    if scheme == "test":
        return _pattern(rest)
    if scheme == "decklink":
        return _decklink(rest)
    if scheme == "file":
        return _file(rest, media_folder)
    if scheme in _PROTOCOLS:
        return _url(scheme, rest)
    raise SourceRefused(f"The protocol {scheme}: is not allowed: use {ALLOWED}.")


def shown(text: str) -> str:
    """A source as it may be shown and logged: passwords and keys are left out."""
    try:
        parts = urlsplit(text)
        if not parts.scheme or not parts.netloc:
            return text
        login, at, host = parts.netloc.rpartition("@")
        if ":" in login:
            login = login.partition(":")[0] + ":…"
        pairs = [pair.partition("=") for pair in parts.query.split("&")]
        query = "&".join(f"{n}=…" if _SECRET.search(n) else n + is_ + value for n, is_, value in pairs)
        path = parts.path
        if parts.scheme in ("rtmp", "rtmps") and path.count("/") > 1:
            # The last part of an RTMP address is the stream's key.
            path = path[: path.rindex("/") + 1] + "…"
        return urlunsplit((parts.scheme, login + at + host, path, query, ""))
    except ValueError:
        return "the address"


def _pattern(name: str) -> Source:
    if name not in PATTERNS:
        raise SourceRefused(
            f"There is no test pattern of that name: use {', '.join(f'test:{p}' for p in PATTERNS)}."
        )
    return Source("test", name)


def _decklink(name: str) -> Source:
    if not _DEVICE_NAME.fullmatch(name):
        raise SourceRefused(
            "Name the DeckLink device as its driver does, for example decklink:DeckLink Mini Recorder."
        )
    return Source("decklink", name)


def _url(scheme: str, rest: str) -> Source:
    address = f"{scheme}:{rest}"
    if not rest.startswith("//"):
        raise SourceRefused(f"A {scheme} address begins with {scheme}:// and a host.")
    if any(c in address for c in " \"'<>|\\^`{}"):
        raise SourceRefused("The address contains a character that does not belong into an address.")
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise SourceRefused(
            f"{shown(address)} is not an address: the host or the port cannot be read."
        ) from None
    if port == 0:
        raise SourceRefused("Port 0 cannot be used: name a port from 1 to 65535.")
    if scheme in _NEEDS_PORT:
        if port is None:
            raise SourceRefused(f"A {scheme} address needs a port, for example {scheme}://host:9000.")
        if not host and not _listens(scheme, parts.query):
            raise SourceRefused(f"The {scheme} address names no host.")
    elif not host:
        raise SourceRefused(f"The {scheme} address names no host.")
    return Source(scheme, address, _PROTOCOLS[scheme], _STREAMS)


def _listens(scheme: str, query: str) -> bool:
    """An address without a host that waits for a sender: srt://:9000?mode=listener, udp://:5000."""
    return scheme in ("udp", "rtp") or ("mode", "listener") in parse_qsl(query)


def _file(rest: str, media_folder: Path | None) -> Source:
    if rest.startswith("//"):
        # file:///a is the path /a; file://host/a is somebody else's machine.
        if not rest.startswith("///"):
            raise SourceRefused(
                "A file address names no host: write file: and the path inside the media folder."
            )
        rest = rest[2:]
    if not rest or rest.endswith("/"):
        raise SourceRefused("The file address names no file.")
    if (
        ".." in PurePosixPath(rest).parts
        or ".." in PureWindowsPath(rest).parts
        or rest.startswith(("~", "\\\\"))
    ):
        raise SourceRefused("The file lies outside the media folder.")
    if media_folder is None:
        return Source("file", rest, _PROTOCOLS["file"], _FILES)
    folder = media_folder.resolve()
    path = (folder / rest).resolve()
    if not path.is_relative_to(folder):
        raise SourceRefused("The file lies outside the media folder.")
    if not path.is_file():
        raise SourceRefused(f"There is no file {rest} in the media folder.")
    return Source("file", str(path), _PROTOCOLS["file"], _FILES)
