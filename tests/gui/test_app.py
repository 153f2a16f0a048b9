"""The life of the desktop: opening, failing and trying again, closing, signals, faults."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest

from core.errors import AirlockError, PlantError
from core.station import Station
from gui.app import FAULT, Desktop, Leaving, _run, grab
from gui.main_window import MainWindow
from gui.preferences import Preferences
from gui.tasks import spawn
from tests.gui.shell_fixtures import Eventually, running_station


async def test_a_plant_that_cannot_be_opened_says_why_and_is_tried_again(
    plant: str, tmp_path: Path, dressed: object, eventually: Eventually
) -> None:
    tries: list[Desktop] = []
    rooms: list[object] = []

    async def main(desktop: Desktop) -> int:
        tries.append(desktop)
        desktop.progress("Starting the database…")
        if len(tries) == 1:
            raise PlantError("The disk is full: make room.")
        async with running_station(plant) as station:
            await desktop.attach(station)
            rooms.append(desktop.window.room)
            assert await desktop.closed() is Leaving.CLOSE
        return 7

    running = asyncio.create_task(_run(main, Preferences(tmp_path, "x")))
    await eventually(lambda: tries and tries[0].window.opening.try_again.isVisible(), what="the reason")
    window = tries[0].window
    assert window.opening.words.text() == "The disk is full: make room."
    QTest.mouseClick(window.opening.try_again, Qt.MouseButton.LeftButton)
    await eventually(lambda: rooms, what="the plant on the screen")
    window.close()
    async with asyncio.timeout(5):
        assert await running == 7


async def test_a_window_closed_while_opening_ends_it(
    tmp_path: Path, dressed: object, eventually: Eventually
) -> None:
    desktops: list[Desktop] = []
    ended: list[bool] = []

    async def main(desktop: Desktop) -> int:
        desktops.append(desktop)
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(True)
        return 0

    running = asyncio.create_task(_run(main, Preferences(tmp_path, "x")))
    await eventually(lambda: desktops and desktops[0].window.isVisible())
    desktops[0].window.close()
    async with asyncio.timeout(2):
        assert await running == 0
    assert ended == [True]


async def test_a_fault_is_one_sentence_and_the_window_goes_on(
    plant: str, tmp_path: Path, dressed: object, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    desktops: list[Desktop] = []

    async def main(desktop: Desktop) -> int:
        async with running_station(plant) as station:
            await desktop.attach(station)
            desktops.append(desktop)
            await desktop.closed()
        return 0

    async def broken() -> None:
        raise ZeroDivisionError

    running = asyncio.create_task(_run(main, Preferences(tmp_path, "x")))
    await eventually(lambda: desktops)
    window = desktops[0].window
    spawn(broken())
    await eventually(window.strip.isVisible)
    assert window.strip.text.full_text == FAULT
    assert "ZeroDivisionError" in caplog.text
    window.close()
    async with asyncio.timeout(5):
        await running


async def test_a_picture_of_the_window(window: MainWindow, station: Station, tmp_path: Path) -> None:
    grab(window, tmp_path / "out.png", QSize(1366, 768))
    picture = QImage(str(tmp_path / "out.png"))
    assert (picture.width(), picture.height()) == (1366, 768)
    colours = {picture.pixelColor(x, y).name() for x in range(0, 1366, 7) for y in range(0, 768, 7)}
    assert len(colours) > 20
    assert "#2a2d30" in colours
    with pytest.raises(AirlockError, match="cannot be written"):
        grab(window, tmp_path / "no" / "folder.png", QSize(1366, 768))


PROGRAM = """
import sys
from pathlib import Path
from core.station import Identity, Station
from gui.app import run_desktop

async def main(desktop):
    station = Station(sys.argv[1], Identity("SUB", "desktop", "Operator"))
    await station.start()
    desktop.window.live.connect(lambda: print("live", flush=True))
    await desktop.attach(station)
    how = await desktop.closed()
    await station.stop()
    print(how.name, flush=True)
    return 0

sys.exit(run_desktop(main, Path(sys.argv[2]), "Operator"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without asking it")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signals_close_cleanly(plant: str, tmp_path: Path, number: signal.Signals) -> None:
    process = await asyncio.to_thread(
        subprocess.Popen,
        [sys.executable, "-c", PROGRAM, plant, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )
    try:
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == "live\n"
        process.send_signal(number)
        out, errors = await asyncio.to_thread(process.communicate, timeout=10)
        assert (process.returncode, out) == (0, "CLOSE\n"), errors
        assert "Traceback" not in errors
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)


def test_the_window_is_shown_before_the_core_and_the_plots_are_imported() -> None:
    code = "import sys, gui.app; print([m for m in ('asyncpg', 'aiohttp', 'pyqtgraph', 'numpy') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.strip() == "[]"
