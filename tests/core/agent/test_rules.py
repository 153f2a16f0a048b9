"""The pure parts: what is said to ffmpeg, what its words mean, when a fault is one, what a file proves."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.agent import ffmpeg as say
from core.agent import patterns
from core.agent.faults import Disk, disk_alarm
from core.agent.preflight import SPARE, expected_rate, room
from core.agent.proof import judge
from core.agent.session import SessionStore, file_name, slug
from core.agent.settings import AgentSettings, CaptureSettings, SettingsRefused
from core.agent.watch import LogTail, Watch, mark
from core.alarms.model import Priority
from core.recording.sources import PATTERNS, parse_source


def record(source: str, **settings: object) -> list[str]:
    return say.record(
        "ffmpeg", parse_source(source), CaptureSettings.parse(settings), Path("/m/a.mp4"), Path("/s/p.jpg"), 0
    )


@pytest.mark.parametrize("source", ["srt://h:1", "test:bars", "file:a.ts", "http://h/a", "/dev/video0"])
@pytest.mark.parametrize("container", ["mp4", "ts", "mkv"])
@pytest.mark.parametrize("mode", [{}, {"video": "copy", "audio": "copy"}, {"audio": "none"}])
def test_every_recording_is_crash_safe(source: str, container: str, mode: dict[str, str]) -> None:
    argv = record(source, container=container, **mode)
    if container == "mp4":
        assert argv[argv.index("-movflags") + 1] == "frag_keyframe+empty_moov+default_base_moof"
    assert (
        argv[argv.index("-f", argv.index("-flush_packets")) + 1]
        == {"mp4": "mp4", "ts": "mpegts", "mkv": "matroska"}[container]
    )
    assert "-nostdin" in argv and "-n" in argv and "-y" not in argv


@pytest.mark.parametrize(
    "text", ["srt://h:1", "udp://h:1", "rtp://h:1", "rtmp://h/a/b", "rtsp://h/a", "http://h/a", "file:a"]
)
def test_the_source_is_one_argument_and_fenced(text: str) -> None:
    argv = record(text)
    at = argv.index("-i")
    assert argv[at + 1] == parse_source(text).address.replace("a", "file:a", 1) if text == "file:a" else text
    assert argv.index("-protocol_whitelist") < at and argv.index("-format_whitelist") < at


def test_a_tone_and_a_timecode_on_every_pattern_that_should_have_them() -> None:
    for name in PATTERNS:
        graph = patterns.video(name, 360, 0)
        assert ("enable=" in graph) == (name not in ("black", "freeze"))
        assert patterns.audio(name).startswith("anullsrc" if name == "silent" else "sine")


@pytest.mark.parametrize(
    "line, sentence",
    [
        ("[error] Error opening input: Connection refused", "refused the connection"),
        ("[error] Cannot open video device /dev/video0: No such file or directory", "no such file or device"),
        ("[file @ 0x1] [error] Protocol 'file' not on whitelist 'http'!", "protocol that is not allowed"),
        ("[error] Error opening input: Connection timed out", "did not answer in time"),
        ("[error] Invalid data found when processing input", "not picture or sound"),
        ("[out#0/mp4 @ 0x1] [error] Error writing trailer: No space left on device", "The disk is full."),
        ("[error] a.mp4: Permission denied", "Access was denied"),
        (
            "[srt @ 0x55a8] [error] Connection to srt://h:1 failed: Input/output error",
            "nothing sends at that address",
        ),
        ("[fatal] Unknown input format: 'decklink'", "cannot use a device"),
        ("[error] Server returned 404 Not Found", "does not exist on its server"),
        ("[vf#0 @ 0xabc] [error] Something odd", "ffmpeg says: Something odd."),
        ("[error] Cannot do srt://h:1?passphrase=abc", "ffmpeg says: Cannot do srt://h:1?passphrase=…."),
        ("[info] nothing wrong", "ended without a reason"),
    ],
)
def test_ffmpeg_is_translated(line: str, sentence: str) -> None:
    said = say.explain(
        f"[info] Input #0\n{line}\n[fatal] Conversion failed!\n" if "info" not in line else line, 1
    )
    assert sentence in said and said.endswith(".")


def test_how_it_ended_says_more_than_a_noisy_log() -> None:
    noise = "[h264 @ 0x1] [error] no frame!\n[error] Invalid data found when processing input"
    assert say.explain(noise, -9) == "The recording process was ended by signal 9."
    assert say.explain(noise, 0) == "The source ended."
    assert say.explain("[info] x", 255) == "The recording process was told to end by another program."


def test_progress_is_read_in_microseconds() -> None:
    assert say.progress("frame=10\nout_time_ms=400000\nout_time_us=400000\nprogress=end\n") == (0.4, 10)
    assert say.progress("frame=0\nout_time_us=N/A\n") == (0.0, 0)


@pytest.mark.parametrize(
    "line, found",
    [
        ("[Parsed_metadata_3 @ 0x7f] [info] lavfi.black_start=0", ("black", True)),
        ("[Parsed_metadata_4 @ 0x7f] [info] lavfi.black_end=3.5", ("black", False)),
        ("[Parsed_blackdetect_2 @ 0x5] [info] black_start:0 black_end:4 black_duration:4", None),
        ("[Parsed_freezedetect_4 @ 0x7f] [info] lavfi.freezedetect.freeze_start: 0", ("freeze", True)),
        ("[Parsed_freezedetect_4 @ 0x7f] [info] lavfi.freezedetect.freeze_end: 9", ("freeze", False)),
        ("[Parsed_freezedetect_4 @ 0x7f] [info] lavfi.freezedetect.freeze_duration: 9", None),
        ("[Parsed_silencedetect_0 @ 0x7f] [info] silence_start: 0", ("silence", True)),
        ("[silencedetect @ 0x7f] [info] silence_end: 4.032 | silence_duration: 4.032", ("silence", False)),
        ("[info] Stream #0:0: Video", None),
    ],
)
def test_marks_in_the_log(line: str, found: tuple[str, bool] | None) -> None:
    assert mark(line) == found


def test_black_counts_after_its_time_and_a_file_that_stands_is_stalled() -> None:
    watch = Watch(CaptureSettings(black_s=3, stalled_s=5), began=100.0)
    watch.hear(["lavfi.black_start=1"], 101.0)
    watch.see(1000, 101.0)
    assert watch.faults(103.9) == frozenset()
    assert watch.faults(104.0) == {"black"}
    watch.hear(["lavfi.black_end=5", "silence_start: 3"], 105.0)
    assert watch.faults(105.0) == {"silence"}
    assert watch.faults(106.1) == {"silence", "stalled"}
    watch.see(2000, 107.0)
    assert watch.faults(107.1) == {"silence"}
    assert Watch(CaptureSettings(stalled_s=0), began=0.0).faults(1e9) == frozenset()


def test_the_log_is_read_in_pieces_and_kept_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.agent.watch.LONGEST_LOG", 100)
    path = tmp_path / "log"
    tail = LogTail(path)
    assert tail.lines() == []
    with path.open("ab", buffering=0) as writer:
        writer.write(b"one\ntw")
        assert tail.lines() == ["one"]
        writer.write(b"o\nthree\n")
        assert tail.lines() == ["two", "three"]
        writer.write(b"x" * 120 + b"\n")
        assert len(tail.lines()) == 1
        assert path.stat().st_size == 0
        writer.write(b"after\n")
        assert tail.lines() == ["after"]


@pytest.mark.parametrize(
    "duration, expected, problem, covers, said",
    [
        (60.0, 60.0, None, True, None),
        (58.6, 60.0, None, True, None),
        (58.4, 60.0, None, False, "The file holds 58.4 s of the 60.0 s that were recorded."),
        (3565.0, 3600.0, None, True, None),
        (3560.0, 3600.0, None, False, "The file holds 3560.0 s of the 3600.0 s that were recorded."),
        (0.0, 60.0, None, False, "The file holds no pictures."),
        (60.0, 60.0, "Broken.", False, "Broken."),
    ],
)
def test_what_a_file_proves(
    duration: float, expected: float, problem: str | None, covers: bool, said: str | None
) -> None:
    proof = judge(1, duration, expected, problem)
    assert (proof.covers, proof.problem) == (covers, said)
    assert proof.readable == (problem is None and duration > 0)


def test_the_disk_forecast() -> None:
    gb = 1024**3
    assert disk_alarm("N", Disk("/m", 100 * gb, 50 * gb), 1e6) is None
    soon = disk_alarm("N", Disk("/m", 100 * gb, 3 * gb), 1e6)
    assert soon is not None and soon.priority == Priority.HIGH and "full in about 54 min" in soon.message
    now = disk_alarm("N", Disk("/m", 100 * gb, 3 * gb), 1e7)
    assert now is not None and now.priority == Priority.CRITICAL
    idle = disk_alarm("N", Disk("/m", 100 * gb, gb // 2), 0)
    assert idle is not None and "full in" not in idle.message


def test_room_for_a_recording() -> None:
    assert room(SPARE + 100, 100) is None
    assert "needs about 1.0 GB" in (room(SPARE + 100, 1024**3) or "")
    settings, source = CaptureSettings(), parse_source("srt://h:1")
    assert expected_rate(source, settings, 5.0) == 5.0
    assert expected_rate(source, CaptureSettings(video_kbps=8000), None) == pytest.approx(1_016_000)
    assert expected_rate(source, settings, None) > expected_rate(parse_source("test:bars"), settings, None)


@pytest.mark.parametrize(
    "raw",
    [
        {"container": "mov"}, {"container": 5}, {"video": "hevc"}, {"audio": "mp3"}, {"height": 10},
        {"height": True}, {"height": "360"}, {"video_kbps": -1}, {"black_s": -1},
        {"video": "copy", "video_kbps": 500},
    ],
)  # fmt: skip
def test_settings_that_are_wrong(raw: dict[str, object]) -> None:
    with pytest.raises(SettingsRefused):
        CaptureSettings.parse(raw)


def test_settings_of_others_are_left_alone() -> None:
    assert CaptureSettings.parse({"colour": "red", "height": None}) == CaptureSettings()


def test_names_of_files_cannot_climb() -> None:
    assert slug("../../etc/passwd") == "etc-passwd" and slug("…") == "recording"
    session = SessionStore(Path("/s")).new(
        key="k", external_id="x", recorder_id=1, recorder_name="R", window=None, attempt=None,
        name="News at 8: / part\n2", source="test:bars", planned_end=None, requested_at=0.0,
    )  # fmt: skip
    assert file_name(session, "mp4") == f"19700101-000000_News-at-8-part-2_{session.id[:8]}.mp4"


def test_the_agents_settings_show_no_secret() -> None:
    settings = AgentSettings("postgresql://u:pw@h/d", "N", "secret-token", Path("/h"), Path("/m"))
    assert "secret-token" not in repr(settings) and "pw" not in repr(settings)
