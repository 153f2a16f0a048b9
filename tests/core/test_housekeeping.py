"""The leader's housekeeping: who is silent, whose clock is wrong, what is thrown away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.alarms.model import Priority
from core.clock import DatabaseClock, steady
from core.db.database import Connection, Database, close_pool
from core.housekeeping import Housekeeping, silent_stations, wrong_clocks
from core.lanes import LaneContext
from core.leadership import Lead
from core.model import SILENT_AFTER, StationRow

NOON = datetime(2030, 5, 1, 12, tzinfo=UTC)


def station(name: str, seen: float = 0, offset: float | None = 0, status: str = "online") -> StationRow:
    return StationRow(
        id=1, name=name, kind="desktop", host="h", pid=1, version="1", operator="Olga", role="operator", status=status,
        started_at=NOON, last_seen_at=NOON - timedelta(seconds=seen), rtt_ms=1, clock_offset_ms=offset, loop_lag_ms=1,
    )  # fmt: skip


def test_who_is_silent() -> None:
    limit = SILENT_AFTER.total_seconds()
    stations = [
        station("here", 1), station("just", limit), station("gone", limit + 0.1), station("left", 99, status="left"),
        station("still", 99, status="silent"),
    ]  # fmt: skip
    found = silent_stations(stations, NOON)
    assert [c.key for c in found] == ["station:silent:gone", "station:silent:still"]
    assert all(c.priority is Priority.LOW and c.effect and c.action for c in found)


def test_whose_clock_is_wrong() -> None:
    stations = [
        station("right", offset=999), station("ahead", offset=1001), station("behind", offset=-60_000),
        station("unknown", offset=None), station("gone", offset=5000, status="silent"),
    ]  # fmt: skip
    assert [c.source_name for c in wrong_clocks(stations)] == ["ahead", "behind"]


@pytest.fixture
async def lead(plant: str, connection: Connection) -> AsyncIterator[Lead]:
    pool = await Database(plant, "LEADER").open_pool("leader", 2)
    yield Lead(1, await connection.fetchval("SELECT now() - interval '1 hour'"), pool, steady() + 99, None)
    await close_pool(pool)


async def round_of(lead: Lead) -> None:
    """One round of the lane, with the database's own time."""
    clock = DatabaseClock()
    async with lead.pool.acquire() as connection:
        asked = steady()
        clock.add(asked, await connection.fetchval("SELECT clock_timestamp()"), steady())
    context = LaneContext(lead, clock, lambda listener: lambda: None)
    running = asyncio.create_task(Housekeeping().run(context))
    await asyncio.sleep(0)  # it has begun, and finishes its round before it looks up
    context.stopping.set()
    await running


async def add_station(connection: Connection, name: str, seen: str, offset: float = 0) -> None:
    await connection.execute(
        "INSERT INTO stations (name, kind, host, pid, instance, version, role, status, last_seen_at, clock_offset_ms) "
        "VALUES ($1, 'desktop', 'h', 1, gen_random_uuid(), '1', 'operator', 'online', now() - $2::text::interval, $3)",
        name, seen, offset,
    )  # fmt: skip


async def alarms(connection: Connection) -> list[tuple[str, str, int]]:
    rows = await connection.fetch("SELECT key, state, count FROM alarms ORDER BY id")
    return [(r["key"], r["state"], r["count"]) for r in rows]


async def test_a_silent_station_is_alarmed_once_and_cleared_when_it_is_back(
    connection: Connection, lead: Lead
) -> None:
    await add_station(connection, "HERE", "0 s")
    await add_station(connection, "GONE", "10 s")
    for _ in range(3):
        await round_of(lead)
    assert await alarms(connection) == [("station:silent:GONE", "active_unacked", 1)]
    statuses = await connection.fetch("SELECT name, status FROM stations ORDER BY name")
    assert [tuple(r) for r in statuses] == [("GONE", "silent"), ("HERE", "online")]
    await connection.execute("UPDATE stations SET last_seen_at = clock_timestamp(), status = 'online'")
    await round_of(lead)
    assert await alarms(connection) == [("station:silent:GONE", "cleared_unacked", 1)]
    await connection.execute("UPDATE stations SET last_seen_at = now() - interval '10 s' WHERE name = 'GONE'")
    await round_of(lead)
    assert await alarms(connection) == [("station:silent:GONE", "active_unacked", 2)]


async def test_a_station_away_for_a_day_was_switched_off(connection: Connection, lead: Lead) -> None:
    await add_station(connection, "GONE", "10 s")
    await round_of(lead)
    await connection.execute("UPDATE stations SET last_seen_at = now() - interval '25 hours'")
    await round_of(lead)
    assert await connection.fetchval("SELECT status FROM stations") == "left"
    assert await alarms(connection) == [("station:silent:GONE", "cleared_unacked", 1)]


async def test_after_an_outage_stations_get_the_time_to_be_heard(connection: Connection, lead: Lead) -> None:
    """Nobody could report while the database was away: a new leader must not call them all silent."""
    await add_station(connection, "DESK", "30 s")
    await connection.execute("INSERT INTO alarms (key, priority, source_kind, message) "
                             "VALUES ('station:silent:OLD', 'low', 'station', 'm')")  # fmt: skip
    lead.acquired_at = await connection.fetchval("SELECT now()")
    await round_of(lead)
    assert await alarms(connection) == [("station:silent:OLD", "active_unacked", 1)], (
        "judged, or cleared, too early"
    )
    lead.acquired_at = await connection.fetchval("SELECT now() - interval '6 s'")
    await round_of(lead)
    assert await alarms(connection) == [
        ("station:silent:OLD", "cleared_unacked", 1),
        ("station:silent:DESK", "active_unacked", 1),
    ]


async def test_a_wrong_clock_is_alarmed_and_cleared(connection: Connection, lead: Lead) -> None:
    await add_station(connection, "DESK", "0 s", offset=5000)
    await round_of(lead)
    assert await alarms(connection) == [("station:clock:DESK", "active_unacked", 1)]
    await connection.execute("UPDATE stations SET clock_offset_ms = 3, last_seen_at = clock_timestamp()")
    await round_of(lead)
    assert await alarms(connection) == [("station:clock:DESK", "cleared_unacked", 1)]


async def test_a_leader_that_was_deposed_is_reported_once(connection: Connection, lead: Lead) -> None:
    lead.deposed = "FROZEN"
    await round_of(lead)
    (found,) = await alarms(connection)
    assert found == ("leader:hung", "cleared_unacked", 1)
    assert await connection.fetchval("SELECT message FROM alarms") == (
        "FROZEN stopped responding while leading and was replaced"
    )


async def test_old_tombstones_are_thrown_away_and_young_ones_kept(connection: Connection, lead: Lead) -> None:
    await connection.execute(
        "INSERT INTO deleted_rows (table_name, row_id, deleted_at) VALUES "
        "('nodes', 1, now() - interval '25 hours'), ('nodes', 2, now() - interval '23 hours'), ('nodes', 3, now())"
    )
    await round_of(lead)
    left = await connection.fetch("SELECT row_id FROM deleted_rows ORDER BY 1")
    assert [r["row_id"] for r in left] == [2, 3]


async def test_the_shelf_is_emptied_in_time(connection: Connection, lead: Lead) -> None:
    await connection.execute(
        "INSERT INTO alarms (key, priority, source_kind, message, shelved_until, shelved_by) VALUES "
        "('over', 'low', 's', 'm', now() - interval '1 s', 'x'), "
        "('not yet', 'low', 's', 'm', now() + interval '1h', 'x')"
    )
    await round_of(lead)
    rows = await connection.fetch("SELECT key FROM alarms WHERE shelved_until IS NOT NULL")
    assert [r["key"] for r in rows] == ["not yet"]


async def test_rounds_with_nothing_new_write_nothing(connection: Connection, lead: Lead, plant: str) -> None:
    await add_station(connection, "GONE", "10 s", offset=5000)
    await round_of(lead)
    heard: list[Any] = []
    await connection.add_listener("airlock", lambda *a: heard.append(a))
    for _ in range(3):
        await round_of(lead)
    await connection.fetchval("SELECT 1")
    assert heard == []
