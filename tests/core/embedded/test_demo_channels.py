"""The demonstration's channels: laid once, on air when their clips are there, resting when nobody looks, removable."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import pytest

from core.commands import Actor, Commander
from core.db.database import Connection, Database
from core.embedded import caretaker, clips, demo, demo_channels
from core.embedded.plant import SQL as PLANT
from core.roles import Role
from tests.patience import patiently

CHANNELS = "SELECT name, wanted, resting, demo FROM playout_channels ORDER BY name"


def files(folder: Path, pattern: str) -> list[Path]:
    return list(folder.rglob(pattern))


async def channels(connection: Connection) -> list[tuple[Any, ...]]:
    return [tuple(r) for r in await connection.fetch(CHANNELS)]


@pytest.fixture
async def laid(connection: Connection) -> None:
    await demo.lay(connection, await connection.fetchval(demo.SQL.now), "Europe/Berlin")


@pytest.fixture
async def database(plant: str) -> AsyncIterator[Database]:
    made = Database(plant, "test")
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> clips.Clip:
    """One short clip instead of all: what they look like is not the question here."""
    made = clips.Clip("Short", 0.2, "color=c=red", "x", size="64x64")

    async def make(ffmpeg: str, media: Path) -> bool:
        return await clips.make_clips(ffmpeg, media, (made,))

    monkeypatch.setattr(demo_channels, "make_clips", make)
    return made


async def showing(database: Database, media: Path, connection: Connection, wanted: int) -> None:
    """Shows the channels until that many are wanted on air, then stops showing, as a window that closes."""
    task = asyncio.create_task(demo_channels.keep_on_air(database, media))
    for _ in range(1500):
        if (
            await connection.fetchval("SELECT count(*) FROM playout_channels WHERE wanted = 'on'") == wanted
            or task.done()
        ):
            break
        await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.wait({task})


def test_every_clip_of_a_channel_is_one_that_is_made() -> None:
    for _, _, node, _, _, playlist in demo.CHANNELS:
        assert node in demo.NODES and playlist and set(playlist) <= set(clips.CLIPS)


async def test_they_go_on_air_when_their_clips_are_there_rest_and_come_again(
    laid: None, database: Database, connection: Connection, tmp_path: Path, short: clips.Clip
) -> None:
    assert await channels(connection) == [
        ("CH-1", "off", True, True), ("CH-2", "off", True, True), ("CH-3", "off", True, True),
        ("CH-4", "off", False, True),
    ]  # fmt: skip
    await showing(database, tmp_path, connection, 3)
    made = (tmp_path / short.path).stat().st_mtime_ns
    assert [(n, w, r) for n, w, r, _ in await channels(connection)][:3] == [
        (n, "on", False) for n in ("CH-1", "CH-2", "CH-3")
    ]
    await connection.execute(
        "UPDATE playout_channels SET wanted = 'off' WHERE name = 'CH-2'"
    )  # by an operator
    await demo_channels.rest(database)
    assert {n for n, _, resting, _ in await channels(connection) if resting} == {"CH-1", "CH-3"}
    await showing(database, tmp_path, connection, 2)
    assert {n for n, wanted, _, _ in await channels(connection) if wanted == "on"} == {"CH-1", "CH-3"}
    assert (tmp_path / short.path).stat().st_mtime_ns == made, "a clip is made once"


async def test_a_window_that_closes_while_clips_are_made_leaves_no_process_and_half_a_clip_is_none(
    laid: None, database: Database, tmp_path: Path
) -> None:
    task = asyncio.create_task(demo_channels.keep_on_air(database, tmp_path))
    await patiently(lambda: task.done() or files(tmp_path, "*.part"), 30, "a clip that is being made")
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert len(files(tmp_path, "*.mp4")) < len(clips.CLIPS)
    assert await clips.make_clips(imageio_ffmpeg.get_ffmpeg_exe(), tmp_path, (clips.IDENT,))
    assert (tmp_path / clips.IDENT.path).exists()


async def test_what_was_recorded_is_replayed_each_once(laid: None, connection: Connection) -> None:
    await connection.execute(
        "INSERT INTO assets (display_name, path, status, recorder_id, duration_s) "
        "SELECT 'Show ' || n, 'recordings/' || n || '.ts', CASE n WHEN 3 THEN 'live' ELSE 'ready' END, "
        "(SELECT min(id) FROM recorders), 10 FROM generate_series(1, 3) n"
    )
    for _ in range(2):
        await connection.execute(demo.SQL.replay_recordings, demo.REPLAY, demo.LONGEST_REPLAY)
    rows = await connection.fetch(
        "SELECT i.clip_name FROM playout_items i JOIN playout_channels c ON c.id = i.channel_id "
        "WHERE c.name = 'CH-3' ORDER BY i.position"
    )
    assert [r["clip_name"] for r in rows] == ["Station Ident", "Countdown", "Show 1", "Show 2"]


async def test_removing_the_demonstration_keeps_evidence_and_takes_its_channel_off_air(
    laid: None, database: Database, connection: Connection
) -> None:
    await connection.execute(
        "UPDATE playout_channels SET wanted = 'on', resting = false, generation = 1 WHERE name = 'CH-1'"
    )
    await connection.execute(
        "INSERT INTO playout_as_run (channel_id, clip_name, started_at, ended_at) "
        "SELECT id, 'Ident', now(), now() FROM playout_channels WHERE name = 'CH-1'"
    )
    await Commander(database, lambda: Actor("Olga", "DESK", Role.ENGINEER)).do(demo.remove_demo)
    assert await channels(connection) == [("CH-1", "off", False, False)]
    assert await connection.fetchval("SELECT count(*) FROM playout_as_run") == 1
    for table in ("playout_items", "recorders"):
        assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0
    assert await connection.fetchval("SELECT count(*) FROM nodes WHERE demo") == 0
    await demo_channels.rest(database)  # nothing of it is left to look after
    assert await connection.fetchval("SELECT bool_or(resting) FROM playout_channels") is False


async def test_they_alone_do_not_keep_the_plant_open_and_a_real_one_does(
    laid: None, connection: Connection
) -> None:
    await connection.execute("UPDATE playout_channels SET wanted = 'on', status = 'running'")
    assert await connection.fetch(PLANT.work_under_way, caretaker.NAME) == []
    await connection.execute(
        "INSERT INTO playout_channels (name, output_type, output_url, status) "
        "VALUES ('MINE', 'udp', 'udp://x', 'running')"
    )
    found = await connection.fetch(PLANT.work_under_way, caretaker.NAME)
    assert [r["what"] for r in found] == ["MINE is on air"]
