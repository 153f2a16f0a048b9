"""The allow-list of sources: what is let in, as what, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.recording.sources import PATTERNS, Source, SourceRefused, check_source, parse_source, shown


@pytest.mark.parametrize(
    "text, kind",
    [
        ("srt://10.0.0.5:9000", "srt"),
        ("srt://10.0.0.5:9000?mode=caller&latency=200&passphrase=0123456789", "srt"),
        ("srt://:9000?mode=listener", "srt"),
        ("srt://[fe80::1]:9000", "srt"),
        ("SRT://host:9000", "srt"),
        ("udp://239.1.1.1:5000", "udp"),
        ("udp://@239.1.1.1:5000?localaddr=10.0.0.1", "udp"),
        ("udp://:5000", "udp"),
        ("rtp://239.1.1.1:5004", "rtp"),
        ("rtmp://host/live/key", "rtmp"),
        ("rtmps://host:443/live/key", "rtmps"),
        ("rtsp://user:secret@camera/stream1", "rtsp"),
        ("http://host/live.ts", "http"),
        ("https://host/master.m3u8?token=abc", "https"),
        ("file:clips/a b.mp4", "file"),
        ("file:///media/a.mp4", "file"),
        ("/dev/video0", "v4l2"),
        ("/dev/video12", "v4l2"),
        ("decklink:DeckLink Mini Recorder (1)", "decklink"),
        *((f"test:{name}", "test") for name in PATTERNS),
    ],
)
def test_what_is_allowed(text: str, kind: str) -> None:
    source = parse_source(text)
    assert source.kind == kind
    assert source.live == (kind not in ("file", "test"))
    check_source(text)


@pytest.mark.parametrize(
    "text, part",
    [
        ("", "No source"),
        ("   ", "No source"),
        ("concat:a.ts|b.ts", "concat: is not allowed"),
        ("concatf:list.txt", "not allowed"),
        ("subfile,,start,0,end,0,,:/etc/passwd", "is not a source"),
        ("subfile:/etc/passwd", "not allowed"),
        ("data:text/plain,hello", "not allowed"),
        ("pipe:0", "not allowed"),
        ("pipe:", "not allowed"),
        ("fd:0", "not allowed"),
        ("unix:/run/x.sock", "not allowed"),
        ("tcp://host:1", "not allowed"),
        ("tls://host:1", "not allowed"),
        ("ftp://host/a", "not allowed"),
        ("sftp://host/a", "not allowed"),
        ("gopher://host/a", "not allowed"),
        ("ipfs://abc", "not allowed"),
        ("rist://host:1", "not allowed"),
        ("crypto:file:/etc/passwd", "not allowed"),
        ("cache:http://host/a", "not allowed"),
        ("async:file:/etc/passwd", "not allowed"),
        ("tee:a|b", "not allowed"),
        ("lavfi:testsrc", "not allowed"),
        ("rtmpt://host/a", "not allowed"),
        ("httpproxy://host/a", "not allowed"),
        ("-i", "minus sign"),
        ("-f lavfi", "minus sign"),
        ("srt://host:9000\n-f lavfi", "invisible"),
        ("srt://host:9000\r", "invisible"),
        ("srt://host:9000\x00", "invisible"),
        (" srt://host:9000", "invisible"),
        ("srt://host:9000\u2028x", "invisible"),
        ("srt://host 1:9000", "does not belong"),
        ("srt://host:9000|concat:x", "does not belong"),
        ("http://host/'a'", "does not belong"),
        ("srt://host", "needs a port"),
        ("srt://:9000", "names no host"),
        ("udp://host", "needs a port"),
        ("srt://host:0", "Port 0"),
        ("srt://host:99999", "cannot be read"),
        ("srt://host:abc", "cannot be read"),
        ("http:///path", "names no host"),
        ("rtmp:host/live", "begins with rtmp://"),
        ("http:host", "begins with http://"),
        ("file:", "names no file"),
        ("file:clips/", "names no file"),
        ("file:../secret", "outside"),
        ("file:a/../../secret", "outside"),
        ("file:a/..", "outside"),
        ("file:..\\secret", "outside"),
        ("file:~/secret", "outside"),
        ("file:\\\\server\\share\\x", "outside"),
        ("file://server/share/x", "names no host"),
        ("clips/a.mp4", "is not a source"),
        ("/etc/passwd", "is not a source"),
        ("/dev/sda", "is not a source"),
        ("/dev/video0,/dev/video1", "is not a source"),
        ("/dev/video", "is not a source"),
        ("/dev/videoX", "is not a source"),
        ("decklink:", "Name the DeckLink"),
        ("decklink:-x", "Name the DeckLink"),
        ("decklink:a:b", "Name the DeckLink"),
        ("test:", "no test pattern"),
        ("test:nothing", "no test pattern"),
        ("test:bars,movie=/etc/passwd", "no test pattern"),
        ("x" * 2000, "longer than"),
    ],
)
def test_what_is_refused(text: str, part: str) -> None:
    with pytest.raises(SourceRefused, match=r"[.]$") as refused:
        parse_source(text)
    assert part in str(refused.value)


@given(st.text(max_size=60))
def test_any_text_is_recognised_or_refused(text: str) -> None:
    try:
        source = parse_source(text)
    except SourceRefused:
        return
    assert not source.address.startswith("-") and source.address.isprintable()


def test_a_file_is_found_only_inside_the_media_folder(tmp_path: Path) -> None:
    media, outside = tmp_path / "media", tmp_path / "outside"
    media.mkdir()
    outside.mkdir()
    (outside / "secret.ts").write_text("x")
    (media / "clip.ts").write_text("x")
    (media / "folder").mkdir()
    (media / "link.ts").symlink_to(outside / "secret.ts")
    (media / "door").symlink_to(outside)
    (media / "inner.ts").symlink_to(media / "clip.ts")
    clip = str((media / "clip.ts").resolve())
    for text in ("file:clip.ts", f"file:{media}/clip.ts", f"file://{media}/clip.ts", "file:inner.ts"):
        assert parse_source(text, media) == Source("file", clip, "file", parse_source(text).formats)
    for text in ("file:link.ts", "file:door/secret.ts", f"file:{outside}/secret.ts", "file:/etc/passwd"):
        with pytest.raises(SourceRefused, match="outside the media folder"):
            parse_source(text, media)
    for text in ("file:missing.ts", "file:folder"):
        with pytest.raises(SourceRefused, match="There is no file"):
            parse_source(text, media)


def test_a_media_folder_that_is_itself_a_link_works(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "clip.ts").write_text("x")
    (tmp_path / "media").symlink_to(real)
    assert parse_source("file:clip.ts", tmp_path / "media").address == str((real / "clip.ts").resolve())


def test_no_network_source_may_reach_local_files() -> None:
    for text in (
        "http://h/a.m3u8",
        "https://h/a",
        "rtsp://h/a",
        "rtmp://h/a/b",
        "srt://h:1",
        "udp://h:1",
        "rtp://h:1",
    ):
        source = parse_source(text)
        assert source.protocols and "file" not in source.protocols.split(",")
        assert not {"concat", "lavfi", "image2", "pipe", "data"} & set(source.formats.split(","))


@pytest.mark.parametrize(
    "text, safe",
    [
        ("srt://h:1?passphrase=abc&mode=caller", "srt://h:1?passphrase=…&mode=caller"),
        ("rtsp://user:secret@cam/1", "rtsp://user:…@cam/1"),
        ("rtmp://host/live/mystreamkey", "rtmp://host/live/…"),
        ("https://h/a?token=abc", "https://h/a?token=…"),
        ("https://h/a?x=1", "https://h/a?x=1"),
        ("test:bars", "test:bars"),
        ("http://[::1", "the address"),
    ],
)
def test_secrets_are_not_shown(text: str, safe: str) -> None:
    assert shown(text) == safe
