"""The database clock: what it makes of good, bad and contradictory answers, and waiting by it."""

from __future__ import annotations

import asyncio
import random
import statistics
import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import clock as clock_module
from core.clock import KEEP, DatabaseClock, DrivenClock, steady
from core.db.database import Connection

ROOT = Path(__file__).resolve().parents[2]
START = 1_800_000_000.0  # the database's time when the steady counter says 0
MILLISECOND = timedelta(milliseconds=1)


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


class Counter:
    """The steady counter, moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Counter:
    made = Counter()
    monkeypatch.setattr(clock_module, "steady", made)
    return made


class Server:
    """A database whose clock runs, drifts and is stepped; each answer costs the given delays."""

    def __init__(self, counter: Counter, clock: DatabaseClock, drift: float = 0.0) -> None:
        self._counter = counter
        self._clock = clock
        self.drift = drift
        self.step = 0.0

    def time(self) -> float:
        return START + self._counter.now * (1 + self.drift) + self.step

    def answer(self, there: float, back: float) -> None:
        asked = self._counter.now
        self._counter.now += there
        answered = at(self.time())
        self._counter.now += back
        self._clock.add(asked, answered, self._counter.now)

    def error(self) -> float:
        return self._clock.timestamp() - self.time()


# -- the estimate ------------------------------------------------------------------------------


def test_before_the_first_answer_nothing_is_known() -> None:
    clock = DatabaseClock()
    assert not clock.known
    assert clock.uncertainty is None
    assert clock.workstation_offset == 0.0


def test_half_the_round_trip_bounds_the_error_however_lopsided_the_way_is(counter: Counter) -> None:
    for there, back in ((0.05, 0.05), (0.1, 0.0), (0.0, 0.1), (0.09, 0.01)):
        clock = DatabaseClock()
        server = Server(counter, clock)
        server.answer(there, back)
        assert abs(server.error()) <= (there + back) / 2 + 1e-6
        assert clock.uncertainty == pytest.approx((there + back) / 2, abs=1e-5)


def test_the_smallest_round_trip_wins(counter: Counter) -> None:
    clock = DatabaseClock()
    server = Server(counter, clock)
    server.answer(0.0, 0.2)
    assert abs(server.error()) > 0.09
    server.answer(0.0005, 0.0005)
    assert abs(server.error()) < 1e-6
    for _ in range(20):
        counter.now += 0.5
        server.answer(0.3, 0.0)
    assert abs(server.error()) < 1e-6, "a slow answer displaced a quick one"


def test_an_old_answer_loses_to_a_worse_new_one_because_counters_drift(counter: Counter) -> None:
    clock = DatabaseClock()
    server = Server(counter, clock, drift=40e-6)
    server.answer(0.0001, 0.0001)
    counter.now += 100.0
    assert abs(server.error()) > 0.003
    server.answer(0.0005, 0.0005)
    assert abs(server.error()) < 0.001


def test_a_drifting_counter_is_followed_for_hours(counter: Counter) -> None:
    chance = random.Random(7)
    clock = DatabaseClock()
    server = Server(counter, clock, drift=-45e-6)
    for _ in range(3 * 3600):
        server.answer(chance.expovariate(2000), chance.expovariate(2000))
        assert abs(server.error()) < 0.0025
        counter.now += 1.0
    assert len(clock._samples) <= KEEP + 1


@pytest.mark.parametrize("step", [3600.0, -3600.0, 0.25, -0.25, 0.02])
def test_a_stepped_database_clock_is_followed_at_once(counter: Counter, step: float) -> None:
    clock = DatabaseClock()
    server = Server(counter, clock)
    for _ in range(10):
        server.answer(0.0002, 0.0002)
        counter.now += 0.5
    server.step = step
    server.answer(0.003, 0.003)  # worse than everything known, and yet the only truth
    assert abs(server.error()) < 0.0035


def test_a_slow_answer_after_a_step_does_not_outweigh_the_quick_one_that_follows(counter: Counter) -> None:
    clock = DatabaseClock()
    server = Server(counter, clock)
    server.answer(0.0002, 0.0002)
    server.step = 5.0
    server.answer(0.0, 2.0)
    server.answer(0.0002, 0.0002)
    assert abs(server.error()) < 0.001


def test_a_machine_that_was_suspended_wakes_with_the_right_time(counter: Counter) -> None:
    clock = DatabaseClock()
    server = Server(counter, clock)
    server.answer(0.0002, 0.0002)
    counter.now += 8 * 3600.0  # our counter goes on during the sleep
    assert abs(server.error()) < 0.001
    server.step = 1800.0  # a guest whose host slept: its counter stood still
    server.answer(0.0002, 0.0002)
    assert abs(server.error()) < 0.001


def test_a_process_that_was_stopped_between_question_and_answer_learns_nothing_wrong(
    counter: Counter,
) -> None:
    clock = DatabaseClock()
    server = Server(counter, clock)
    server.answer(0.0002, 0.0002)
    server.answer(0.0002, 60.0)
    assert abs(server.error()) < 0.001


ANSWERS = st.lists(st.tuples(st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0, 30)), min_size=1, max_size=40)


@settings(deadline=None, max_examples=100)
@given(ANSWERS, st.floats(-45e-6, 45e-6), st.data())
def test_the_error_is_never_larger_than_the_clock_says(
    answers: list[tuple[float, float, float]], drift: float, data: st.DataObject
) -> None:
    counter = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock_module, "steady", counter)
        clock = DatabaseClock()
        server = Server(counter, clock, drift)
        for there, back, pause in answers:
            server.answer(there, back)
            counter.now += pause
            assert clock.uncertainty is not None
            assert abs(server.error()) <= clock.uncertainty + 1e-5
        server.step = data.draw(st.floats(-10000, 10000))
        server.answer(0.0001, 0.0001)
        assert abs(server.error()) <= 0.002, "one good answer must settle any step"


# -- waiting -----------------------------------------------------------------------------------


async def test_nobody_wakes_early_and_hardly_anybody_late() -> None:
    clock = DatabaseClock()
    clock.add(steady(), at(START), steady())
    begin = clock.now()
    chance = random.Random(3)
    late: list[float] = []

    async def sleeper(instant: datetime) -> None:
        await clock.sleep_until(instant)
        now = clock.now()
        assert now >= instant
        late.append((now - instant).total_seconds())

    await asyncio.gather(*(sleeper(begin + MILLISECOND * chance.uniform(-5, 1500)) for _ in range(200)))
    assert statistics.median(late) < 0.02


@pytest.mark.parametrize("moves", [-0.3, 0.3])
async def test_nobody_wakes_early_when_the_estimate_moves_meanwhile(moves: float) -> None:
    clock = DatabaseClock()
    now = steady()
    clock.add(now, at(START), now)
    instant = clock.now() + timedelta(seconds=1.2)
    sleeping = asyncio.create_task(clock.sleep_until(instant))
    began = steady()
    await asyncio.sleep(0.1)
    clock.add(steady(), clock.now() + timedelta(seconds=moves), steady())
    await sleeping
    assert clock.now() >= instant
    assert steady() - began == pytest.approx(1.2 - moves, abs=0.15)


async def test_an_estimate_that_jitters_makes_nobody_early() -> None:
    clock = DatabaseClock()
    now = steady()
    clock.add(now, at(START), now)
    stop = asyncio.Event()
    true_offset = START - now
    chance = random.Random(5)

    async def jitter() -> None:
        while not stop.is_set():
            here = steady()
            clock.add(here, at(here + true_offset + chance.uniform(-0.004, 0.004)), here + 0.0001)
            await asyncio.sleep(0.002)

    jittering = asyncio.create_task(jitter())
    for number in range(1, 60):
        instant = clock.now() + MILLISECOND * number
        await clock.sleep_until(instant, exactly=number % 2 == 0)
        assert clock.now() >= instant
    stop.set()
    await jittering


async def test_an_instant_in_the_past_is_due_at_once() -> None:
    clock = DatabaseClock()
    clock.add(steady(), at(START), steady())
    async with asyncio.timeout(0.5):
        await clock.sleep_until(clock.now() - timedelta(hours=1))


async def test_a_step_of_the_database_clock_ends_a_long_sleep_within_the_recheck() -> None:
    clock = DatabaseClock()
    clock.add(steady(), at(START), steady())
    sleeping = asyncio.create_task(clock.sleep_until(clock.now() + timedelta(hours=1)))
    await asyncio.sleep(0.05)
    clock.add(steady(), at(START + 3601), steady())
    async with asyncio.timeout(1.5):
        await sleeping


# -- a real database ---------------------------------------------------------------------------

WRONG_CLOCK = """
    import asyncio, json, sys, time
    real = time.time
    time.time = lambda: real() + float(sys.argv[2])
    from core.clock import DatabaseClock
    from core.db.database import Database

    async def main():
        connection = await Database(sys.argv[1], "WRONG").connect("test")
        clock = DatabaseClock()
        for _ in range(20):
            await clock.sample(lambda: connection.fetchval("SELECT clock_timestamp()"))
        # Same machine: the real wall clock is the database's.
        print(json.dumps([clock.timestamp() - real(), clock.workstation_offset, clock.uncertainty]))
        await connection.close()

    asyncio.run(main())
"""


@pytest.mark.parametrize("wrong", [-420.0, 3600.0])
def test_a_workstation_whose_wall_clock_is_wrong_goes_by_the_database(server: str, wrong: float) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WRONG_CLOCK), server, str(wrong)],
        cwd=ROOT, capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    error, offset, uncertainty = (float(part) for part in done.stdout.strip("[]\n").split(","))
    assert abs(error) < 0.005
    assert abs(error) <= uncertainty + 0.001
    assert offset == pytest.approx(wrong, abs=0.01)


async def test_the_estimate_of_a_real_database_is_good_to_a_few_milliseconds(connection: Connection) -> None:
    clock = DatabaseClock()
    for _ in range(10):
        await clock.sample(lambda: connection.fetchval("SELECT clock_timestamp()"))
    there = await connection.fetchval("SELECT clock_timestamp()")
    assert abs((clock.now() - there).total_seconds()) < 0.05
    assert clock.uncertainty is not None and clock.uncertainty < 0.01


# -- the clock that tests drive ----------------------------------------------------------------


async def test_driven_sleepers_wake_in_the_order_of_their_instants() -> None:
    clock = DrivenClock(at(START))
    woken: list[tuple[int, datetime]] = []

    async def sleeper(number: int, seconds: float) -> None:
        await clock.sleep_until(at(START + seconds))
        woken.append((number, clock.now()))

    tasks = [asyncio.create_task(sleeper(i, s)) for i, s in enumerate((5, 1, 3, 3, 0, 90))]
    await asyncio.sleep(0)
    await clock.advance(timedelta(seconds=10))
    assert [w[0] for w in woken] == [4, 1, 2, 3, 0]
    assert [w[1] for w in woken][1:] == [at(START + s) for s in (1, 3, 3, 5)]
    assert clock.now() == at(START + 10)
    await clock.advance(timedelta(seconds=80))
    assert len(woken) == 6
    await asyncio.gather(*tasks)


async def test_a_driven_sleeper_that_sleeps_again_is_woken_in_the_same_advance() -> None:
    clock = DrivenClock(at(START))
    seen: list[datetime] = []

    async def ticker() -> None:
        for second in range(1, 6):
            await clock.sleep_until(at(START + second))
            seen.append(clock.now())

    ticking = asyncio.create_task(ticker())
    await asyncio.sleep(0)
    await clock.advance(timedelta(seconds=5))
    assert seen == [at(START + s) for s in range(1, 6)]
    await ticking
