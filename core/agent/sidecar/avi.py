"""Raw picture and sound in one endless AVI stream: one pipe, so that the two can never run apart."""

from __future__ import annotations

import struct

from core.playout.outputs import Raster

SAMPLES = 48000
_UNKNOWN = 0xFFFFFFFF


def chunk(name: bytes, size: int) -> bytes:
    return name + struct.pack("<I", size)


def samples_before(frame: int, raster: Raster) -> int:
    """How many samples belong before a frame: exact for every rate, also for 30000/1001."""
    return frame * SAMPLES * raster.rate.denominator // raster.rate.numerator


def header(raster: Raster) -> bytes:
    num, den, size = raster.rate.numerator, raster.rate.denominator, raster.frame_bytes
    w, h = raster.width, raster.height
    main = struct.pack("<14I", den * 1_000_000 // num, 0, 0, 0x100, 0, 0, 2, size, w, h, 0, 0, 0, 0)
    video = b"vidsI420" + struct.pack(
        "<IHHIIIIIIII4H", 0, 0, 0, 0, den, num, 0, _UNKNOWN, size, _UNKNOWN, 0, 0, 0, w, h
    )
    picture = struct.pack("<IiiHH4sIiiII", 40, w, h, 1, 12, b"I420", size, 0, 0, 0, 0)
    audio = b"auds\1\0\0\0" + struct.pack(
        "<IHHIIIIIIII4H", 0, 0, 0, 0, 1, SAMPLES, 0, _UNKNOWN, SAMPLES // 5, _UNKNOWN, 4, 0, 0, 0, 0
    )
    sound = struct.pack("<HHIIHHH", 1, 2, SAMPLES, SAMPLES * 4, 4, 16, 0)
    streams = _list(b"strl", _whole(b"strh", video) + _whole(b"strf", picture))
    streams += _list(b"strl", _whole(b"strh", audio) + _whole(b"strf", sound))
    head = _list(b"hdrl", _whole(b"avih", main) + streams)
    return b"RIFF\0\0\0\0AVI " + head + b"LIST\0\0\0\0movi"


def _whole(name: bytes, data: bytes) -> bytes:
    return chunk(name, len(data)) + data


def _list(name: bytes, data: bytes) -> bytes:
    return chunk(b"LIST", 4 + len(data)) + name + data
