"""Pictures of the control room for looking at: `python -m tests.screenshots [FOLDER]`.

A real plant, seeded, at two sizes, in both themes, live and without its database.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("QT_API", "pyside6")

import asyncpg
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication, QDialog

from core.db.database import Database
from core.db.migrate import migrate
from core.embedded.postgres import EmbeddedPostgres
from gui.app import grab, prepare_application
from gui.loop import new_event_loop
from gui.main_window import MainWindow
from gui.theme import theme
from tests.gui.shell_fixtures import SEED, Outage, open_room, running_station

SIZES = (QSize(1920, 1080), QSize(1366, 768))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - there is nothing to wait on but the thing itself
            await asyncio.sleep(0.01)


async def settle(seconds: float = 0.4) -> None:
    """Lets the feed, the pulse and the painting have a few turns."""
    await asyncio.sleep(seconds)


async def pictures(window: MainWindow, folder: Path, state: str) -> None:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    for choice in ("dark", "light"):
        theme.apply(app, choice)
        for size in SIZES:
            window.resize(size)
            await settle(0.2)
            assert window.room is not None
            ticker = window.room.session.ticker
            await until(lambda ticker=ticker: ticker.lit)  # type: ignore[misc]
            grab(window, folder / f"{state}-{choice}-{size.width()}.png", size)
    theme.apply(app, "dark")
    window.resize(SIZES[0])


async def dialogs(window: MainWindow, folder: Path) -> None:
    for name, show in (
        ("palette", window.open_palette),
        ("shortcuts", window.open_shortcuts),
        ("settings", window.open_settings),
        ("about", window.open_about),
        ("stop", window.ask_stop_everything),
    ):
        show()
        await settle(0.1)
        dialog = window.findChildren(QDialog)[-1]
        dialog.grab().save(str(folder / f"dialog-{name}.png"))
        dialog.reject()
        await settle(0.05)


async def shoot(server: str, folder: Path) -> None:
    name = "screenshots"
    admin = await asyncpg.connect(server)
    await admin.execute(f"CREATE DATABASE {name}")
    await admin.close()
    url = server.replace("/postgres?", f"/{name}?")
    connection = await Database(url, "screenshots").connect("screenshots")
    await migrate(connection)
    await connection.execute(SEED)
    outage = Outage(server, url)
    settings = folder / "settings"
    async with running_station(url, "STATION-2", "Operator 2") as leader:
        await until(lambda: leader.leading)
        async with running_station(url, "STATION-1", "Operator 1"), open_room(leader, settings) as window:
            assert window.room is not None
            window.resize(SIZES[0])
            await settle(1.2)
            window.room.alarms.table.choose(0)
            await pictures(window, folder, "leader")
            window.room.alarms.filter.choose("shift")
            window.room.panels.reveal("stations")
            window.say("Acknowledge alarm needs the role Operator; you are Viewer.")
            await pictures(window, folder, "shift")
            window.strip.hide()
            window.room.panels.reveal("audit")
            window.room.panels.reveal("alarms")
            window.room.alarms.filter.choose("open")
            window.actions_.trigger("alarms.shelve")
            window.room.sound.mute(5)
            await pictures(window, folder, "shelve")
            window.room.alarms.detail.close_shelf()
            window.room.sound.unmute()
            await dialogs(window, folder)
            await connection.close()
            await outage.begin()
            await settle(2.5)
            window.room.alarms.table.choose(0)
            await pictures(window, folder, "degraded")
            await outage.end()
            await settle(2.0)
    async with running_station(url, "STATION-1", "Operator 1") as empty:
        connection = await Database(url, "screenshots").connect("screenshots")
        await connection.execute(
            "DELETE FROM alarms; DELETE FROM recorder_schedules; DELETE FROM playout_channels"
        )
        await connection.close()
        async with open_room(empty, settings) as window:
            window.resize(SIZES[0])
            await settle(1.0)
            await pictures(window, folder, "empty")
    shutil.rmtree(settings, ignore_errors=True)


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0] if arguments else "build/screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    prepare_application("dark")
    home = Path(tempfile.mkdtemp(prefix="airlock-screenshots-"))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(home)
    try:
        running = postgres.start()
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(shoot(running.url, folder))
    finally:
        postgres.stop()
        shutil.rmtree(home, ignore_errors=True)
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
