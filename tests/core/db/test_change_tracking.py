"""What a change does to its row's version, and whom it wakes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from core.alarms.model import Condition, Priority
from core.alarms.store import clear_alarm, raise_alarm
from core.db.database import Connection
from core.read_model import TABLES

ROWS = {
    "stations": "INSERT INTO stations (name, kind, host, pid, instance, version, role, status) "
    "VALUES ('S', 'desktop', 'h', 1, gen_random_uuid(), '1', 'operator', 'online')",
    "alarms": "INSERT INTO alarms (key, priority, source_kind, message) VALUES ('k', 'low', 's', 'm')",
    "nodes": "INSERT INTO nodes (name, base_url, status) VALUES ('N', 'http://n', 'online')",
    "recorders": "INSERT INTO recorders (name, base_url, external_id) VALUES ('R', 'http://r', 'r')",
    "recorder_series": "INSERT INTO recorder_series (name, recorder_id, cron, timezone, duration) "
    "SELECT 's', id, '0 0 * * *', 'UTC', '1h' FROM recorders",
    "recorder_schedules": "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) "
    "SELECT 'w', id, now(), now() + interval '1h' FROM recorders",
    "assets": "INSERT INTO assets (display_name, path) VALUES ('a', 'p')",
    "playout_channels": "INSERT INTO playout_channels (name, output_type, output_url, status) "
    "VALUES ('C', 'udp', 'udp://c', 'running')",
    "playout_items": "INSERT INTO playout_items (channel_id, position, clip_name, path) "
    "SELECT id, 1, 'c', 'p' FROM playout_channels",
    "cron_jobs": "INSERT INTO cron_jobs (name, cron, handler) VALUES ('j', '* * * * *', 'h')",
}
QUIET = {
    "stations": "last_seen_at = clock_timestamp(), rtt_ms = random(), clock_offset_ms = random(), loop_lag_ms = 1",
    "nodes": "last_heartbeat_at = clock_timestamp(), volumes = jsonb_build_array(random())",
    "recorder_schedules": "claim_token = gen_random_uuid(), epoch = 3",
    "assets": "size_bytes = size_bytes + 1, last_growth_at = clock_timestamp(), duration_s = random()",
    "playout_channels": "last_heartbeat_at = clock_timestamp(), heartbeat_ms = random(), event_seq = event_seq + 1",
}
RUNTIME = {
    "alarms": "count = count + 1, last_raised_at = clock_timestamp(), cleared_at = clock_timestamp()",
    "nodes": "status = 'draining', version = version || 'x', error_message = 'x'",
    "recorders": "status = 'error', current_session_id = 's', signal = '{\"a\": 1}', error_message = 'x'",
    "recorder_series": "planned_until = now(), error_message = 'x'",
    "recorder_schedules": "session_id = 's', started_at = now(), error_message = 'x'",
    "assets": "status = 'ready', error_message = 'x', meta = '{\"a\": 1}', sync_status = 'pending'",
    "playout_channels": "status = 'error', generation = generation + 1, misses = 3, error_message = 'x'",
    "cron_jobs": "next_plan_at = now(), last_plan_at = now(), error_message = 'x'",
}
EDIT = {
    "stations": "operator = 'Bob'",
    "alarms": "acked_at = now(), acked_by = 'Bob'",
    "nodes": "base_url = 'http://other'",
    "recorders": "mode = 'manual'",
    "recorder_series": "cron = '1 1 * * *'",
    "recorder_schedules": "end_at = end_at + interval '1 minute'",
    "assets": "display_name = 'b'",
    "playout_channels": "title = 'b'",
    "playout_items": "clip_name = 'b'",
    "cron_jobs": "enabled = false",
}


class Ear:
    """Listens as a station does."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.heard: list[str] = []

    async def listen(self) -> list[str]:
        # A notification of an earlier commit arrives before the answer to a later question.
        await self.connection.fetchval("SELECT 1")
        await asyncio.sleep(0)
        heard, self.heard = self.heard, []
        return heard


@pytest.fixture
async def ear(plant: str) -> AsyncIterator[Ear]:
    connection = await asyncpg.connect(plant)
    listening = Ear(connection)
    await connection.add_listener(
        "airlock", lambda c, pid, channel, payload: listening.heard.append(str(payload))
    )
    yield listening
    await connection.close()


@pytest.fixture(autouse=True)
async def rows(connection: Connection) -> None:
    for statement in ROWS.values():
        await connection.execute(statement)


async def mark(connection: Connection, table: str) -> asyncpg.Record:
    row = await connection.fetchrow(f"SELECT row_version, changed_xid, updated_at FROM {table}")
    assert row is not None
    return row


def test_every_table_of_the_read_model_is_covered() -> None:
    assert {t.name for t in TABLES} <= ROWS.keys() and EDIT.keys() == ROWS.keys()


async def test_quiet_changes_wake_nobody(connection: Connection, ear: Ear) -> None:
    await ear.listen()
    for table, change in QUIET.items():
        before = await mark(connection, table)
        await connection.execute(f"UPDATE {table} SET {change}")
        assert await mark(connection, table) == before, table
        assert await ear.listen() == [], table


async def test_changes_that_change_nothing_wake_nobody(connection: Connection, ear: Ear) -> None:
    await ear.listen()
    for table in ROWS:
        before = await mark(connection, table)
        await connection.execute(f"UPDATE {table} SET updated_at = now(), row_version = 7, changed_xid = '1'")
        assert await mark(connection, table) == before, f"{table}: a client set what is the database's to set"
        assert await ear.listen() == [], table


async def test_what_happens_by_itself_is_shown_but_is_no_edit(connection: Connection, ear: Ear) -> None:
    await ear.listen()
    for table, change in RUNTIME.items():
        before = await mark(connection, table)
        await connection.execute(f"UPDATE {table} SET {change}")
        after = await mark(connection, table)
        assert after["row_version"] == before["row_version"], table
        assert after["changed_xid"] > before["changed_xid"], table
        assert after["updated_at"] > before["updated_at"], table
        assert await ear.listen() == [table]


async def test_an_edit_raises_the_version(connection: Connection, ear: Ear) -> None:
    await ear.listen()
    for table, change in EDIT.items():
        before = await mark(connection, table)
        await connection.execute(f"UPDATE {table} SET {change}")
        after = await mark(connection, table)
        assert after["row_version"] == before["row_version"] + 1, table
        assert after["changed_xid"] > before["changed_xid"], table
        # An edit of a playlist raises its number, which stands in its channel.
        also = ["playout_channels"] if table == "playout_items" else []
        assert await ear.listen() == [table, *also]


async def test_a_new_row_begins_at_one_whatever_the_client_says(connection: Connection) -> None:
    row = await connection.fetchrow(
        "INSERT INTO nodes (name, base_url, row_version, changed_xid, updated_at) "
        "VALUES ('M', 'x', 9, '5', '2001-01-01') RETURNING row_version, changed_xid, updated_at, now() AS now, "
        "pg_current_xact_id() AS mine"
    )
    assert row["row_version"] == 1 and row["changed_xid"] == row["mine"]
    assert abs((row["updated_at"] - row["now"]).total_seconds()) < 5


async def test_quiet_columns_speak_up_where_nobody_looks_at_them(connection: Connection, ear: Ear) -> None:
    """The feed reads heartbeats of what is running only: a change elsewhere must be announced, or is never seen."""
    for table, status in (
        ("stations", "left"), ("nodes", "offline"), ("assets", "ready"), ("playout_channels", "stopped"),
    ):  # fmt: skip
        await connection.execute(f"UPDATE {table} SET status = $1", status)
        before = await mark(connection, table)
        await ear.listen()
        await connection.execute(f"UPDATE {table} SET {QUIET[table]}")
        assert await ear.listen() == [table]
        assert (await mark(connection, table))["row_version"] == before["row_version"]


async def test_one_wake_up_per_table_and_transaction(connection: Connection, ear: Ear) -> None:
    await ear.listen()
    async with connection.transaction():
        for n in range(300):
            await connection.execute("INSERT INTO nodes (name, base_url) VALUES ($1, 'x')", f"n{n}")
        await connection.execute("UPDATE nodes SET base_url = 'y'")
        async with connection.transaction():
            await connection.execute("UPDATE nodes SET base_url = 'z'")
            await connection.execute("UPDATE recorders SET mode = 'manual'")
        await connection.execute("DELETE FROM nodes WHERE name LIKE 'n%'")
        assert await ear.listen() == []
    assert sorted(await ear.listen()) == ["nodes", "recorders"]


async def test_a_change_after_a_rolled_back_one_is_announced(connection: Connection, ear: Ear) -> None:
    await ear.listen()
    async with connection.transaction():
        part = connection.transaction()
        await part.start()
        await connection.execute("UPDATE nodes SET base_url = 'y'")
        await part.rollback()
        await connection.execute("UPDATE nodes SET base_url = 'z'")
    assert await ear.listen() == ["nodes"]
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("UPDATE nodes SET base_url = 'never'")
    await transaction.rollback()
    assert await ear.listen() == []


async def test_an_alarm_that_is_looked_at_again_and_again_wakes_nobody(
    connection: Connection, ear: Ear
) -> None:
    """ON CONFLICT runs the triggers of an INSERT that never happens."""
    condition = Condition("disk", Priority.LOW, "node", "N", "Disk is getting full")
    await raise_alarm(connection, condition, repeat=False)
    assert await ear.listen() == ["alarms"]
    for _ in range(3):
        await raise_alarm(connection, condition, repeat=False)
        await clear_alarm(connection, "something else")
    assert await ear.listen() == []
    await raise_alarm(connection, condition)
    assert await ear.listen() == ["alarms"]


async def test_deleted_and_truncated_rows_leave_tombstones(connection: Connection, ear: Ear) -> None:
    await connection.execute(
        "INSERT INTO playout_items (channel_id, position, clip_name, path) "
        "SELECT id, n, 'c', 'p' FROM playout_channels, generate_series(2, 9) n"
    )
    everyone = {r["id"] for r in await connection.fetch("SELECT id FROM playout_items")}
    await connection.execute("DELETE FROM playout_items WHERE position = 3")
    await ear.listen()
    await connection.execute("TRUNCATE playout_items")
    assert await ear.listen() == ["playout_items"]
    buried = await connection.fetch("SELECT row_id FROM deleted_rows WHERE table_name = 'playout_items'")
    assert sorted(r["row_id"] for r in buried) == sorted(everyone)


async def test_evidence_and_leadership_wake_the_stations_too(connection: Connection, ear: Ear) -> None:
    await ear.listen()
    await connection.execute(
        "INSERT INTO audit_log (who, station, action, subject_kind) VALUES ('a', 'b', 'c', 'd')"
    )
    assert await ear.listen() == ["audit_log"]
    await connection.execute(
        "INSERT INTO playout_as_run (channel_id, started_at) SELECT id, now() FROM playout_channels"
    )
    assert await ear.listen() == ["playout_as_run"]
    await connection.execute("SELECT pg_advisory_lock(8210301); SELECT airlock_take_lead('S', '1s')")
    assert await ear.listen() == ["leadership"]


async def test_a_leader_cannot_write_from_an_old_picture(connection: Connection) -> None:
    """In repeatable read the fence would look at a snapshot that is older than the new epoch."""
    await connection.execute("SELECT pg_advisory_lock(8210301)")
    epoch = await connection.fetchval("SELECT epoch FROM airlock_take_lead('S', '1s')")
    await connection.execute("SELECT set_config('airlock.epoch', $1, false)", str(epoch))
    await connection.execute("UPDATE nodes SET base_url = 'fine'")
    with pytest.raises(asyncpg.PostgresError) as said:
        async with connection.transaction(isolation="repeatable_read"):
            await connection.execute("UPDATE nodes SET base_url = 'old'")
    assert said.value.sqlstate == "AL001"
