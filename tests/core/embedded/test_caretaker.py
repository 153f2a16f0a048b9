"""A plant whose last window was closed while it records: somebody ends the recording, and then goes."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asyncpg
import psutil
import pytest

from core.embedded.caretaker import NAME, relieved
from core.embedded.plant import EmbeddedPlant
from core.station import Identity, Station

STATUS = "SELECT status FROM recorder_schedules WHERE id = $1"
PRESENT = "SELECT pid FROM stations WHERE name = $1 AND status = 'online'"


@pytest.fixture
async def plant() -> AsyncIterator[EmbeddedPlant]:
    home = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="airlock-test-"))
    await asyncio.to_thread(home.chmod, 0o755)
    plant = EmbeddedPlant(home)
    await plant.open()
    connection = await asyncpg.connect(plant.url)
    for table in ("recorder_schedules", "recorder_series", "playout_items", "playout_channels"):
        await connection.execute(f"DELETE FROM {table}")
    await connection.close()
    yield plant
    await plant.close()
    shutil.rmtree(home, ignore_errors=True)


async def record(connection: asyncpg.Connection[Any], seconds: float) -> int:
    """A window that is being recorded by a recorder nobody can reach: only its end matters here."""
    window: int = await connection.fetchval(
        "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, status, session_id, started_at) "
        "SELECT 'News', id, now() - interval '1 min', now() + $1 * interval '1 s', 'running', 's', now() "
        "FROM recorders LIMIT 1 RETURNING id",
        seconds,
    )
    return window


async def caretaker(connection: asyncpg.Connection[Any]) -> psutil.Process:
    async with asyncio.timeout(30):
        while (pid := await connection.fetchval(PRESENT, NAME)) is None:  # noqa: ASYNC110 - it is a row
            await asyncio.sleep(0.05)
    return psutil.Process(pid)


async def test_it_stays_while_something_records_and_goes_when_a_station_comes(
    plant: EmbeddedPlant, eventually: Callable[..., Any]
) -> None:
    connection = await asyncpg.connect(plant.url)
    await record(connection, 3600)
    assert await plant.close_if_idle() is False
    await asyncio.sleep(0.2)
    assert await connection.fetchval(PRESENT, NAME) is None, "a server's station leaves nobody behind"
    assert await plant.close_if_idle(leave_caretaker=True) is False
    process = await caretaker(connection)
    assert await plant.close_if_idle(leave_caretaker=True) is False, "there is one already"
    await asyncio.sleep(6)
    assert alive(process)
    station = Station(plant.url, Identity("DESK", "desktop", "op"))
    await station.start()
    await eventually(lambda: not alive(process), within=20, what="its leaving")
    await eventually(lambda: station.leading, within=20, what="the lead")
    assert await connection.fetchval("SELECT count(*) FROM stations WHERE name LIKE $1 || '%'", NAME) == 1
    await station.stop()
    await connection.close()


async def test_it_sees_the_work_to_its_end_and_closes_the_plant(
    plant: EmbeddedPlant, eventually: Callable[..., Any]
) -> None:
    connection = await asyncpg.connect(plant.url)
    window = await record(connection, 3600)
    await plant.close_if_idle(leave_caretaker=True)
    process = await caretaker(connection)
    await connection.execute("UPDATE recorder_schedules SET status = 'completed' WHERE id = $1", window)
    await connection.close()
    await eventually(lambda: not alive(process), within=40, what="its leaving")
    assert await asyncio.to_thread(plant._postgres.find) is None, "it closes the plant behind itself"


def test_of_two_caretakers_exactly_one_stays() -> None:
    """They may be started within the same moment: each seeing its relief in the other, both would go."""
    names = [NAME, f"{NAME}-2", f"{NAME}-10"]
    stations = {n: SimpleNamespace(name=n, status="online", role="engineer") for n in names}
    model: Any = SimpleNamespace(stations=stations)
    assert [relieved(model, n) for n in names] == [False, True, True]
    stations[NAME].status = "left"
    assert [relieved(model, n) for n in names[1:]] == [False, True]
    stations["DESK"] = SimpleNamespace(name="DESK", status="online", role="viewer")
    assert not relieved(model, names[1])
    stations["DESK"].role = "operator"
    assert all(relieved(model, n) for n in names)


def alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
