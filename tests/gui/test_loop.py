"""Scheduling on our loop: asyncio itself is the oracle for the order, the clock for the time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import re
import signal
import socket
import threading
import time
from typing import Any

import psutil
import pytest

import gui.loop
from gui.loop import AirlockLoop, EpollLoop, new_event_loop


async def test_async_tests_in_this_folder_run_on_our_loop():
    assert isinstance(asyncio.get_running_loop(), AirlockLoop)


async def tangle(seed: int) -> list[str]:
    """Callbacks, tasks, events and cancellations that start each other; returns the order they ran in."""
    rng = random.Random(seed)
    loop = asyncio.get_running_loop()
    order: list[str] = []
    queue: asyncio.Queue[str] = asyncio.Queue(maxsize=2)
    handles: list[asyncio.Handle] = []
    tasks: list[asyncio.Task[None]] = []

    def callback(name: str, depth: int) -> None:
        order.append(name)
        for n in range(rng.randrange(3) if depth else 0):
            child = f"{name}.{n}"
            match rng.randrange(6):
                case 0 | 1:
                    handles.append(loop.call_soon(callback, child, depth - 1))
                case 2:
                    handles.append(loop.call_later(0, callback, child, depth - 1))
                case 3:
                    tasks.append(asyncio.create_task(coroutine(child, depth - 1)))
                case 4:
                    handles.append(loop.call_soon_threadsafe(callback, child, depth - 1))
                case 5:
                    rng.choice(handles).cancel()

    async def coroutine(name: str, depth: int) -> None:
        for n in range(rng.randrange(3)):
            order.append(f"{name} step {n}")
            await asyncio.sleep(0)
        if rng.random() < 0.3:
            await queue.put(name)
        if rng.random() < 0.3:
            with contextlib.suppress(asyncio.QueueEmpty):
                order.append(f"{name} got {queue.get_nowait()}")
        if rng.random() < 0.2:
            rng.choice(tasks).cancel()
        callback(name, depth)

    async def drain() -> None:
        while True:
            order.append(f"drained {await queue.get()}")

    drainer = asyncio.create_task(drain())
    for n in range(4):
        handles.append(loop.call_soon(callback, str(n), 5))
        tasks.append(asyncio.create_task(coroutine(f"task {n}", 4)))
    # Counted in turns, not in time, so that a busy machine sees the same: nothing here waits for long.
    quiet, known = 0, 0
    while quiet < 20:
        await asyncio.sleep(0)
        quiet, known = (quiet + 1, known) if len(order) == known else (0, len(order))
    assert all(task.done() for task in tasks)
    drainer.cancel()
    return order


@pytest.mark.parametrize("budget", [gui.loop.BUDGET, 0.0])
def test_callbacks_run_in_the_order_of_asyncio(runner, monkeypatch, budget):
    monkeypatch.setattr(gui.loop, "BUDGET", budget)
    lengths = []
    for seed in range(25):
        expected = asyncio.run(tangle(seed))
        assert runner.run(tangle(seed)) == expected
        lengths.append(len(expected))
    assert max(lengths) > 50


def test_a_turn_that_is_cut_short_does_not_poll_files_again(runner, monkeypatch):
    """One event must call its reader once, even if Qt gets a turn before the reader does."""
    monkeypatch.setattr(gui.loop, "BUDGET", 0.0)

    async def main() -> int:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        reads = []
        left = 200
        done = asyncio.Event()

        def work() -> None:
            nonlocal left
            left -= 1
            if left > 0:
                loop.call_soon(work)
            else:
                done.set()

        loop.add_reader(ours, lambda: reads.append(ours.recv(1)))
        for _ in range(20):
            loop.call_soon(work)
        theirs.send(b"x")
        await done.wait()
        loop.remove_reader(ours)
        ours.close()
        theirs.close()
        return len(reads)

    errors: list[dict[str, Any]] = []
    runner.get_loop().set_exception_handler(lambda _loop, context: errors.append(context))
    assert runner.run(main()) == 1
    assert errors == []


def test_timers_are_never_early_and_run_in_their_order(runner):
    async def main() -> tuple[list[float], list[int]]:
        loop = asyncio.get_running_loop()
        rng = random.Random(5)
        early: list[float] = []
        ran: list[float] = []
        done = asyncio.Event()
        count = 10_000

        def due(when: float) -> None:
            ran.append(when)
            if loop.time() < when:
                early.append(when - loop.time())
            if len(ran) == count:
                done.set()

        began = loop.time()
        for _ in range(count):
            when = began + rng.random() * 0.4
            loop.call_at(when, due, when)
        async with asyncio.timeout(20):
            await done.wait()
        return early, ran

    early, ran = runner.run(main())
    assert early == []
    assert ran == sorted(ran)


def test_a_nearer_timer_set_while_idle_is_kept(runner, qapp):
    """Set from a Qt slot, where no callback of ours is on the stack to look after it."""
    from PySide6.QtCore import QTimer

    async def main() -> float:
        loop = asyncio.get_running_loop()
        fired = loop.create_future()
        far = loop.call_later(30, fired.set_result, None)
        QTimer.singleShot(20, lambda: loop.call_later(0.02, lambda: fired.set_result(loop.time())))
        began = loop.time()
        at = await fired
        far.cancel()
        return at - began

    assert 0.035 <= runner.run(main()) < 2


def test_cancelled_timers_never_run_and_do_not_pile_up(runner):
    async def main() -> None:
        loop = asyncio.get_running_loop()
        ran: list[int] = []
        timers = [loop.call_later(0.03, ran.append, n) for n in range(50)]
        for timer in timers[::2]:
            timer.cancel()
        await asyncio.sleep(0.06)
        assert ran == list(range(1, 50, 2))
        # A busy loop, which never comes to rest, has to clean up too.
        for n in range(10_000):
            loop.call_later(3600, ran.append, -1).cancel()
            if n % 100 == 0:
                await asyncio.sleep(0)
        assert len(loop._scheduled) < 300

    runner.run(main())


def test_stop_finishes_the_turn_and_the_loop_can_go_on(runner):
    def scenario(loop: asyncio.AbstractEventLoop) -> list[str]:
        order: list[str] = []

        def first() -> None:
            order.append("first")
            loop.stop()
            loop.call_soon(order.append, "next turn")

        loop.call_soon(first)
        loop.call_soon(order.append, "same turn")
        loop.run_forever()
        order.append("stopped")
        loop.stop()
        loop.run_forever()
        order.append("stopped again")
        loop.call_later(0.01, loop.stop)
        loop.run_forever()
        return order

    plain = asyncio.new_event_loop()
    expected = scenario(plain)
    plain.close()
    assert scenario(runner.get_loop()) == expected
    assert expected == ["first", "same turn", "stopped", "next turn", "stopped again"]


def test_stop_from_a_qt_slot_ends_an_idle_loop(runner):
    from PySide6.QtCore import QTimer

    loop = runner.get_loop()
    QTimer.singleShot(10, loop.stop)
    loop.run_forever()
    assert not loop.is_running()


def test_an_exception_goes_to_the_handler_and_the_loop_goes_on(runner):
    async def main() -> list[dict[str, Any]]:
        loop = asyncio.get_running_loop()
        contexts: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _loop, context: contexts.append(context))
        assert loop.get_exception_handler() is not None
        loop.call_soon(lambda: 1 / 0)
        loop.call_later(0.001, lambda: [][1])
        await asyncio.sleep(0.02)
        return contexts

    contexts = runner.run(main())
    assert [type(context["exception"]) for context in contexts] == [ZeroDivisionError, IndexError]
    assert all("handle" in context and "message" in context for context in contexts)


def test_without_a_handler_an_exception_is_logged(runner, caplog):
    async def main() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(0.01)

    runner.run(main())
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_exit_leaves_the_loop_which_can_run_again(runner, kind):
    def leave() -> None:
        raise kind("now")

    async def main() -> None:
        asyncio.get_running_loop().call_later(0.01, leave)
        await asyncio.sleep(10)

    with pytest.raises(kind, match="now"):
        runner.run(main())
    assert runner.run(asyncio.sleep(0.01, "again")) == "again"


@pytest.fixture
def interruptible():
    """A process started in the background inherits that SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_reaches_an_idle_loop(interruptible, runner):
    """Qt waits in C++, where Python would not notice the signal."""
    began = time.monotonic()
    sender = threading.Timer(0.1, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        runner.run(asyncio.sleep(20))
    sender.join()
    assert time.monotonic() - began < 5


def test_a_slow_callback_is_named_in_debug_mode(runner, caplog):
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_debug(True)
        assert loop.get_debug()
        loop.slow_callback_duration = 0.01
        loop.call_soon(time.sleep, 0.02)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        loop.set_debug(False)

    with caplog.at_level(logging.WARNING):
        runner.run(main())
    assert re.search(r"Executing .*sleep.* took \d\.\d+ seconds", caplog.text)


def test_debug_mode_refuses_a_call_from_another_thread(runner):
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_debug(True)
        await asyncio.to_thread(loop.call_soon, print)

    with pytest.raises(RuntimeError, match="Non-thread-safe"):
        runner.run(main())


def test_async_generators_are_closed_at_the_end():
    closed = []

    async def numbers():
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    kept = []

    async def main() -> None:
        generator = numbers()
        kept.append(generator)
        await anext(generator)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main())
        assert not closed
    assert closed


def test_an_idle_loop_costs_nothing(runner):
    async def main() -> float:
        await asyncio.sleep(0.05)
        asyncio.get_running_loop().call_soon_threadsafe(lambda: None)
        began = time.process_time()
        await asyncio.sleep(0.5)
        return time.process_time() - began

    assert runner.run(main()) < 0.1


@pytest.mark.parametrize("kind", [AirlockLoop, EpollLoop])
def test_many_loops_one_after_another_leave_nothing_behind(kind, qtlog):
    def once() -> None:
        with asyncio.Runner(loop_factory=kind) as runner:
            loop = runner.get_loop()
            loop.call_later(3600, print)
            loop.call_soon(print)
            loop.call_soon_threadsafe(lambda: None)
            assert runner.run(asyncio.sleep(0.001, "done")) == "done"
        assert loop.is_closed()
        loop.close()
        with pytest.raises(RuntimeError, match="closed"):
            loop.call_soon(print)

    once()
    before = psutil.Process().num_fds()
    for _ in range(30):
        once()
    assert psutil.Process().num_fds() <= before
    assert qtlog.records == []


def test_a_running_loop_refuses_to_run_or_close(runner):
    async def main() -> None:
        loop = asyncio.get_running_loop()
        with pytest.raises(RuntimeError, match="already running"):
            loop.run_forever()
        with pytest.raises(RuntimeError, match="Cannot close"):
            loop.close()

    runner.run(main())
