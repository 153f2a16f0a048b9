"""Windows of one instant go out together, before anything else is done about any of them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from core.clock import DrivenClock
from core.recording.volley import Volleys

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SOON = NOW + timedelta(seconds=3)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_all_of_an_instant_are_fired_at_once_and_before_any_of_them_goes_on() -> None:
    clock, seen = DrivenClock(NOW), []
    volleys: Volleys[int] = Volleys(clock, lambda who: seen.append(("fire", who)))

    async def window(number: int, at: datetime) -> None:
        await volleys.wait(at, number)
        seen.append(("on", number))

    later = SOON + timedelta(milliseconds=1)
    tasks = [asyncio.create_task(window(n, at)) for n, at in ((1, SOON), (2, later), (3, SOON))]
    await settle()
    await clock.advance(timedelta(seconds=2.999))
    assert seen == []
    await clock.advance(timedelta(milliseconds=1))
    assert seen == [("fire", [1, 3]), ("on", 1), ("on", 3)]
    await clock.advance(timedelta(milliseconds=1))
    assert seen[3:] == [("fire", [2]), ("on", 2)]
    await asyncio.gather(*tasks)


async def test_who_was_dropped_is_not_fired() -> None:
    clock, fired = DrivenClock(NOW), []
    volleys: Volleys[int] = Volleys(clock, fired.extend)
    tasks = [asyncio.create_task(volleys.wait(SOON, n)) for n in range(3)]
    await settle()
    tasks[1].cancel()
    await settle()
    await clock.advance(timedelta(seconds=3))
    assert fired == [0, 2]
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_an_instant_that_nobody_waits_for_leaves_no_timer() -> None:
    clock, fired = DrivenClock(NOW), []
    volleys: Volleys[int] = Volleys(clock, fired.extend)
    task = asyncio.create_task(volleys.wait(SOON, 1))
    await settle()
    task.cancel()
    await settle()
    assert [t for t in asyncio.all_tasks() if t.get_name().startswith("volley")] == []
    again = asyncio.create_task(volleys.wait(SOON, 2))  # armed anew for the same instant
    await settle()
    await clock.advance(timedelta(seconds=3))
    assert fired == [2]
    await again


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_fault_in_firing_holds_nobody_back() -> None:
    clock = DrivenClock(NOW)

    def fail(who: list[int]) -> None:
        raise ZeroDivisionError

    volleys: Volleys[int] = Volleys(clock, fail)
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    waiting = asyncio.create_task(volleys.wait(SOON, 1))
    await settle()
    await clock.advance(timedelta(seconds=3))
    await asyncio.wait_for(waiting, 1)  # it goes on and sends its request by itself
