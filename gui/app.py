"""The desktop application: Qt set up, our loop, one window, and a clean end.

How `main.py` uses it:

    async def desktop(desk: Desktop) -> int:
        desk.progress("Starting the database…")     # sentences while the plant is opened
        station = ...
        await station.start()                       # AirlockError: shown, with Try again, which calls anew
        await desk.attach(station)                  # returns when the plant is on the screen
        leaving = await desk.closed()               # Leaving.CLOSE or Leaving.STOP_EVERYTHING
        await station.stop()
        return 0

    sys.exit(run_desktop(desktop, folder, operator))

`snapshot` needs no `Desktop`: inside a loop of `gui.loop`, after `prepare_application`, it calls `await
open_window(station, preferences)` and `grab(window, path, QSize(1920, 1080))`.

What must stay true: closing a dialog or the window never ends the loop by itself (a coroutine may be half-
way); an exception anywhere becomes one line in the window and a traceback in the log.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from core.errors import AirlockError, DatabaseLost
from gui import fonts
from gui.glyphs import application_icon
from gui.loop import new_event_loop
from gui.main_window import MainWindow
from gui.preferences import Preferences
from gui.tasks import on_task_error
from gui.theme import theme

if TYPE_CHECKING:
    from core.station import Station

log = logging.getLogger(__name__)

FIRST_PICTURE = 10.0  # seconds that the first reading of the plant may take
FAULT = (
    "Something inside Airlock went wrong, and the last action may not have worked. The log has the details."
)


class Leaving(Enum):
    CLOSE = "close"
    STOP_EVERYTHING = "stop everything"


def prepare_application(choice: str = "dark") -> QApplication:
    """The one QApplication of this process, dressed."""
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        app = existing
    else:
        QGuiApplication.setHighDpiScaleFactorRoundingPolicy(Qt.HighDpiScaleFactorRoundingPolicy.PassThrough)
        app = QApplication([sys.argv[0] if sys.argv else "airlock"])
    app.setApplicationName("Airlock")
    app.setDesktopFileName("airlock")
    app.setQuitOnLastWindowClosed(False)
    app.setWindowIcon(application_icon())
    fonts.load()
    theme.apply(app, choice)
    return app


async def first_picture(station: Station) -> None:
    """Waits until the plant has been read once. Raises when it cannot be."""
    known = asyncio.Event()
    if station.feed.state.ever:
        return
    station.feed.on_state(lambda state: known.set() if state.ever else None)
    try:
        async with asyncio.timeout(FIRST_PICTURE):
            await known.wait()
    except TimeoutError as error:
        problem = station.feed.state.problem or "The database takes too long to answer."
        raise DatabaseLost(problem) from error


async def open_window(station: Station, preferences: Preferences, *, show: bool = True) -> MainWindow:
    """A window on an open plant. The caller closes it with `shut_window`."""
    await first_picture(station)
    window = MainWindow(preferences)
    window.attach(station)
    if show:
        window.show()
    return window


def shut_window(window: MainWindow) -> None:
    if window.room is not None:
        window.room.shut()
    window.hide()
    window.deleteLater()


def grab(window: MainWindow, path: Path, size: QSize) -> None:
    """Renders the window into a picture, whether it is on a screen or not."""
    window.resize(size)
    picture = window.grab()
    if not picture.save(str(path)):
        raise AirlockError(
            f"The picture cannot be written to {path}: check the folder and the file name's ending."
        )


class Desktop:
    """What the program's main coroutine holds: the window, and how the operator leaves."""

    def __init__(self, preferences: Preferences) -> None:
        self.preferences = preferences
        self.window = MainWindow(preferences)
        self._leaving: asyncio.Future[Leaving] = asyncio.get_running_loop().create_future()
        self._retry = asyncio.Event()
        self.window.closing.connect(lambda: self.leave(Leaving.CLOSE))
        self.window.stop_everything.connect(lambda: self.leave(Leaving.STOP_EVERYTHING))
        self.window.retry_opening.connect(self._retry.set)

    def progress(self, sentence: str) -> None:
        """Says which step the opening is at."""
        self.window.progress(sentence)

    async def attach(self, station: Station) -> None:
        self.progress("Reading the plant…")
        await first_picture(station)
        self.window.attach(station)

    def leave(self, how: Leaving) -> None:
        if not self._leaving.done():
            self._leaving.set_result(how)
            if how is Leaving.STOP_EVERYTHING:
                self.window.save_layout()
            self.window.hide()

    async def closed(self) -> Leaving:
        return await asyncio.shield(self._leaving)

    @property
    def left(self) -> bool:
        return self._leaving.done()

    async def failed(self, error: AirlockError) -> bool:
        """Shows why the plant cannot be opened; True when the operator wants to try again."""
        self.window.fail(str(error))
        self._retry.clear()
        again = asyncio.ensure_future(self._retry.wait())
        waits: list[asyncio.Future[Any]] = [again, self._leaving]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        again.cancel()
        return not self.left

    def shut(self) -> None:
        shut_window(self.window)


Main = Callable[[Desktop], Coroutine[Any, Any, int]]


def run_desktop(main: Main, folder: Path, operator: str) -> int:
    """Runs the desktop until `main` returns; its exit code. SIGINT and SIGTERM close the window."""
    os.environ.setdefault("QT_API", "pyside6")
    preferences = Preferences(folder, operator)
    prepare_application(preferences.theme)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_run(main, preferences))


async def _run(main: Main, preferences: Preferences) -> int:
    desktop = Desktop(preferences)
    restore = _report_faults(desktop)
    _close_on_signals(desktop)
    desktop.window.show()
    # Let the window appear before the work begins.
    await asyncio.sleep(0)
    try:
        while True:
            try:
                return await _until_left(main(desktop), desktop)
            except AirlockError as error:
                log.error("%s", error)
                if not await desktop.failed(error):
                    return 1
    finally:
        restore()
        desktop.shut()


async def _until_left(coroutine: Coroutine[Any, Any, int], desktop: Desktop) -> int:
    """Runs main's coroutine; a window closed while the plant is still being opened cancels it."""
    task = asyncio.ensure_future(coroutine)
    leaving = asyncio.ensure_future(desktop.closed())
    await asyncio.wait([task, leaving], return_when=asyncio.FIRST_COMPLETED)
    leaving.cancel()
    if not task.done() and desktop.window.room is None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return 0
    return await task


def _report_faults(desktop: Desktop) -> Callable[[], None]:
    """Has every unforeseen exception end in the log and as one sentence in the window."""
    loop = asyncio.get_running_loop()
    hook = sys.excepthook

    def say() -> None:
        desktop.window.say(FAULT)

    def unforeseen(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            desktop.leave(Leaving.CLOSE)
            return
        log.critical("an exception nobody caught", exc_info=(kind, error, trace))
        say()

    def in_loop(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        log.error("%s", context.get("message"), exc_info=context.get("exception"))
        say()

    sys.excepthook = unforeseen
    loop.set_exception_handler(in_loop)
    forget = on_task_error(lambda _task, _error: say())

    def restore() -> None:
        sys.excepthook = hook
        loop.set_exception_handler(None)
        forget()

    return restore


def _close_on_signals(desktop: Desktop) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, desktop.window.close)
        except (NotImplementedError, RuntimeError):
            # Windows has no such handlers; Ctrl+C arrives as KeyboardInterrupt.
            signal.signal(number, lambda *_: desktop.leave(Leaving.CLOSE))
