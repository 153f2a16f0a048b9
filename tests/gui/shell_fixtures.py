"""What the tests of the shell share: a station on our loop, a window on it, a database that can be lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from PySide6.QtWidgets import QApplication

from core.station import Identity, Station
from gui.app import open_window, prepare_application, shut_window
from gui.main_window import MainWindow
from gui.preferences import Preferences

SEED = (Path(__file__).with_name("plant_seed.sql")).read_text(encoding="utf-8")
Eventually = Callable[..., Awaitable[None]]


def database_name(url: str) -> str:
    return urlsplit(url).path.lstrip("/")


@asynccontextmanager
async def running_station(
    url: str, name: str = "STATION-2", operator: str = "Operator 2"
) -> AsyncIterator[Station]:
    station = Station(url, Identity(name, "desktop", operator))
    await station.start()
    try:
        yield station
    finally:
        await station.stop()


@asynccontextmanager
async def open_room(station: Station, folder: Path) -> AsyncIterator[MainWindow]:
    window = await open_window(station, Preferences(folder, station.identity.operator))
    try:
        yield window
    finally:
        shut_window(window)
        # The window's deletion is an event of its own; without it the next test would meet its remains.
        await asyncio.sleep(0.02)


class Outage:
    """Cuts a plant off from everybody, and lets them back."""

    def __init__(self, server: str, url: str) -> None:
        self._server, self._name = server, database_name(url)

    async def begin(self) -> None:
        admin = await asyncpg.connect(self._server)
        await admin.execute(f"ALTER DATABASE {self._name} ALLOW_CONNECTIONS false")
        await admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", self._name
        )
        await admin.close()

    async def end(self) -> None:
        admin = await asyncpg.connect(self._server)
        await admin.execute(f"ALTER DATABASE {self._name} ALLOW_CONNECTIONS true")
        await admin.close()


@pytest.fixture
def dressed(qapp: QApplication) -> QApplication:
    return prepare_application("dark")


@pytest.fixture
async def station(plant: str, dressed: QApplication) -> AsyncIterator[Station]:
    async with running_station(plant) as running:
        yield running


@pytest.fixture
async def window(station: Station, tmp_path: Path) -> AsyncIterator[MainWindow]:
    async with open_room(station, tmp_path) as opened:
        opened.resize(1920, 1080)
        yield opened


@pytest.fixture
async def outage(server: str, plant: str) -> AsyncIterator[Outage]:
    made = Outage(server, plant)
    yield made
    await made.end()
