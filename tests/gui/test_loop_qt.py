"""Our loop and Qt side by side: neither may starve the other, and nested Qt loops may not wedge tasks."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QApplication, QDialog, QWidget

# Of some sixty in a second. A window that is starved gets one or two; the rest is room for a busy machine.
ENOUGH = 8


class Repainting(QWidget):
    """Repaints 60 times a second, driven by a Qt timer."""

    def __init__(self) -> None:
        super().__init__()
        self.paints = 0
        self.ticks = 0
        self.resize(640, 360)
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self._timer.start(16)
        self.show()

    def _tick(self) -> None:
        self.ticks += 1
        self.update()

    def paintEvent(self, event) -> None:
        self.paints += 1
        painter = QPainter(self)
        painter.fillRect(self.rect(), Qt.GlobalColor.darkBlue)
        painter.end()


@pytest.fixture
def window(qtbot):
    window = Repainting()
    qtbot.addWidget(window)
    return window


def test_timers_are_on_time_while_a_window_repaints(runner, window):
    async def one(delay: float) -> float:
        loop = asyncio.get_running_loop()
        due = loop.time() + delay
        await asyncio.sleep(delay)
        return loop.time() - due

    async def main() -> list[float]:
        return await asyncio.gather(*(one(0.005 + n * 0.005) for n in range(200)))

    lateness = sorted(runner.run(main()))
    assert lateness[0] >= 0
    assert lateness[100] < 0.005
    assert window.paints >= ENOUGH


def work(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


@pytest.mark.parametrize("chains", [1, 50])
def test_a_window_repaints_while_callbacks_are_always_ready(runner, window, chains):
    """One chain ends a turn with each callback, many are cut off within a turn."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        running = True

        def again() -> None:
            work(0.0002)
            if running:
                loop.call_soon(again)

        for _ in range(chains):
            loop.call_soon(again)
        await asyncio.sleep(1)
        running = False

    runner.run(main())
    assert window.paints >= ENOUGH


def test_a_window_repaints_during_one_long_burst(runner, window):
    async def main() -> int:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0.05)
        before = window.paints
        done = loop.create_future()
        for _ in range(4000):
            loop.call_soon(work, 0.0002)
        loop.call_soon(lambda: done.set_result(window.paints - before))
        return await done

    assert runner.run(main()) >= ENOUGH


def test_a_window_repaints_while_a_file_is_always_ready(runner, window):
    async def main() -> int:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        reads = 0

        def read() -> None:
            nonlocal reads
            reads += 1

        theirs.send(b"never read")
        loop.add_reader(ours, read)
        await asyncio.sleep(1)
        loop.remove_reader(ours)
        ours.close()
        theirs.close()
        return reads

    assert runner.run(main()) > 1000
    assert window.ticks >= ENOUGH
    assert window.paints >= ENOUGH


def test_callbacks_run_while_qt_is_flooded_with_events(runner, window):
    """A paint event that asks for the next one at once must not keep timers or callbacks waiting."""

    async def main() -> float:
        flood = QTimer()
        flood.timeout.connect(window.repaint)
        flood.start(0)
        loop = asyncio.get_running_loop()
        worst = 0.0
        for _ in range(50):
            began = loop.time()
            await asyncio.sleep(0.005)
            await asyncio.sleep(0)
            worst = max(worst, loop.time() - began - 0.005)
        flood.stop()
        return worst

    assert runner.run(main()) < 0.25


class Heart:
    """A task beside the one under test; it alone closes what that one opened, after ten beats."""

    def __init__(self) -> None:
        self.beats: list[asyncio.Task[None] | None] = []
        self.close: Callable[[], None] | None = None
        self.task = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(0.002)
            self.beats.append(asyncio.current_task())
            if len(self.beats) >= 10 and self.close is not None:
                self.close()


def open_dialog(heart: Heart) -> None:
    dialog = QDialog()
    heart.close = dialog.accept
    assert dialog.exec() == QDialog.DialogCode.Accepted


def open_event_loop(heart: Heart) -> None:
    nested = QEventLoop()
    heart.close = nested.quit
    nested.exec()


@pytest.fixture
def rescue(qtbot):
    """Ends nested Qt loops that nobody ends, so that a wedged loop is a failure and not a hang."""
    timer = QTimer()
    timer.setSingleShot(True)
    timer.timeout.connect(lambda: QApplication.exit(1))
    timer.start(10_000)
    yield
    timer.stop()


@pytest.mark.parametrize("nest", [open_dialog, open_event_loop])
def test_a_nested_qt_loop_in_a_coroutine_holds_up_no_other_task(runner, rescue, nest):
    async def main() -> None:
        heart = Heart()
        # Ready before the nested loop opens, and nobody will mention it again.
        woken: list[str] = []
        asyncio.get_running_loop().call_soon(woken.append, "callback")
        mine = asyncio.current_task()
        nest(heart)
        assert woken == ["callback"]
        assert asyncio.current_task() is mine
        assert len(heart.beats) >= 10
        assert set(heart.beats) == {heart.task}
        again = asyncio.Event()
        heart.close = again.set
        async with asyncio.timeout(5):
            await again.wait()
        heart.task.cancel()

    runner.run(main())


def test_a_nested_qt_loop_in_a_slot_holds_up_no_task(runner, rescue):
    async def main() -> None:
        heart = Heart()
        closed = asyncio.Event()

        def slot() -> None:
            open_dialog(heart)
            closed.set()

        QTimer.singleShot(0, slot)
        await closed.wait()
        assert len(heart.beats) >= 10
        heart.task.cancel()

    runner.run(main())


def test_nested_qt_loops_inside_each_other(runner, rescue):
    async def main() -> list[str]:
        order: list[str] = []
        outer_loop, inner_loop = QEventLoop(), QEventLoop()

        async def outer() -> None:
            order.append("outer opens")
            outer_loop.exec()
            order.append("outer closed")
            await asyncio.sleep(0)
            order.append("outer went on")

        async def inner() -> None:
            asyncio.get_running_loop().call_later(0.02, inner_loop.quit)
            order.append("inner opens")
            inner_loop.exec()
            order.append("inner closed")
            await asyncio.sleep(0.01)
            order.append("inner went on")
            outer_loop.quit()

        async with asyncio.TaskGroup() as group:
            group.create_task(outer())
            group.create_task(inner())
        return order

    assert runner.run(main()) == [
        "outer opens",
        "inner opens",
        "inner closed",
        "inner went on",
        "outer closed",
        "outer went on",
    ]


def test_files_and_threads_are_served_inside_a_nested_qt_loop(runner, rescue):
    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        seen: list[str] = []
        ours, theirs = socket.socketpair()
        nested = QEventLoop()

        def read() -> None:
            seen.append(ours.recv(10).decode())
            loop.run_in_executor(None, loop.call_soon_threadsafe, nested.quit)

        loop.add_reader(ours, read)
        QTimer.singleShot(20, lambda: theirs.send(b"hello"))
        nested.exec()
        loop.remove_reader(ours)
        ours.close()
        theirs.close()
        return seen

    assert runner.run(main()) == ["hello"]


def test_callbacks_that_process_qt_events_do_not_exhaust_the_stack(runner, qapp):
    async def main() -> int:
        loop = asyncio.get_running_loop()
        ran: list[int] = []
        done = asyncio.Event()

        def process(n: int) -> None:
            ran.append(n)
            qapp.processEvents()
            if n == 0:  # the first to begin is the last to end
                done.set()

        for n in range(2000):
            loop.call_soon(process, n)
        await done.wait()
        await asyncio.sleep(0.01)
        assert ran == list(range(2000))
        return len(ran)

    assert runner.run(main()) == 2000


def test_an_exit_inside_a_nested_qt_loop_leaves_all_of_them_at_once(runner, rescue):
    def leave() -> None:
        raise SystemExit(3)

    ran: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(leave)
        loop.call_soon(ran.append, "behind the exit")
        QEventLoop().exec()
        await asyncio.sleep(30)

    with pytest.raises(SystemExit):
        runner.run(main())
    assert ran == []
    runner.run(asyncio.sleep(0))
    assert ran == ["behind the exit"]


def test_the_current_task_stays_right_across_awaits_and_qt_signals(runner):
    async def main() -> None:
        mine = asyncio.current_task()
        seen = []
        QTimer.singleShot(0, lambda: seen.append(asyncio.current_task()))
        await asyncio.sleep(0.02)
        assert seen == [None]
        assert asyncio.current_task() is mine

    runner.run(main())
