from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from gui.tasks import on_task_error, spawn


@pytest.fixture
def errors():
    seen: list[tuple[str, Exception]] = []
    stop = on_task_error(lambda task, exc: seen.append((task.get_name(), exc)))
    yield seen
    stop()


async def test_a_task_that_nobody_holds_survives_a_collection():
    released = []

    async def wait() -> None:
        # Nothing but the task refers to this future: without a strong reference both would be collected.
        future = asyncio.get_running_loop().create_future()
        released.append(weakref.ref(future))
        await future

    def start() -> None:
        spawn(wait())

    start()
    await asyncio.sleep(0)
    gc.collect()
    future = released[0]()
    assert future is not None
    future.set_result(None)
    del future
    await asyncio.sleep(0.001)
    gc.collect()
    assert released[0]() is None


async def test_a_failure_is_logged_with_its_traceback_and_told(errors, caplog):
    async def fail() -> None:
        raise ValueError("no such recorder")

    task = spawn(fail(), name="start recorder 3")
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert [(name, str(exc)) for name, exc in errors] == [("start recorder 3", "no such recorder")]
    assert "start recorder 3" in caplog.text
    assert "in fail" in caplog.text


async def test_a_hook_that_fails_does_not_silence_the_next(errors, caplog):
    def broken(task: object, exc: Exception) -> None:
        raise RuntimeError("no window")

    stop = on_task_error(broken)
    later: list[Exception] = []
    stop_later = on_task_error(lambda _task, exc: later.append(exc))

    async def fail() -> None:
        raise ValueError

    await asyncio.wait([spawn(fail())])
    await asyncio.sleep(0)
    stop()
    stop_later()
    assert len(errors) == len(later) == 1
    assert "no window" in caplog.text


async def test_cancellation_and_success_are_not_errors(errors, caplog):
    sleeping = spawn(asyncio.sleep(30))
    fine = spawn(asyncio.sleep(0, "fine"))
    sleeping.cancel()
    await asyncio.wait([sleeping, fine])
    await asyncio.sleep(0)
    assert fine.result() == "fine"
    assert errors == []
    assert caplog.text == ""


def test_without_a_loop_it_refuses_and_leaves_no_coroutine_behind():
    with pytest.raises(RuntimeError, match="no running event loop"):
        spawn(asyncio.sleep(0))
