"""What each role may do is decided by the database, whatever a program offers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from core.alarms.commands import acknowledge_alarm
from core.alarms.model import Condition, Priority
from core.alarms.store import raise_alarm
from core.db.database import Connection, Database
from core.errors import NotAllowed
from core.roles import Role
from core.station import Identity, Station
from tests.core.conftest import Login

REFUSED = asyncpg.InsufficientPrivilegeError
Open = Callable[[str], Any]


@pytest.fixture
async def open_as(login: Login) -> AsyncIterator[Open]:
    opened: list[Connection] = []

    async def open_one(role: str) -> Connection:
        opened.append(await Database(await login(role), "test").connect("test"))
        return opened[-1]

    yield open_one
    for connection in opened:
        await connection.close()


async def refused(connection: Connection, statement: str) -> None:
    try:
        await connection.execute(statement)
    except REFUSED:
        return
    pytest.fail(f"this login may {statement}")


async def all_tables(connection: Connection) -> list[str]:
    rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    return [r["tablename"] for r in rows]


async def test_a_viewer_reads_everything_and_changes_nothing(connection: Connection, open_as: Open) -> None:
    viewer = await open_as("airlock_viewer")
    tables = await all_tables(connection)
    assert len(tables) >= 17
    for table in tables:
        await viewer.fetch(f"SELECT * FROM {table} LIMIT 1")
        column = await connection.fetchval(
            "SELECT column_name FROM information_schema.columns WHERE table_name = $1 AND is_generated = 'NEVER' "
            "AND is_identity = 'NO' ORDER BY ordinal_position LIMIT 1",
            table,
        )
        for statement in (
            f"INSERT INTO {table} DEFAULT VALUES",
            f"UPDATE {table} SET {column} = {column}",
            f"DELETE FROM {table}",
            f"TRUNCATE {table} CASCADE",
            f"ALTER TABLE {table} DISABLE TRIGGER ALL",
            f"DROP TABLE {table} CASCADE",
            f"SELECT * FROM {table} FOR UPDATE",
        ):
            await refused(viewer, statement)
    for call in (
        "SELECT airlock_depose('0')",
        "SELECT airlock_take_lead('me', '1 hour')",
        "CREATE TABLE mine (id int)",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "SET session_replication_role = replica",
    ):
        with pytest.raises(REFUSED):
            await viewer.execute(call)
    await viewer.execute("SELECT * FROM airlock_as_run_verify(1)")


async def test_nobody_borrows_the_owners_rights_through_a_table_of_their_own(
    connection: Connection, open_as: Open, channel: int
) -> None:
    """A trigger function that runs as the owner, hung on a temporary table, would forge tombstones and chains."""
    for role in ("airlock_viewer", "airlock_operator"):
        someone = await open_as(role)
        await someone.execute("CREATE TEMP TABLE recorders (id bigint)")
        await someone.execute("CREATE TEMP TABLE shadow (LIKE public.playout_as_run)")
        for on, function, when in (
            ("recorders", "airlock_row_deleted()", "AFTER DELETE"),
            ("shadow", "airlock_as_run_row()", "BEFORE INSERT"),
            ("shadow", "airlock_as_run_stored()", "AFTER INSERT"),
        ):
            with pytest.raises(REFUSED):
                await someone.execute(
                    f"CREATE TRIGGER t {when} ON pg_temp.{on} FOR EACH ROW EXECUTE FUNCTION {function}"
                )


async def test_a_temporary_table_never_stands_in_for_one_of_the_plant(
    connection: Connection, open_as: Open, channel: int
) -> None:
    operator = await open_as("airlock_operator")
    await operator.execute("CREATE TEMP TABLE playout_as_run_heads (channel_id bigint primary key, chain_no bigint, "
                           "row_hash text); GRANT ALL ON playout_as_run_heads TO PUBLIC")  # fmt: skip
    await operator.execute("CREATE TEMP TABLE deleted_rows (LIKE public.deleted_rows INCLUDING DEFAULTS); "
                           "GRANT ALL ON pg_temp.deleted_rows TO PUBLIC")  # fmt: skip
    await operator.execute(
        "INSERT INTO public.playout_as_run (channel_id, started_at, ended_at) "
        "VALUES ($1, now() - interval '1s', now())",
        channel,
    )
    assert await connection.fetchval("SELECT chain_no FROM playout_as_run_heads") == 1
    window = await connection.fetchval(
        "INSERT INTO playout_items (channel_id, position, clip_name, path) VALUES ($1, 1, 'a', 'a') RETURNING id",
        channel,
    )
    await operator.execute("DELETE FROM public.playout_items")
    assert (
        await connection.fetchval("SELECT row_id FROM deleted_rows WHERE table_name = 'playout_items'")
        == window
    )


async def test_an_operator_cannot_touch_evidence(connection: Connection, open_as: Open, channel: int) -> None:
    operator = await open_as("airlock_operator")
    add = "INSERT INTO audit_log (who, station, action, subject_kind) VALUES ('bob', 'DESK', 'x', 'y')"
    await operator.execute(add)
    row = await connection.fetchrow("SELECT db_user, at, clock_timestamp() - at AS age FROM audit_log")
    assert row["db_user"] == await operator.fetchval("SELECT session_user")
    assert row["age"].total_seconds() < 5
    for statement in (
        "UPDATE audit_log SET who = 'eve'",
        "DELETE FROM audit_log",
        "TRUNCATE audit_log",
        "INSERT INTO audit_log (who, station, action, subject_kind, at) VALUES ('b', 'D', 'x', 'y', '2001-01-01')",
        "INSERT INTO audit_log (who, station, action, subject_kind, db_user) VALUES ('b', 'D', 'x', 'y', 'eve')",
        "INSERT INTO audit_log (id, who, station, action, subject_kind) OVERRIDING SYSTEM VALUE "
        "VALUES (1000, 'b', 'D', 'x', 'y')",
        "UPDATE playout_as_run_heads SET chain_no = 0",
        "INSERT INTO playout_as_run_heads VALUES (1, 1, '')",
        "DELETE FROM playout_as_run_heads",
        "DELETE FROM playout_as_run",
        "TRUNCATE playout_as_run",
        "INSERT INTO deleted_rows (table_name, row_id) VALUES ('recorders', 1)",
        "SET session_replication_role = replica",
    ):
        await refused(operator, statement)
    await operator.execute("INSERT INTO playout_as_run (channel_id, started_at) VALUES ($1, now())", channel)
    await operator.execute("UPDATE playout_as_run SET ended_at = now() + interval '1s'")
    for statement in (
        "UPDATE playout_as_run SET clip_name = 'another'",
        "UPDATE playout_as_run SET ended_at = NULL",
    ):
        with pytest.raises(asyncpg.PostgresError) as said:
            await operator.execute(statement)
        assert said.value.sqlstate == "AL003"


async def test_the_owner_too_cannot_forge_or_change_the_audit(connection: Connection) -> None:
    await connection.execute(
        "INSERT INTO audit_log (who, station, action, subject_kind, at, db_user) "
        "VALUES ('b', 'D', 'x', 'y', '2001-01-01', 'eve')"
    )
    row = await connection.fetchrow("SELECT at, db_user FROM audit_log")
    assert row["at"] > datetime(2020, 1, 1, tzinfo=UTC) and row["db_user"] == "postgres"
    for statement in ("UPDATE audit_log SET who = 'eve'", "DELETE FROM audit_log", "TRUNCATE audit_log"):
        with pytest.raises(asyncpg.PostgresError, match="audit_log is append-only"):
            await connection.execute(statement)


async def test_operating_is_not_configuring(
    connection: Connection, open_as: Open, recorder: int, channel: int
) -> None:
    operator, engineer = await open_as("airlock_operator"), await open_as("airlock_engineer")
    await operator.execute("UPDATE recorders SET mode = 'manual'")
    await operator.execute("UPDATE playout_channels SET status = 'starting', generation = generation + 1")
    await operator.execute(
        "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) "
        "VALUES ('n', $1, now(), now() + interval '1h')",
        recorder,
    )
    await operator.execute("DELETE FROM recorder_schedules")
    configuring = (
        "UPDATE recorders SET base_url = 'http://evil'",
        "UPDATE recorders SET source = 'other'",
        "UPDATE playout_channels SET output_url = 'udp://other'",
        "INSERT INTO recorders (name, base_url, external_id) VALUES ('REC 2', 'http://y', 'r2')",
        "UPDATE plant SET name = 'Mine'",
        "DELETE FROM playout_channels",
        "DELETE FROM recorders",
    )
    for statement in configuring:
        await refused(operator, statement)
    for statement in configuring:
        await engineer.execute(statement)


async def test_a_station_run_by_an_operator_leads_and_acknowledges(
    connection: Connection, login: Login, eventually: Callable[..., Any]
) -> None:
    station = Station(await login("airlock_operator"), Identity("DESK", "desktop", "Olga"))
    await station.start()
    try:
        assert station.role is Role.OPERATOR
        await eventually(lambda: station.leading and station.feed.state.live, what="the lead")
        await eventually(lambda: len(station.model.stations) == 1, what="the station in the list")
        assert station.leadership.lead is not None
        async with station.leadership.lead.pool.acquire() as acting:
            await raise_alarm(acting, Condition("k", Priority.HIGH, "test", "T", "Something is wrong"))
        await eventually(lambda: station.model.alarms, what="the alarm on the screen")
        await station.commander.do(acknowledge_alarm, next(iter(station.model.alarms)))
        await eventually(
            lambda: next(iter(station.model.alarms.values())).acked_by == "Olga", what="the acknowledgement"
        )
    finally:
        await station.stop()
    audit = await connection.fetchrow("SELECT who, station, action, db_user FROM audit_log")
    assert audit["who"] == "Olga" and audit["station"] == "DESK" and audit["action"] == "acknowledge_alarm"
    assert audit["db_user"].startswith("operator_")
    assert await connection.fetchval("SELECT ended_by FROM leadership") == "left"
    assert await connection.fetchval("SELECT status FROM stations") == "left"


async def test_a_station_run_by_a_viewer_shows_and_does_not_contend(
    connection: Connection, login: Login, eventually: Callable[..., Any], recorder: int
) -> None:
    await raise_alarm(connection, Condition("k", Priority.HIGH, "test", "T", "Something is wrong"))
    station = Station(await login("airlock_viewer"), Identity("WALL", "desktop", "guest"))
    await station.start()
    try:
        assert station.role is Role.VIEWER
        await eventually(lambda: station.feed.state.live, what="a live picture")
        assert station.model.recorders.keys() == {recorder} and len(station.model.alarms) == 1
        assert not station.commander.may(acknowledge_alarm)
        with pytest.raises(NotAllowed, match=r"Acknowledge alarm needs the role Operator; you are Viewer."):
            await station.commander.do(acknowledge_alarm, next(iter(station.model.alarms)))
        await connection.execute("UPDATE recorders SET status = 'idle'")
        await eventually(lambda: station.model.recorders[recorder].status == "idle", what="the change")
        assert not station.leading
        assert await connection.fetchval("SELECT count(*) FROM stations") == 0
        assert await connection.fetchval("SELECT count(*) FROM leadership") == 0
        waiting = (
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = "
            "(SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        assert await connection.fetchval(waiting) == 0
    finally:
        await station.stop()
