"""What is said to ffmpeg, and what its answers mean. Pure: no process is started here.

What must stay true: arguments are lists, never a line for a shell; the source is one argument, and
ffmpeg is told which protocols and formats it may use with it; recordings are written so that what
was captured can be read whatever happens (fragmented MP4, MPEG-TS, Matroska; never a plain MP4).
"""

from __future__ import annotations

import re
from pathlib import Path

from core.agent import patterns
from core.agent.settings import CaptureSettings
from core.recording.sources import Source, shown

# ffmpeg looks at signals only as often as it would print statistics: this is how fast it stops.
_QUICK_STOP = ("-stats_period", "0.03")
_PATIENCE_US = "8000000"  # a live source that says nothing for this long is gone
_PACED = ("-readrate", "1", "-readrate_initial_burst", "0.001")
_PREVIEW_WIDTH = 320

_CONTAINERS = {
    # A fragment a second at the latest: that is what a power cut can cost.
    "mp4": (
        "-f", "mp4", "-movflags", "frag_keyframe+empty_moov+default_base_moof", "-frag_duration", "1000000",
    ),
    "ts": ("-f", "mpegts"),
    "mkv": ("-f", "matroska", "-cluster_time_limit", "1000"),
}  # fmt: skip


def input_arguments(source: Source, height: int | None, first_frame: int) -> list[str]:
    if source.kind == "test":
        height = height or patterns.HEIGHT
        return [
            *_PACED, "-f", "lavfi", "-i", patterns.video(source.address, height, first_frame),
            *_PACED, "-f", "lavfi", "-i", patterns.audio(source.address),
        ]  # fmt: skip
    if source.kind == "v4l2":
        return ["-f", "v4l2", "-i", source.address]
    if source.kind == "decklink":
        return ["-f", "decklink", "-i", source.address]
    guard = ["-protocol_whitelist", source.protocols, "-format_whitelist", source.formats]
    if source.kind == "file":
        return ["-readrate", "1", *guard, "-i", f"file:{source.address}"]
    return [*guard, *_live_options(source.kind), "-i", source.address]


def _live_options(kind: str) -> list[str]:
    look = ["-analyzeduration", "2000000", "-fflags", "+genpts"]
    if kind == "srt":
        return [*look, "-connect_timeout", "3000", "-timeout", _PATIENCE_US, "-listen_timeout", _PATIENCE_US]
    if kind == "udp":
        return [*look, "-timeout", _PATIENCE_US, "-overrun_nonfatal", "1", "-fifo_size", "50000"]
    if kind == "rtp":
        return look  # it knows no time limit; ours for the first bytes applies
    if kind == "rtsp":
        return [*look, "-rtsp_transport", "tcp", "-timeout", _PATIENCE_US]
    if kind in ("http", "https"):
        return [
            *look, "-rw_timeout", _PATIENCE_US,
            "-reconnect", "1", "-reconnect_streamed", "1", "-reconnect_delay_max", "4",
        ]  # fmt: skip
    return [*look, "-rw_timeout", _PATIENCE_US]


def record(
    ffmpeg: str, source: Source, settings: CaptureSettings, target: Path, preview: Path, first_frame: int
) -> list[str]:
    """The command that records a source: the file, a small picture twice a second, signal checks."""
    test = source.kind == "test"
    sound = "1:a:0" if test else "0:a?"
    return [
        ffmpeg, "-hide_banner", "-nostdin", "-nostats", *_QUICK_STOP, "-loglevel", "level+info", "-n",
        *(("-filter_threads", "1") if test else ()),
        *input_arguments(source, settings.height, first_frame),
        "-map", "0:v:0", *(() if settings.audio == "none" else ("-map", sound)),
        *_video(settings, test), *_audio(settings, test),
        "-max_muxing_queue_size", "4096", "-flush_packets", "1",
        *_CONTAINERS[settings.container], f"file:{target}",
        *_silence_alone(settings),
        "-map", "0:v:0", "-an", "-vf", _looks(settings), "-c:v", "mjpeg", "-threads", "1", "-q:v", "6",
        "-f", "image2", "-update", "1", "-atomic_writing", "1", str(preview),
    ]  # fmt: skip


def _video(settings: CaptureSettings, test: bool) -> list[str]:
    # A test pattern is made for the recorder: copying it would mean writing raw pictures.
    if settings.video == "copy" and not test:
        return ["-c:v", "copy"]
    quality = ["-b:v", f"{settings.video_kbps}k"] if settings.video_kbps else ["-crf", "30" if test else "23"]
    if test:
        return [
            "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-threads", "1",
            "-g", str(patterns.RATE), *quality,
        ]  # fmt: skip
    size = ["-vf", f"scale=-2:{settings.height}"] if settings.height else []
    return [
        *size, "-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p",
        "-force_key_frames", "expr:gte(t,n_forced)", *quality,
    ]  # fmt: skip


def _audio(settings: CaptureSettings, test: bool) -> list[str]:
    if settings.audio == "none":
        return ["-an"]
    if settings.audio == "copy" and not test:
        return ["-c:a", "copy"]
    check = ["-af", _silence(settings)] if settings.silence_s else []
    return [*check, "-c:a", "aac", "-b:a", "64k" if test else "128k"]


def _silence_alone(settings: CaptureSettings) -> list[str]:
    """Sound that is copied is not decoded for the file, so it is listened to beside it."""
    if settings.audio != "copy" or not settings.silence_s:
        return []
    # The copied picture is there because an output without any stream would be an error.
    return [
        "-map", "0:v:0", "-map", "0:a:0?", "-c:v", "copy", "-c:a", "pcm_s16le", "-af", _silence(settings),
        "-f", "null", "-",
    ]  # fmt: skip


def _silence(settings: CaptureSettings) -> str:
    return f"silencedetect=n=-60dB:d={settings.silence_s}"


def _looks(settings: CaptureSettings) -> str:
    """A small, slow branch is enough to see black and standing pictures, and makes the confidence picture."""
    chain = ["fps=2", f"scale={_PREVIEW_WIDTH}:-2:flags=fast_bilinear"]
    if settings.black_s:
        # blackdetect logs only when black ends; its marks on the frames come at once.
        chain += [
            f"blackdetect=d={settings.black_s}",
            "metadata=mode=print:key=lavfi.black_start",
            "metadata=mode=print:key=lavfi.black_end",
        ]
    if settings.freeze_s:
        chain.append(f"freezedetect=n=0.0001:d={settings.freeze_s}")
    return ",".join(chain)


def probe(ffmpeg: str, source: Source, seconds: float = 1.0) -> list[str]:
    """Opens a source, reads a moment of it and writes nothing."""
    return [
        ffmpeg, "-hide_banner", "-nostdin", "-nostats", *_QUICK_STOP, "-loglevel", "level+info",
        *input_arguments(source, None, 0), "-map", "0:v:0?", "-map", "0:a?", "-t", str(seconds), "-c", "copy",
        "-progress", "pipe:1", "-f", "null", "-",
    ]  # fmt: skip


def walk(ffmpeg: str, file: Path, from_s: float = 0.0) -> list[str]:
    """Reads a recording from a point to its end without decoding and reports how far its timestamps go."""
    return [
        ffmpeg, "-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+info", *_own_file(file, from_s),
        "-map", "0:v:0", "-c", "copy", "-progress", "pipe:1", "-f", "null", "-",
    ]  # fmt: skip


def decode(ffmpeg: str, file: Path, pictures: int = 25) -> list[str]:
    """Decodes the first pictures, wherever they begin: a source may be joined in mid-stream."""
    return [
        ffmpeg, "-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+info", *_own_file(file, 0.0),
        "-map", "0:v:0", "-frames:v", str(pictures), "-progress", "pipe:1", "-f", "null", "-",
    ]  # fmt: skip


def _own_file(file: Path, from_s: float) -> list[str]:
    seek = ["-ss", f"{from_s:.3f}"] if from_s > 0 else []
    return [*seek, "-protocol_whitelist", "file,pipe", "-i", f"file:{file}"]


# -- what ffmpeg says ---------------------------------------------------------------------------

_PREFIX = re.compile(r"^(?:\[[^\]]*\] )*\[(panic|fatal|error|warning|info|verbose|debug)\] ?")
_DEVICE = re.compile(r"^\[[^\]]*@ 0x[0-9a-f]+\] ?")
_URL = re.compile(r"\b[a-z]+://[^\s'\",]+")
# In this order: the first that occurs anywhere says more than those behind it.
_REASONS = (
    ("No space left on device", "The disk is full."),
    ("Disk quota exceeded", "The disk quota is used up."),
    ("Read-only file system", "The target folder is on a disk that cannot be written."),
    ("Connection refused", "The source refused the connection: nothing listens at that address."),
    ("No route to host", "There is no route to the source's host."),
    ("Network is unreachable", "The network of the source cannot be reached."),
    ("Failed to resolve hostname", "The source's host name is not known."),
    ("Name or service not known", "The source's host name is not known."),
    ("Temporary failure in name resolution", "The source's host name could not be looked up."),
    ("not on whitelist", "The source leads to a protocol that is not allowed."),
    ("Protocol not found", "This ffmpeg does not know the source's protocol."),
    ("Unknown input format", "This ffmpeg cannot use a device of that kind."),
    ("Connection timed out", "The source did not answer in time."),
    ("Connection setup failure: connection timeout", "The source did not answer in time."),
    ("Operation timed out", "The source did not answer in time."),
    ("timed out", "The source did not answer in time."),
    ("Connection to srt", "The source did not answer: nothing sends at that address."),
    ("Connection setup failure", "The source did not accept the connection."),
    ("Connection rejected", "The source rejected the connection."),
    ("Address already in use", "Another program listens on that port already."),
    ("Cannot assign requested address", "The address to listen on does not belong to this machine."),
    ("401 Unauthorized", "The source asks for a user name and password."),
    ("403 Forbidden", "The source refused access."),
    ("404 Not Found", "The source does not exist on its server."),
    ("Server returned 5", "The source's server reported a fault of its own."),
    ("Server returned 4", "The source's server refused the request."),
    ("Device or resource busy", "The device is in use by another program."),
    ("No such device", "There is no such device."),
    ("Permission denied", "Access was denied: check the rights on the file, folder or device."),
    ("No such file or directory", "There is no such file or device."),
    ("matches no streams", "The source carries no picture."),
    ("does not contain any stream", "The source carries no picture."),
    ("moov atom not found", "The source is not a complete media file."),
    ("Invalid data found", "The source sends data that is not picture or sound in a known form."),
    ("could not find codec parameters", "The source's picture or sound has an unknown form."),
    ("Connection reset by peer", "The source closed the connection."),
    ("Broken pipe", "The source closed the connection."),
    ("Input/output error", "The source could not be read: nothing arrived."),
    ("End of file", "The source ended."),
)  # fmt: skip


# What ffmpeg says after it has said what was wrong.
_EMPTY = ("Error opening output file", "Error opening input", "Conversion failed", "Terminating thread")


def explain(log: str, exit_code: int | None = None) -> str:
    """One sentence that says why ffmpeg ended, from what it wrote."""
    # How it ended says more than the complaints about a poor signal that fill a log.
    if exit_code is not None and exit_code < 0:
        return f"The recording process was ended by signal {-exit_code}."
    if exit_code == 0:
        return "The source ended."
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    complaints = [line for line in lines if _level(line) in ("fatal", "error", "panic")]
    text = "\n".join(complaints)
    for sign, sentence in _REASONS:
        if sign.lower() in text.lower():
            return sentence
    if complaints:
        telling = [line for line in complaints if not any(empty in line for empty in _EMPTY)]
        words = _DEVICE.sub("", _PREFIX.sub("", (telling or complaints)[-1])).strip().rstrip(".")
        return f"ffmpeg says: {without_secrets(words)[:300]}."
    if exit_code == 255:
        return "The recording process was told to end by another program."
    return "The recording process ended without a reason."


def _level(line: str) -> str:
    found = _PREFIX.match(line)
    return found.group(1) if found else ""


def without_secrets(text: str) -> str:
    return _URL.sub(lambda found: shown(found.group()), text)


_STREAM = re.compile(r"Stream #\d+:\d+.*?: (Video|Audio): (.*)$")


def streams(log: str) -> list[str]:
    """What a source carries, as ffmpeg lists it before the first output."""
    found = []
    for line in log.splitlines():
        if "Output #" in line or "Stream mapping" in line:
            break
        if match := _STREAM.search(line):
            found.append(f"{match.group(1)}: {match.group(2)}"[:200])
    return found


def progress(text: str) -> tuple[float, int]:
    """Seconds and frames of the last report of -progress."""
    seconds, frames = 0.0, 0
    for line in text.splitlines():
        name, _, value = line.partition("=")
        # out_time_ms counts microseconds too, whatever its name says.
        if name == "out_time_us" and value.lstrip("-").isdigit():
            seconds = int(value) / 1e6
        elif name == "frame" and value.strip().isdigit():
            frames = int(value)
    return seconds, frames
