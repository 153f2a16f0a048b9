"""Control rooms for the parts that measure what an operator sees: real stations and windows on our own loop."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from core.recording.lane import RecordingLane
from core.recording.recorder_client import RecorderClient
from core.station import Identity, Station
from gui.app import open_window, prepare_application, shut_window
from gui.loop import new_event_loop
from gui.main_window import MainWindow
from gui.preferences import Preferences
from tests.bench.peers.contest import TOKEN

T = TypeVar("T")
LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier
PATIENCE = 60.0  # seconds for anything to come about before the bench gives up


def on_our_loop(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    prepare_application("dark")
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work())


async def until(condition: Callable[[], object], what: str) -> None:
    try:
        async with asyncio.timeout(PATIENCE):
            while not condition():  # noqa: ASYNC110 - there is nothing to wait on but the thing itself
                await asyncio.sleep(0.001)
    except TimeoutError:
        raise RuntimeError(f"{what} did not come about") from None


@asynccontextmanager
async def room(url: str, name: str, *, acts: bool = False) -> AsyncIterator[MainWindow]:
    """A control room of 1920 x 1080. One that acts has the recorders' lane, as the application has."""
    client = RecorderClient(TOKEN)
    lanes = [RecordingLane(client, timedelta(seconds=5), timedelta(minutes=120))] if acts else []
    station = Station(url, Identity(name, "desktop", name.title()), lanes)
    station.clock.beside_a_window()
    folder = Path(tempfile.mkdtemp(prefix="airlock-bench-"))
    await station.start()
    try:
        if acts:
            await until(lambda: station.leading, "the lead")
        window = await open_window(station, Preferences(folder, station.identity.operator))
        window.resize(1920, 1080)
        try:
            await asyncio.sleep(1.0)  # the first pictures are not what is measured
            yield window
        finally:
            shut_window(window)
            await asyncio.sleep(0.05)
    finally:
        await station.stop()
        await client.close()
        shutil.rmtree(folder, ignore_errors=True)


def press(view: QWidget, at: QPoint) -> None:
    QTest.mousePress(view, LEFT, NONE, at)


def move(view: QWidget, at: QPoint) -> None:
    """With the button down, which QTest cannot do."""
    event = QMouseEvent(
        QEvent.Type.MouseMove, QPointF(at), QPointF(view.mapToGlobal(at)), Qt.MouseButton.NoButton, LEFT, NONE
    )
    QApplication.sendEvent(view, event)


def release(view: QWidget, at: QPoint) -> None:
    QTest.mouseRelease(view, LEFT, NONE, at)
