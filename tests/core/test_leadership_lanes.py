"""What the lead gives to the lanes and takes from them, and who never gets it."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import pytest

from core import lanes as lanes_module
from core.clock import DatabaseClock
from core.db.database import Connection
from core.lanes import Lane, LaneContext, Lanes
from core.leadership import Lead
from core.station import Identity, Station
from tests.core.contender import HOLDER, WAITING, Contender

Eventually = Callable[..., Awaitable[None]]
OPEN_ALARMS = "SELECT key, priority, count FROM alarms WHERE cleared_at IS NULL"


class Written:
    """A lane made of one function."""

    def __init__(self, name: str, run: Callable[[LaneContext], Awaitable[None]]) -> None:
        self.name = name
        self._run = run

    async def run(self, context: LaneContext) -> None:
        await self._run(context)


def lanes_of(*lanes: Lane) -> Lanes:
    return Lanes(lanes, DatabaseClock(), lambda _: lambda: None)


@pytest.fixture
async def station(plant: str) -> AsyncIterator[Contender]:
    async with Contender(plant, "A") as contender:
        yield contender


async def test_lanes_are_cut_the_instant_the_lead_is_lost(
    station: Contender, connection: Connection, eventually: Eventually
) -> None:
    steps: list[bool] = []

    async def work(context: LaneContext) -> None:
        while True:
            steps.append(context.lead.trusted())
            await asyncio.sleep(0)

    lanes = lanes_of(Written("busy", work))
    steps_at_loss: list[int] = []

    def changed(lead: Lead | None) -> None:
        if lead is None:
            lanes.cut()
            steps_at_loss.append(len(steps))

    lead = await station.leads()
    station.leadership._on_change = changed
    lanes.start(lead)
    await eventually(lambda: len(steps) > 10)
    await connection.fetch(f"SELECT pg_terminate_backend(pid) FROM ({HOLDER}) h")
    await eventually(lambda: steps_at_loss, within=1.0)
    await asyncio.sleep(0.05)
    assert len(steps) == steps_at_loss[0]
    # The few steps between the end of the connection and the cut already knew that they may not act.
    assert not steps[-1]


async def test_a_lane_that_fails_is_alarmed_and_started_again_and_the_others_go_on(
    station: Contender, connection: Connection, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    runs: list[str] = []
    ticks: list[int] = []

    async def fail_twice(context: LaneContext) -> None:
        runs.append("run")
        if len(runs) <= 2:
            raise ZeroDivisionError("a fault of ours")
        await context.stopping.wait()

    async def tick(context: LaneContext) -> None:
        while True:
            ticks.append(len(runs))
            await asyncio.sleep(0.01)

    lanes = lanes_of(Written("recording", fail_twice), Written("probes", tick))
    with caplog.at_level(logging.ERROR):
        lanes.start(await station.leads())
        await eventually(lambda: len(runs) == 3)
    assert {0, 1, 2, 3} >= set(ticks) and ticks[-1] >= 2
    assert "a fault of ours" in caplog.text
    rows = await connection.fetch(OPEN_ALARMS)
    assert [tuple(r) for r in rows] == [("lane:recording", "critical", 2)]
    await lanes.drain(1.0)


async def test_a_lane_whose_cleaning_up_fails_is_not_started_again_after_the_lead_is_lost(
    station: Contender, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancelled lane often ends in a closed connection instead of in its cancellation."""
    monkeypatch.setattr(lanes_module, "RESTART", (0.01,))
    runs: list[str] = []

    def lane(error: Exception) -> Lane:
        async def run(context: LaneContext) -> None:
            runs.append("run")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                raise error from None

        return Written(type(error).__name__, run)

    errors = (
        asyncpg.InterfaceError("closed"),
        ConnectionResetError(),
        asyncpg.InternalServerError("x"),
        KeyError(),
    )
    lanes = lanes_of(*(lane(e) for e in errors))
    lanes.start(await station.leads())
    await eventually(lambda: len(runs) == 4)
    lanes.cut()
    await asyncio.sleep(0.1)
    assert len(runs) == 4


async def test_connections_that_go_on_failing_are_alarmed_though_one_is_not(
    station: Contender, connection: Connection, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes_module, "RESTART", (0.05,))
    runs: list[int] = []

    async def run(context: LaneContext) -> None:
        runs.append(len(await connection.fetch(OPEN_ALARMS)))
        raise ConnectionResetError

    lanes = lanes_of(Written("recording", run))
    lanes.start(await station.leads())
    await eventually(lambda: len(runs) >= 5)
    lanes.cut()
    assert runs[:5] == [0, 0, 0, 1, 1]


async def test_draining_lets_work_finish_and_nothing_begin_even_when_the_lead_comes_back(
    station: Contender, eventually: Eventually
) -> None:
    began: list[str] = []
    finished: list[str] = []

    async def work(context: LaneContext) -> None:
        began.append("began")
        await context.stopping.wait()
        await asyncio.sleep(0.05)  # an operation under way
        finished.append("finished")

    lanes = lanes_of(Written("recording", work))
    lead = await station.leads()
    lanes.start(lead)
    await eventually(lambda: began)
    draining = asyncio.create_task(lanes.drain(1.0))
    await asyncio.sleep(0)
    lanes.start(lead)
    await draining
    assert finished == ["finished"]
    lanes.start(lead)
    await asyncio.sleep(0.02)
    assert began == ["began"]


async def test_draining_has_a_limit(station: Contender, eventually: Eventually) -> None:
    ended: list[str] = []

    async def work(context: LaneContext) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    lanes = lanes_of(Written("recording", work))
    lanes.start(await station.leads())
    await asyncio.sleep(0)
    await lanes.drain(0.05)
    await eventually(lambda: ended)


async def test_a_viewer_does_not_contend(plant: str, connection: Connection, eventually: Eventually) -> None:
    name = f"viewer_{uuid.uuid4().hex[:8]}"
    await connection.execute(f"CREATE ROLE {name} LOGIN IN ROLE airlock_viewer")
    station = Station(plant.replace("postgres@", f"{name}@"), Identity("V", "desktop", "eve"))
    try:
        await station.start()
        await eventually(lambda: station.feed.state.live)
        assert station.role.name == "VIEWER"
        assert not await connection.fetch(HOLDER)
        assert not await connection.fetch(WAITING)
        assert not station.leading
    finally:
        await station.stop()
        await connection.execute(f"DROP ROLE {name}")
    assert await connection.fetchval("SELECT count(*) FROM leadership") == 0


async def test_an_operator_contends_and_leads(
    plant: str, connection: Connection, eventually: Eventually
) -> None:
    name = f"operator_{uuid.uuid4().hex[:8]}"
    await connection.execute(f"CREATE ROLE {name} LOGIN IN ROLE airlock_operator")
    station = Station(plant.replace("postgres@", f"{name}@"), Identity("O", "desktop", "olga"))
    try:
        await station.start()
        await eventually(lambda: station.leading)
    finally:
        await station.stop()
        await connection.execute(f"DROP ROLE {name}")
    assert await connection.fetchval("SELECT ended_by FROM leadership") == "left"
