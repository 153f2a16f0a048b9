"""What is said to ffmpeg by a sidecar, and what its complaints mean. Pure: no process is started here."""

from __future__ import annotations

from pathlib import Path

from core.playout.outputs import FILES, Output, Raster

_BASE = ("-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+info")
_FORMATS = (
    "mpegts,flv,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,aac,mp3,ogg,wav,w64,flac,avi,mxf,gxf,mpeg,h264,hevc,dv"
)


def video_decoder(ffmpeg: str, path: str, raster: Raster, in_s: float, duration_s: float | None) -> list[str]:
    w, h = raster.width, raster.height
    ratio = f"{w}/{h}"
    fit = (
        f"scale=w='if(gt(dar,{ratio}),{w},trunc({h}*dar/2+0.5)*2)'"
        f":h='if(gt(dar,{ratio}),trunc({w}/dar/2+0.5)*2,{h})':flags=bilinear"
    )
    chain = f"yadif=deint=interlaced,fps={raster.rate}:start_time=0,{fit},pad={w}:{h}:-1:-1,setsar=1,format=yuv420p"
    return [
        ffmpeg, *_BASE, *_clip(path, in_s), "-map", "0:v:0", *_length(duration_s), "-vf", chain,
        "-fps_mode", "passthrough", "-f", "rawvideo", "pipe:1",
    ]  # fmt: skip


def audio_decoder(ffmpeg: str, path: str, in_s: float, duration_s: float | None) -> list[str]:
    return [
        ffmpeg, *_BASE, *_clip(path, in_s), "-map", "0:a:0", *_length(duration_s),
        "-af", "aresample=48000:async=1:first_pts=0", "-ac", "2", "-f", "s16le", "pipe:1",
    ]  # fmt: skip


def _clip(path: str, in_s: float) -> list[str]:
    seek = ["-ss", f"{in_s:.6f}"] if in_s > 0 else []
    return [*seek, "-protocol_whitelist", "file", "-format_whitelist", _FORMATS, "-i", f"file:{path}"]


def _length(duration_s: float | None) -> list[str]:
    return [] if duration_s is None else ["-t", f"{duration_s:.6f}"]


def encoder(ffmpeg: str, raster: Raster, output: Output, generation: int) -> list[str]:
    small = raster.width * raster.height <= 640 * 360
    gop = str(round(raster.rate))
    return [
        ffmpeg, *_BASE, "-y", "-stats_period", "0.25", "-progress", "pipe:2",
        "-fflags", "nobuffer", "-probesize", "32", "-analyzeduration", "0", "-f", "avi", "-i", "pipe:0",
        "-map", "0:v", "-map", "0:a", "-fps_mode", "passthrough",
        *_codec(output, raster, gop, small), *_target(output, generation),
        "-map", "0:v", "-vf", "fps=1,scale=320:-2:flags=fast_bilinear", "-c:v", "mjpeg", "-q:v", "6",
        "-threads", "1", "-f", "image2pipe", "pipe:1",
    ]  # fmt: skip


def _codec(output: Output, raster: Raster, gop: str, small: bool) -> list[str]:
    if output.kind == "decklink":
        return ["-c:v", "wrapped_avframe", "-pix_fmt", "uyvy422", "-c:a", "pcm_s16le"]
    rate = f"{raster.kbps}k"
    return [
        "-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency", "-pix_fmt", "yuv420p",
        "-threads", "1" if small else "0", "-g", gop, "-sc_threshold", "0",
        "-b:v", rate, "-maxrate", rate, "-bufsize", rate, "-c:a", "aac", "-b:a", "128k",
    ]  # fmt: skip


def _target(output: Output, generation: int) -> list[str]:
    stream = ["-f", "mpegts", "-muxdelay", "0", "-muxpreload", "0", "-flush_packets", "1"]
    if output.kind == "udp":
        size = (
            "" if "pkt_size=" in output.address else ("&" if "?" in output.address else "?") + "pkt_size=1316"
        )
        return [*stream, output.address + size]
    if output.kind == "srt":
        return [*stream, "-connect_timeout", "3000", output.address]
    if output.kind == "rtmp":
        return ["-rw_timeout", "8000000", "-f", "flv", "-flvflags", "no_duration_filesize", output.address]
    if output.kind == "decklink":
        return ["-f", "decklink", output.address]
    path = Path(output.address)
    if output.kind == "hls":
        # The % of a folder's name would be taken for a number to fill in.
        stem = str(path.with_suffix("")).replace("%", "%%")
        return [
            "-f", "hls", "-hls_time", "2", "-hls_list_size", "6",
            "-hls_flags", "delete_segments+independent_segments+omit_endlist+append_list+temp_file",
            "-hls_segment_filename", f"file:{stem}_{generation}_%06d.ts", f"file:{path}",
        ]  # fmt: skip
    form = FILES[path.suffix]
    more = ["-movflags", "frag_keyframe+empty_moov+default_base_moof"] if form == "mp4" else []
    return ["-f", form, *more, "-flush_packets", "1", f"file:{_unused(path)}"]


def _unused(path: Path) -> Path:
    """What an earlier generation wrote is never written over."""
    found, number = path, 1
    while found.exists():
        number += 1
        found = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return found


_REASONS = (
    ("No space left on device", "The disk is full."),
    ("No such file or directory", "There is no such file."),
    ("Permission denied", "Access was denied."),
    ("matches no streams", "It carries no picture."),
    ("moov atom not found", "It is not a complete media file."),
    ("Invalid data found", "It is not a media file that can be read."),
    ("not on whitelist", "It is of a kind that is not allowed."),
    ("Connection refused", "The receiver refused the connection."),
    ("Connection setup failure", "The receiver did not accept the connection."),
    ("Connection rejected", "The receiver rejected the connection."),
    ("timed out", "The receiver did not answer in time."),
    ("Network is unreachable", "The network cannot be reached."),
    ("No route to host", "There is no route to the receiver."),
    ("Failed to resolve hostname", "The receiver's host name is not known."),
    ("Address already in use", "Another program uses that port already."),
    ("Broken pipe", "The receiver closed the connection."),
    ("Input/output error", "It could not be read or written."),
)


def explain(log: str, code: int | None) -> str:
    """One sentence. What ffmpeg said itself is not repeated: it may hold an address with its password."""
    complaints = "\n".join(
        line for line in log.splitlines() if "[error]" in line or "[fatal]" in line
    ).lower()
    for sign, sentence in _REASONS:
        if sign.lower() in complaints:
            return sentence
    return "It ended without a reason." if code is None else f"ffmpeg ended with code {code}."
