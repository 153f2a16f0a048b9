"""The embedded plant as a whole: its secret, and that it is never stopped under work."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from core.embedded import plant as plant_module
from core.embedded.plant import EmbeddedPlant
from core.errors import EmbeddedPlantError
from core.station import Identity, Station

ROOT = Path(__file__).parents[3]
TOKEN = (
    "import sys; from pathlib import Path; from core.embedded.plant import EmbeddedPlant; "
    "print(EmbeddedPlant(Path(sys.argv[1])).token())"
)


@pytest.fixture
def home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="airlock-test-"))
    home.chmod(0o755)
    yield home
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
async def plant(home: Path) -> AsyncIterator[EmbeddedPlant]:
    plant = EmbeddedPlant(home)
    await plant.open()
    yield plant
    await plant.close()


def test_the_secret_is_made_once_and_is_its_owners_alone(home: Path) -> None:
    token = EmbeddedPlant(home).token()
    assert len(token) >= 32 and EmbeddedPlant(home).token() == token
    assert (home / "token").stat().st_mode & 0o777 == 0o600
    assert not (home / "token.new").exists()


def test_programs_that_start_at_once_agree_on_the_secret(home: Path) -> None:
    command = [sys.executable, "-c", TOKEN, str(home / "not there yet")]
    running = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = {process.communicate(timeout=60)[0] for process in running}
    assert len(said) == 1 and len(said.pop().strip()) >= 32


def test_a_secret_that_another_program_makes_at_this_moment_is_taken(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = plant_module._read
    theirs: list[str] = []

    def nothing_there_at_first(path: Path) -> str:
        if not theirs:
            theirs.append(plant_module._make_token(path))
            return ""
        return real(path)

    monkeypatch.setattr(plant_module, "_read", nothing_there_at_first)
    assert EmbeddedPlant(home).token() == theirs[0] == real(home / "token")


def test_half_a_secret_is_none(home: Path) -> None:
    (home / "token").write_text("\n", encoding="utf-8")
    assert len(EmbeddedPlant(home).token()) >= 32
    assert (home / "token").stat().st_mode & 0o777 == 0o600


def test_a_secret_that_cannot_be_kept_is_a_sentence(home: Path) -> None:
    (home / "token").mkdir()
    with pytest.raises(
        EmbeddedPlantError, match=r"^The plant's secret .*token cannot be kept: Is a directory\.$"
    ):
        EmbeddedPlant(home).token()


async def test_the_plant_is_not_stopped_under_work(
    plant: EmbeddedPlant, eventually: Callable[..., Any]
) -> None:
    connection = await asyncpg.connect(plant.url)
    await connection.execute("UPDATE playout_channels SET status = 'stopped'")
    await connection.execute("UPDATE recorder_schedules SET status = 'cancelled'")
    recorder = await connection.fetchval(
        "INSERT INTO recorders (name, base_url, external_id) VALUES ('R', 'http://r', 'r') RETURNING id"
    )
    await connection.execute(
        "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) "
        "VALUES ('News', $1, now() + interval '1h', now() + interval '2h')",
        recorder,
    )
    for status in ("starting", "running", "stopping"):
        await connection.execute("UPDATE recorder_schedules SET status = $1 WHERE name = 'News'", status)
        assert await plant.work_under_way() == ["recording News"]
        assert await plant.close_if_idle() is False
    await connection.execute("UPDATE recorder_schedules SET status = 'pending' WHERE name = 'News'")
    await connection.execute(
        "INSERT INTO playout_channels (name, output_type, output_url, status) VALUES ('ONE', 'udp', 'u', 'running')"
    )
    assert await plant.work_under_way() == ["ONE is on air"] and await plant.close_if_idle() is False
    await connection.execute("UPDATE playout_channels SET status = 'stopped'")

    other = Station(plant.url, Identity("OTHER", "headless", "op"))
    await other.start()
    await eventually(lambda: other.feed.state.live, what="the other station")
    assert await plant.work_under_way() == ["used by OTHER"] and await plant.close_if_idle() is False
    await other.stop()

    await connection.close()
    # Our own station has just left too; the server may not have noticed yet.
    assert await plant.close_if_idle() is True
    assert await asyncio.to_thread(EmbeddedPlant(plant.home)._postgres.find) is None
    assert await plant.close_if_idle() is False, "it runs no more: nothing to ask, nothing to stop"


async def test_opened_again_it_is_the_same_plant(plant: EmbeddedPlant) -> None:
    connection = await asyncpg.connect(plant.url)
    await connection.execute("UPDATE plant SET name = 'Mine'")
    await connection.close()
    again = EmbeddedPlant(plant.home)
    assert await again.open() == plant.url
    connection = await asyncpg.connect(again.url)
    assert await connection.fetchval("SELECT name FROM plant") == "Mine"
    await connection.close()
