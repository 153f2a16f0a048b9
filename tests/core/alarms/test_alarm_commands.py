"""What the operator's commands on alarms say and leave behind, and the alarm of a lost database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from core.alarms.commands import acknowledge_alarm, acknowledge_alarms, shelve_alarm, unshelve_alarm
from core.alarms.local import KEY, LocalAlarms, outage
from core.alarms.model import Condition, Priority, State
from core.alarms.rules import summarise
from core.alarms.store import get, history, raise_alarm, record_past
from core.clock import DrivenClock
from core.commands import Actor, Commander
from core.db.database import Connection, Database
from core.errors import CommandRefused, NotFound
from core.roles import Role
from core.station import Identity, Station

HOUR = timedelta(hours=1)


@pytest.fixture
async def commander(plant: str) -> AsyncIterator[Commander]:
    database = Database(plant, "DESK")
    await database.open()
    yield Commander(database, lambda: Actor("Olga", "DESK", Role.OPERATOR))
    await database.close()


async def make(connection: Connection, key: str, priority: Priority = Priority.HIGH) -> int:
    await raise_alarm(connection, Condition(key, priority, "test", "T", f"{key} is wrong"))
    return await connection.fetchval("SELECT max(id) FROM alarms")


async def test_acknowledging_says_who_was_first(connection: Connection, commander: Commander) -> None:
    alarm_id = await make(connection, "a")
    await commander.do(acknowledge_alarm, alarm_id)
    with pytest.raises(CommandRefused, match=r"^Olga has acknowledged it already\.$"):
        await commander.do(acknowledge_alarm, alarm_id)
    with pytest.raises(NotFound, match=r"^That alarm no longer exists\.$"):
        await commander.do(acknowledge_alarm, 4711)
    row = await connection.fetchrow("SELECT * FROM audit_log")
    assert row["before"]["state"] == "active_unacked" and row["after"]["state"] == "active_acked"
    assert row["after"]["acked_by"] == "Olga" and "message" not in row["after"]


async def test_two_operators_at_once_acknowledge_once(connection: Connection, commander: Commander) -> None:
    alarm_id = await make(connection, "a")
    done = await asyncio.gather(
        *(commander.do(acknowledge_alarm, alarm_id) for _ in range(4)), return_exceptions=True
    )
    assert sum(d is None for d in done) == 1
    assert all(isinstance(d, CommandRefused) for d in done if d is not None)
    assert await connection.fetchval("SELECT count(*) FROM audit_log") == 1


async def test_acknowledging_all_shown_takes_what_is_left(
    connection: Connection, commander: Commander
) -> None:
    ids = [await make(connection, k) for k in "abc"]
    await commander.do(acknowledge_alarm, ids[0])
    assert await commander.do(acknowledge_alarms, [*ids, 4711]) == 2
    with pytest.raises(CommandRefused, match=r"^There is nothing left to acknowledge\.$"):
        await commander.do(acknowledge_alarms, ids)
    assert await connection.fetchval("SELECT count(*) FROM audit_log") == 3


async def test_shelving_needs_a_reason_and_a_sensible_time(
    connection: Connection, commander: Commander
) -> None:
    alarm_id = await make(connection, "a")
    with pytest.raises(CommandRefused, match="Say why"):
        await commander.do(shelve_alarm, alarm_id, HOUR, "  ")
    for time in (timedelta(0), -HOUR, timedelta(hours=24, seconds=1)):
        with pytest.raises(CommandRefused, match="up to 24 hours"):
            await commander.do(shelve_alarm, alarm_id, time, "known")
    with pytest.raises(CommandRefused, match="not on the shelf"):
        await commander.do(unshelve_alarm, alarm_id)
    await commander.do(shelve_alarm, alarm_id, HOUR, " " + "x" * 300)
    alarm = await get(connection, alarm_id)
    assert alarm is not None and alarm.shelved_by == "Olga" and alarm.shelve_reason == "x" * 200
    now = datetime.now(UTC)
    assert alarm.shelved(now) and not alarm.shelved(now + 2 * HOUR)
    await commander.do(unshelve_alarm, alarm_id)
    actions = await connection.fetch("SELECT action, reason FROM audit_log ORDER BY id")
    assert [r["action"] for r in actions] == ["shelve_alarm", "unshelve_alarm"]


async def test_what_becomes_more_urgent_comes_off_the_shelf(
    connection: Connection, commander: Commander
) -> None:
    alarm_id = await make(connection, "disk", Priority.MEDIUM)
    await commander.do(acknowledge_alarm, alarm_id)
    await commander.do(shelve_alarm, alarm_id, HOUR, "known")
    await make(connection, "disk", Priority.LOW)
    alarm = await get(connection, alarm_id)
    assert alarm is not None and alarm.shelved_until is not None and alarm.acked_by == "Olga"
    await make(connection, "disk", Priority.CRITICAL)
    alarm = await get(connection, alarm_id)
    assert alarm is not None and alarm.shelved_until is None and alarm.state == State.ACTIVE_UNACKED
    assert summarise([alarm], datetime.now(UTC)).worst is Priority.CRITICAL


async def test_a_condition_looked_at_again_and_again_speaks_up_when_it_gets_worse(
    connection: Connection,
) -> None:
    async def look(priority: Priority) -> tuple[str, int]:
        condition = Condition("disk", priority, "node", "N", f"Disk is {priority.word}")
        await raise_alarm(connection, condition, repeat=False)
        row = await connection.fetchrow("SELECT message, count FROM alarms")
        return row["message"], row["count"]

    assert await look(Priority.LOW) == await look(Priority.LOW) == ("Disk is low", 1)
    assert await look(Priority.CRITICAL) == await look(Priority.CRITICAL) == ("Disk is critical", 2)
    assert await look(Priority.MEDIUM) == ("Disk is medium", 3)


async def test_the_history_has_everything_newest_first(connection: Connection) -> None:
    for key in "abcde":
        await make(connection, key)
    first = await history(connection, None, 3)
    rest = await history(connection, first[-1].raised_at, 10)
    assert [a.key for a in first + rest] == list("edcba")


# -- the database is gone ----------------------------------------------------------------------------


def test_a_lost_database_is_one_alarm_of_this_station() -> None:
    clock = DrivenClock(datetime(2030, 1, 1, 12, tzinfo=UTC))
    local = LocalAlarms(clock)
    told: list[int] = []

    def broken() -> None:
        raise ValueError("a view is broken")

    local.on_change(broken)
    local.on_change(lambda: told.append(len(local.all())))
    assert local.all() == [] and local.database_back() is None and told == []
    since = clock.now() - timedelta(seconds=7)
    local.database_lost("postgresql://h/d", since)
    local.database_lost("postgresql://h/d", clock.now())
    (alarm,) = local.all()
    assert alarm.local and alarm.key == KEY and alarm.rank is Priority.CRITICAL and alarm.raised_at == since
    assert "postgresql://h/d last answered at 11:59:53 UTC" in alarm.effect and alarm.action.endswith(".")
    local.acknowledge("Olga")
    local.acknowledge("Bob")
    assert local.all()[0].acked_by == "Olga" and local.all()[0].state == State.ACTIVE_ACKED
    assert local.database_back() == since and local.all() == []
    assert told == [1, 1, 0]


async def test_two_stations_that_lost_the_database_make_one_alarm(connection: Connection, plant: str) -> None:
    began = await connection.fetchval("SELECT now() - interval '10 s'")
    stations = [Station(plant, Identity(f"DESK-{n}", "headless", "op")) for n in range(2)]
    for station in stations:
        await station.start()
    try:
        await asyncio.gather(
            *(s._record_outage(began + timedelta(seconds=n)) for n, s in enumerate(stations)),
        )
        await stations[0]._record_outage(datetime.now(UTC) - timedelta(seconds=1))  # not worth a line
    finally:
        for station in stations:
            await station.stop()
    row = await connection.fetchrow("SELECT * FROM alarms WHERE key = $1", KEY)
    assert row["count"] == 2 and row["state"] == "cleared_unacked" and row["raised_at"] == began
    assert row["cleared_at"] > row["raised_at"] and row["message"].startswith(
        "Database connection was lost for "
    )
    assert await connection.fetchval("SELECT count(*) FROM alarms WHERE key = $1", KEY) == 1


async def test_the_history_entry_is_never_seen_as_active(connection: Connection, plant: str) -> None:
    other = await asyncpg.connect(plant)
    began = await connection.fetchval("SELECT now() - interval '10 s'")
    seen: list[str] = []
    await other.add_listener("airlock", lambda *_: seen.append("woken"))
    await record_past(connection, outage("DESK", 10), began)
    assert await other.fetchval("SELECT state FROM alarms") == "cleared_unacked"
    await asyncio.sleep(0.05)
    assert len(seen) == 1, "raised and cleared in two steps, which every screen shows"
    await other.close()
