"""Handlers on real files, through a real worker process: pictures, loudness and a proxy of real recordings."""

from __future__ import annotations

import asyncio
import csv
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, date, datetime
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import imageio_ffmpeg
import psutil
import pytest

from core.db.database import Connection, Database
from core.jobs.handlers import as_run_export, loudness, media, storage_cleanup, thumbnails
from core.jobs.handlers.media import LOWEST
from core.jobs.handlers.services import Services
from core.jobs.model import Lease
from core.jobs.registry import JobFailed, Registry, RunContext
from core.jobs.shipped import shipped
from tests.core.jobs.conftest import Until
from tests.patience import Patience

ROOT = Path(__file__).parents[3]
FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()


def make_clip(path: Path, seconds: int = 3, sound: bool = True) -> None:
    tone = ["-f", "lavfi", "-i", f"sine=frequency=1000:duration={seconds}", "-c:a", "aac"] if sound else []
    subprocess.run(
        [FFMPEG, "-loglevel", "error", "-y", "-f", "lavfi", "-i", f"testsrc2=size=320x180:rate=25:duration={seconds}",
         *tone, "-c:v", "libx264", "-preset", "ultrafast", "-movflags", "frag_keyframe+empty_moov", str(path)],
        check=True,
    )  # fmt: skip


@pytest.fixture
async def node(connection: Connection) -> int:
    return int(
        await connection.fetchval(
            "INSERT INTO nodes (name, base_url, last_heartbeat_at) VALUES ('n1', 'http://a', now()) RETURNING id"
        )
    )


AddAsset = Callable[..., Awaitable[int]]


@pytest.fixture
async def add_asset(connection: Connection, node: int, recorder: int) -> AddAsset:
    async def add(path: Path | str, seconds: float = 3.0, **columns: Any) -> int:
        made: int = await connection.fetchval(
            "INSERT INTO assets (display_name, path, node_id, recorder_id, duration_s, session_id) "
            "VALUES ('News', $1, $2, $3, $4, $5) RETURNING id", str(path), node, recorder, seconds, uuid4().hex,
        )  # fmt: skip
        for name, value in columns.items():
            await connection.execute(f"UPDATE assets SET {name} = $2 WHERE id = $1", made, value)
        return made

    return add


@pytest.fixture
async def worker_process(plant: str, tmp_path: Path, node: int) -> AsyncIterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(  # noqa: ASYNC220 - a moment
        [sys.executable, "-m", "core.jobs", "--node", "n1", "--media", str(tmp_path), "--ffmpeg", FFMPEG],
        cwd=ROOT, stdin=subprocess.PIPE, env={**os.environ, "AIRLOCK_DATABASE_URL": plant},
    )  # fmt: skip
    yield process
    assert process.stdin is not None
    process.stdin.close()  # as when its agent is gone
    await asyncio.to_thread(process.wait, 30)
    assert process.returncode == 0


def context_for(services: Services, arguments: dict[str, Any], **changes: Any) -> RunContext:
    lease = Lease(
        changes.get("id", 0), "job", "job", arguments, "plant", "", changes.get("plan_time"), "default", "medium", 1, 3,
        600.0, 60.0, changes.get("token", UUID(int=0)),
    )  # fmt: skip
    return RunContext(lease, services)


async def under_lease(connection: Connection, services: Services, arguments: dict[str, Any]) -> RunContext:
    """A context whose run exists and is held, for a handler called by hand."""
    token = uuid4()
    run = await connection.fetchval(
        "INSERT INTO job_runs (job_name, handler, status, lease_token) VALUES ('x', 'x', 'running', $1) RETURNING id",
        token,
    )
    return context_for(services, arguments, id=run, token=token)


@pytest.fixture
def services(database: Database, tmp_path: Path) -> Services:
    return Services(database, "n1", tmp_path, FFMPEG)


async def test_a_finished_recording_gets_its_proxy_pictures_and_loudness_by_itself(
    connection: Connection,
    add_asset: AddAsset,
    tmp_path: Path,
    until: Until,
    worker_process: subprocess.Popen[bytes],
) -> None:
    clip = tmp_path / "news.mp4"
    make_clip(clip)
    asset = await add_asset(clip)
    for _ in range(2):  # said twice, done once
        await connection.execute("UPDATE assets SET status = 'ready' WHERE id = $1", asset)
        await connection.execute("UPDATE assets SET status = 'live' WHERE id = $1", asset)
    await connection.execute("UPDATE assets SET status = 'ready' WHERE id = $1", asset)
    await until("SELECT count(*) FROM job_runs WHERE status = 'completed'", 3, within=60)
    assert await connection.fetchval("SELECT count(*) FROM job_runs") == 3
    meta = await connection.fetchval("SELECT meta FROM assets WHERE id = $1", asset)
    assert -24 < meta["loudness"]["integrated_lufs"] < -18 and meta["loudness"]["true_peak_dbtp"] < -10
    assert (meta["filmstrip"]["count"], meta["filmstrip"]["every_s"]) == (3, 1.0)
    made = [Path(p) for p in (meta["poster"], meta["filmstrip"]["path"], meta["proxy"]["path"])]
    assert all(p.is_relative_to(tmp_path) for p in made)
    assert all(await asyncio.to_thread(lambda: [p.stat().st_size > 500 for p in made]))
    assert [p.name for p in (tmp_path / "derived" / str(asset)).iterdir() if p.name.startswith(".")] == []
    assert psutil.Process(worker_process.pid).nice() == LOWEST


async def test_the_strip_covers_the_whole_recording() -> None:
    assert thumbnails.strip(0.0) == (1, 0.04)
    assert thumbnails.strip(10.5) == (10, 1.05)
    assert thumbnails.strip(7200) == (60, 120)


@pytest.mark.parametrize("kind", ["rubbish", "empty", "gone", "outside"])
async def test_a_file_that_cannot_be_used_fails_with_a_sentence_and_is_not_tried_again(
    services: Services, add_asset: AddAsset, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "clip.mp4"
    if kind == "rubbish":
        path.write_bytes(b"not a film" * 1000)
    elif kind == "empty":
        path.touch()
    elif kind == "outside":
        path = Path("/etc/passwd")
    asset = await add_asset(path)
    for handler in (thumbnails.thumbnails, loudness.loudness):
        with pytest.raises(JobFailed) as failed:
            await handler(context_for(services, {"asset_id": asset}))
        assert not failed.value.retry
        said = str(failed.value)
        assert said.endswith(".") and "\n" not in said and "Traceback" not in said


async def test_a_recording_without_sound_has_no_loudness_and_that_is_no_failure(
    connection: Connection, services: Services, add_asset: AddAsset, tmp_path: Path
) -> None:
    make_clip(tmp_path / "mute.mp4", 1, sound=False)
    asset = await add_asset(tmp_path / "mute.mp4", 1.0)
    found = await loudness.loudness(await under_lease(connection, services, {"asset_id": asset}))
    assert found == {"sound": False}


async def test_what_was_taken_away_enters_nothing(
    connection: Connection, services: Services, add_asset: AddAsset, tmp_path: Path
) -> None:
    asset = await add_asset(tmp_path / "x.mp4")
    context = await under_lease(connection, services, {})
    await connection.execute("UPDATE job_runs SET lease_token = gen_random_uuid()")
    with pytest.raises(JobFailed, match="another worker"):
        await media.keep(context, asset, {"loudness": {}})
    assert await connection.fetchval("SELECT meta FROM assets") == {}


async def test_ffmpeg_is_out_of_the_way_and_gone_with_its_handler(services: Services) -> None:
    argv = [*media.begin(services), "-f", "lavfi", "-i", "testsrc2=size=64x64", "-f", "null", "-"]
    before = {c.pid for c in psutil.Process().children()}
    task = asyncio.create_task(media.run_ffmpeg(context_for(services, {}), argv, None))
    patience, child = Patience(10), None
    while child is None or child.nice() != LOWEST:
        assert not patience.over()
        await asyncio.sleep(0.005)
        new = [c for c in psutil.Process().children() if c.pid not in before]
        child = new[0] if new else None
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not child.is_running()


def test_silence_has_no_figures() -> None:
    said = "Summary:\n  Integrated loudness:\n    I:         -70.0 LUFS\n  Loudness range:\n    LRA:         0.0 LU\n"
    assert loudness.figures(said + "  True peak:\n    Peak:       -inf dBFS\n") == {
        "integrated_lufs": -70.0, "range_lu": 0.0, "true_peak_dbtp": None,
    }  # fmt: skip
    assert loudness.figures("nothing") is None


# -- as-run ----------------------------------------------------------------------------------------


def test_the_day_is_the_plant_s_own_and_may_have_25_hours() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert as_run_export.day_of(datetime(2026, 10, 25, 23, 15, tzinfo=UTC), None, berlin) == date(
        2026, 10, 25
    )
    since, until = as_run_export.span(date(2026, 10, 25), berlin)
    assert (until - since).total_seconds() == 25 * 3600


async def test_a_day_of_as_run_is_a_file_for_each_channel(
    connection: Connection, services: Services, channel: int
) -> None:
    await connection.execute(
        "INSERT INTO playout_as_run (channel_id, clip_name, started_at, ended_at, result, event_seq, generation) "
        "SELECT $1, 'clip ' || d, ('2026-03-0' || d || ' 12:00Z')::timestamptz, "
        "('2026-03-0' || d || ' 12:01Z')::timestamptz, "
        "'played', d, 1 FROM generate_series(1, 3) d", channel,
    )  # fmt: skip
    plan = datetime(2026, 3, 3, 0, 15, tzinfo=UTC)
    for _ in range(2):  # done again, it is the same file
        found = await as_run_export.as_run_export(context_for(services, {"format": "csv"}, plan_time=plan))
    assert found["day"] == "2026-03-02"
    [file] = list(services.exports.iterdir())
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert [r["clip_name"] for r in rows] == ["clip 2"] and "2026-03-02" in file.name


# -- storage ---------------------------------------------------------------------------------------


async def test_retention_removes_what_is_old_and_never_what_is_live_unsynced_or_in_a_playlist(
    connection: Connection, services: Services, add_asset: AddAsset, tmp_path: Path, channel: int
) -> None:
    old = datetime(2020, 1, 1, tzinfo=UTC)
    kinds: dict[str, dict[str, Any]] = {
        "old": {"status": "ready", "created_at": old},
        "synced": {"status": "ready", "created_at": old, "sync_status": "synced"},
        "new": {"status": "ready"},
        "live": {"created_at": old},
        "pending": {"status": "ready", "created_at": old, "sync_status": "pending"},
        "failed": {"status": "ready", "created_at": old, "sync_status": "failed"},
        "wanted": {"status": "ready", "created_at": old},
        "outside": {"status": "ready", "created_at": old},
    }
    ids = {}
    for kind, columns in kinds.items():
        (tmp_path / kind).write_bytes(b"x")
        ids[kind] = await add_asset("/etc/passwd" if kind == "outside" else tmp_path / kind, **columns)
    await connection.execute(
        "INSERT INTO playout_items (channel_id, position, clip_name, path, asset_id) VALUES ($1, 1, 'w', 'w', $2)",
        channel, ids["wanted"],
    )  # fmt: skip
    context = await under_lease(connection, services, {"keep_days": 30})
    found = await storage_cleanup.storage_cleanup(context)
    assert found["removed"] == 2 and len(found["problems"]) == 1
    left = {kind for kind in kinds if (tmp_path / kind).exists()}
    assert left == set(kinds) - {"old", "synced"}
    rows = await connection.fetch("SELECT id FROM assets")
    assert {r["id"] for r in rows} == set(ids.values()) - {ids["old"], ids["synced"]}


async def test_retention_is_told_how_long(services: Services) -> None:
    for wrong in (None, 0, -1, "30", True):
        with pytest.raises(JobFailed, match="keep_days"):
            await storage_cleanup.storage_cleanup(context_for(services, {"keep_days": wrong}))


# -- others' handlers ------------------------------------------------------------------------------


def test_a_handler_of_another_package_comes_by_its_entry_point(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry()
    registry.discover(
        [
            EntryPoint("theirs", "tests.core.jobs.third_party:checksum", "airlock.handlers"),
            EntryPoint("broken", "tests.core.jobs.third_party:missing", "airlock.handlers"),
            EntryPoint("plain", "tests.core.jobs.third_party:no_coroutine", "airlock.handlers"),
        ]
    )
    assert list(registry.handlers) == ["theirs"]
    assert [d.name for d in registry.definitions] == ["checksums"]
    assert "broken" in caplog.text and "plain" in caplog.text


def test_every_shipped_job_has_its_handler() -> None:
    registry = shipped(discover=False)
    assert {d.handler for d in registry.definitions} <= set(registry.handlers)
    assert set(registry.handlers) == {
        "proxy", "thumbnails", "loudness", "asset_sync", "as_run_export", "storage_cleanup",
    }  # fmt: skip
