"""The schema comes up on every PostgreSQL, once, whole or not at all, and says so when it cannot."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Callable
from typing import Any

import asyncpg
import pytest

from core.db import migrate as migrate_module
from core.db.database import Connection, Database
from core.db.migrate import Migration, migrate, migrations, version_of
from core.errors import DatabaseLost, SchemaError
from core.roles import Role
from core.station import Identity, Station
from tests.core.db.conftest import ROLES, MakeDatabase, as_user

CONTRACT = {
    "nodes": "id name base_url capabilities status last_heartbeat_at",
    "recorders": "id name node_id base_url external_id source status mode current_session_id error_message",
    "recorder_schedules": "id name recorder_id start_at end_at recurrence series_id plan_time status attempt "
    "claim_token epoch started_at stopped_at last_asset_id error_message source updated_at",
    "recorder_series": "id name recorder_id cron timezone duration first_day last_day skips enabled",
    "assets": "id display_name path status recorder_id schedule_id size_bytes last_growth_at sync_status "
    "sync_attempts sync_next_attempt_at created_at",
    "playout_channels": "id name output_type output_url node_id sidecar_url status generation last_heartbeat_at "
    "misses restart_count error_message updated_at",
    "playout_items": "id channel_id position asset_id clip_name path duration_s",
    "playout_as_run": "id channel_id asset_id item_id clip_name started_at ended_at duration_s result node_id "
    "event_seq row_hash",
    "leadership": "epoch station acquired_at released_at",
    "cron_jobs": "id",
    "job_runs": "id",
    "alarms": "id",
    "audit_log": "id",
    "stations": "id",
}


async def open_one(url: str) -> Connection:
    return await Database(url, "test").connect("test")


async def tables(connection: Connection) -> set[str]:
    found = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return {row["tablename"] for row in found}


async def test_a_fresh_database_gets_the_whole_contract_and_only_once(make_anywhere: MakeDatabase) -> None:
    connection = await open_one(await make_anywhere())
    assert [m.version for m in await migrate(connection)] == [m.version for m in migrations()]
    assert await migrate(connection) == []
    assert await version_of(connection) == migrations()[-1].version
    columns = await connection.fetch(
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
    )
    found = {(c["table_name"], c["column_name"]): c["data_type"] for c in columns}
    assert not [(t, c) for t, names in CONTRACT.items() for c in names.split() if (t, c) not in found]
    times = {key: kind for key, kind in found.items() if key[1].endswith("_at")}
    assert set(times.values()) == {"timestamp with time zone"}
    assert {kind for key, kind in found.items() if key[1] in ("id", "epoch")} == {"bigint"}
    assert await connection.fetchval("SHOW lock_timeout") == "5s", "the ordinary limits are back in force"
    await connection.close()


async def test_three_stations_at_once_on_an_empty_database(make_database: MakeDatabase) -> None:
    url = await make_database()
    connections = [await open_one(url) for _ in range(3)]
    done = await asyncio.gather(*(migrate(c) for c in connections))
    assert sorted(len(d) for d in done) == [0, 0, len(migrations())]
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
    assert await connections[0].fetchval(locks) == 0
    for connection in connections:
        await connection.close()


@pytest.mark.parametrize(
    "made, under_way",
    [("SELECT 1", "CREATE ROLE airlock_viewer"), ("CREATE ROLE airlock_viewer; CREATE ROLE airlock_operator; "
     "CREATE ROLE airlock_engineer", "GRANT airlock_viewer TO airlock_operator")],
    ids=["role", "membership"],
)  # fmt: skip
async def test_two_plants_of_one_server_at_once(
    make_anywhere: MakeDatabase, any_server: str, eventually: Callable[..., Any], made: str, under_way: str
) -> None:
    # The roles belong to the server, so two plants get in each other's way where no lock of a plant reaches.
    other_plant, watching = await asyncpg.connect(any_server), await asyncpg.connect(any_server)
    await other_plant.execute(made)
    connection = await open_one(await make_anywhere())
    async with other_plant.transaction():
        await other_plant.execute(under_way)
        migrating = asyncio.create_task(migrate(connection))
        waits = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1"
        while not await watching.fetchval(waits, connection.get_server_pid()):
            assert not migrating.done()
            await asyncio.sleep(0.01)
    await migrating
    assert await connection.fetchval("SELECT has_table_privilege('airlock_viewer', 'plant', 'SELECT')")
    for opened in (connection, other_plant, watching):
        await opened.close()


@pytest.mark.parametrize("on_empty", [True, False])
async def test_a_migration_that_fails_leaves_nothing_behind(
    make_database: MakeDatabase, on_empty: bool
) -> None:
    url = await make_database()
    connection = await open_one(url)
    good = [] if on_empty else migrations()
    await migrate(connection, good) if good else None
    before = await tables(connection)
    broken = Migration(len(good) + 1, "broken", "CREATE TABLE half (id int); SELECT 1 / 0")
    with pytest.raises(SchemaError) as said:
        await migrate(connection, [*good, broken])
    number = len(good) + 1
    assert str(said.value) == (
        f"Change {number} of the database's tables (broken) failed and left nothing behind: division by zero."
    )
    assert await tables(connection) == before
    assert await version_of(connection) == len(good)
    other = await open_one(url)
    await migrate(other)  # the lock is free again
    await connection.close()
    await other.close()


async def test_a_migration_interrupted_by_the_database_is_a_lost_database(
    make_database: MakeDatabase,
) -> None:
    connection = await open_one(await make_database())
    with pytest.raises(DatabaseLost, match=r"The database was lost while .*\.$"):
        await migrate(connection, [Migration(1, "cut", "SELECT pg_terminate_backend(pg_backend_pid())")])


async def test_a_migration_that_another_station_holds_up_says_so(
    make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = await make_database()
    busy, waiting = await open_one(url), await open_one(url)
    await busy.execute(migrate_module.SQL.lock)
    patience = migrate_module.SQL.patience.replace("'120s'", "'50ms'")
    monkeypatch.setitem(migrate_module.SQL._statements, "patience", patience)
    with pytest.raises(SchemaError, match=r"Another station has been changing the database's tables"):
        await migrate(waiting)
    await busy.close()
    await waiting.close()


async def test_a_schema_newer_than_the_program_is_refused(make_database: MakeDatabase) -> None:
    url = await make_database()
    connection = await open_one(url)
    await migrate(connection)
    await connection.execute("INSERT INTO schema_migrations (version, name) VALUES (99, 'future')")
    await connection.execute("CREATE ROLE looker LOGIN IN ROLE airlock_viewer")
    looker = await open_one(as_user(url, "looker"))
    try:
        for asking in (connection, looker):
            with pytest.raises(SchemaError) as said:
                await migrate(asking)
            assert re.fullmatch(
                r"The database was made by a newer Airlock \(version 99 of its tables, this program knows \d+\): "
                r"update this program\.",
                str(said.value),
            )
    finally:
        await looker.close()
        await connection.execute("DROP ROLE looker")
        await connection.close()


@pytest.mark.parametrize("shut", [False, True], ids=["may look", "may not even look"])
async def test_a_login_without_rights_is_told_what_is_missing(
    make_anywhere: MakeDatabase, shut: bool
) -> None:
    url = await make_anywhere()
    owner = await open_one(url)
    name = f"nobody_{uuid.uuid4().hex[:8]}"
    await owner.execute(f"CREATE ROLE {name} LOGIN")
    if shut:
        await owner.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
    nobody = await open_one(as_user(url, name))
    try:
        with pytest.raises(
            SchemaError, match=r"this login may not make them: start Airlock once as the owner"
        ):
            await migrate(nobody)
        await migrate(owner)
        with pytest.raises(SchemaError, match=r"login may not (read the plant|make them): .*\.$"):
            await migrate(nobody)
    finally:
        await nobody.close()
        await owner.execute(f"DROP ROLE {name}")
        await owner.close()


async def test_an_ordinary_owner_without_createrole(
    make_anywhere: MakeDatabase, any_server: str, eventually: Callable[..., Any]
) -> None:
    """No roles: the plant works for its owner. Roles made later by an administrator get their rights."""
    url = await make_anywhere("NOCREATEROLE")
    station = Station(url, Identity("OWNER", "headless", "op"))
    await station.start()
    assert station.role is Role.ENGINEER
    await eventually(lambda: station.leading and station.feed.state.live, what="the lead and a live picture")
    connection = await open_one(url)
    assert await connection.fetchval("SELECT to_regrole('airlock_viewer')") is None
    public = "SELECT has_function_privilege('public', 'airlock_depose(interval)', 'EXECUTE')"
    assert await connection.fetchval(public) is False, "open to everybody until the roles exist"
    await station.stop()

    admin = await asyncpg.connect(any_server)
    for role in ROLES:
        await admin.execute(f"CREATE ROLE {role} NOLOGIN")
    await admin.execute("CREATE ROLE alice LOGIN IN ROLE airlock_operator")
    # Several stations start after that: they must not trip over each other.
    starting = [await open_one(url) for _ in range(4)]
    await asyncio.gather(*(migrate(c) for c in starting))
    alice = await open_one(as_user(url, "alice"))
    try:
        assert await migrate(alice) == []
        await alice.execute("UPDATE recorders SET mode = 'auto'")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await alice.execute("UPDATE plant SET name = 'x'")
    finally:
        for opened in (alice, connection, *starting):
            await opened.close()
        await admin.execute("DROP ROLE alice")
        await admin.close()


async def test_an_ordinary_owner_with_createrole_makes_the_roles(make_anywhere: MakeDatabase) -> None:
    connection = await open_one(await make_anywhere("CREATEROLE"))
    await migrate(connection)
    member = "SELECT pg_has_role($1, $2, 'MEMBER')"
    assert await connection.fetchval(member, "airlock_engineer", "airlock_operator")
    assert await connection.fetchval(member, "airlock_operator", "airlock_viewer")
    assert not await connection.fetchval(member, "airlock_viewer", "airlock_operator")
    assert await connection.fetchval("SELECT has_table_privilege('airlock_viewer', 'plant', 'SELECT')")
    await connection.close()


def test_the_programs_own_files_are_checked(tmp_path: Any) -> None:
    (tmp_path / "0001_a.sql").write_text("SELECT 1")
    (tmp_path / "0003_c.sql").write_text("SELECT 1")
    for folder in (tmp_path, tmp_path / "empty"):
        with pytest.raises(SchemaError, match="reinstall Airlock"):
            migrations(folder)
