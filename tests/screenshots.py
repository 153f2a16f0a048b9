"""Pictures of the control room: `python -m tests.screenshots [FOLDER] [--all]`.

A real plant, seeded, at two sizes, in both themes: normal, with an edit that collides, and with its database
really stopped. Without a folder the README's pictures are made anew. `--all` adds each panel and dialog.
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
from gui.timeline.gesture import nudged
from tests.gui.shell_fixtures import SEED, open_room, running_station

SIZES = (QSize(1920, 1080), QSize(1366, 768))
README = Path(__file__).parents[1] / "resources" / "screenshots"


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
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


async def edit(window: MainWindow) -> None:
    """A window in the hand, dragged onto its neighbour, with the inspector open beside it."""
    room = window.room
    assert room is not None
    windows = {w.name: w for w in room.session.model.windows.values()}
    dragged = windows["Press Briefing"]
    room.edit(dragged)
    await settle()
    canvas, lanes = room.timeline.canvas, room.timeline.known.lanes
    by = (windows["Arts Review"].start_at - dragged.start_at).total_seconds() - 1200
    made = nudged([dragged], by, lanes, room.session.now().timestamp())
    canvas.hold(made)
    canvas.holding.emit(made)
    await settle()


async def panels(window: MainWindow, folder: Path) -> None:
    """Every panel there is, in front, once."""
    room = window.room
    assert room is not None
    for id in list(room.panels.panels):
        room.panels.reveal(id)
        await settle(1.0 if id == "measures" else 0.3)
        grab(window, folder / f"panel-{id}.png", SIZES[0])
    room.panels.reset()
    room.panels.reveal("alarms")


async def prepare(server: str) -> str:
    admin = await asyncpg.connect(server)
    await admin.execute("CREATE DATABASE screenshots")
    await admin.close()
    url = server.replace("/postgres?", "/screenshots?")
    connection = await Database(url, "screenshots").connect("screenshots")
    await migrate(connection)
    await connection.execute(SEED)
    await connection.close()
    return url


async def shoot(postgres: EmbeddedPostgres, server: str, folder: Path, everything: bool) -> None:
    url = await prepare(server)
    with tempfile.TemporaryDirectory() as settings:
        async with (
            running_station(url, "STATION-2", "Operator 2") as leader,
            running_station(url, "STATION-1", "Operator 1"),
        ):
            await until(lambda: leader.leading)
            async with open_room(leader, Path(settings)) as window:
                assert window.room is not None
                window.resize(SIZES[0])
                await settle(1.5)
                window.room.alarms.table.choose(0)
                await pictures(window, folder, "normal")
                if everything:
                    await panels(window, folder)
                    await dialogs(window, folder)
                await edit(window)
                await pictures(window, folder, "editing")
                window.room.timeline.canvas.hold(None)
                window.room.inspector.shut()
                await asyncio.to_thread(postgres.stop)
                await settle(3.0)
                window.room.panels.reveal("alarms")
                window.room.alarms.table.choose(0)
                await pictures(window, folder, "degraded")
                await asyncio.to_thread(postgres.start)
                await until(lambda: leader.feed.state.live)


def main(arguments: list[str]) -> int:
    everything = "--all" in arguments
    given = [a for a in arguments if a != "--all"]
    folder = Path(given[0]) if given else README
    folder.mkdir(parents=True, exist_ok=True)
    prepare_application("dark")
    home = Path(tempfile.mkdtemp(prefix="airlock-screenshots-"))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(home)
    try:
        running = postgres.start()
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(shoot(postgres, running.url, folder, everything))
    finally:
        postgres.stop()
        shutil.rmtree(home, ignore_errors=True)
    shutil.copyfile(folder / "normal-dark-1920.png", folder / "control-room.png")
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
