"""The fence: once a newer epoch exists, the database refuses everything an older one writes, exactly."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import asyncpg
import pytest

from core.db.database import Connection, Database
from core.leadership import LeaderPool

CONTRACT = {  # SPEC §11
    "nodes", "recorders", "recorder_schedules", "recorder_series", "assets", "playout_channels",
    "playout_items", "playout_as_run", "cron_jobs", "job_runs", "alarms", "audit_log", "stations",
}  # fmt: skip
# leadership is how an epoch is taken; the ledger is written by migrations, before there is a leader;
# the heads of the as-run chain are written by a trigger of a table that is guarded.
UNGUARDED = {"leadership", "schema_migrations", "playout_as_run_heads"}

TABLES = (
    "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') "
    "AND relnamespace = current_schema()::regnamespace"
)
GUARDED = (
    "SELECT c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
    # Before (2) insert, delete, update and truncate (4, 8, 16, 32), for the statement, not disabled.
    "WHERE t.tgname = 'a_fence' AND t.tgtype = 2 + 4 + 8 + 16 + 32 AND t.tgenabled = 'O'"
)
LOCK = "SELECT pg_advisory_lock(8210301)"
TAKE = "SELECT epoch FROM airlock_take_lead('TEST', '2 seconds')"


class Leaders:
    """Epochs taken by hand, and connections born with them."""

    def __init__(self, url: str) -> None:
        self._database = Database(url, "TEST")
        self._opened: list[Connection] = []
        self._lock: Connection | None = None

    async def next_epoch(self) -> int:
        if self._lock is not None:
            await self._lock.close()
        self._lock = await self.connect()
        await self._lock.execute(LOCK)
        epoch: int = await self._lock.fetchval(TAKE)
        return epoch

    async def connect(self, epoch: int | None = None) -> Connection:
        settings = None if epoch is None else {"airlock.epoch": str(epoch)}
        connection = await self._database.connect("test", settings)
        self._opened.append(connection)
        return connection

    async def close(self) -> None:
        for connection in self._opened:
            await connection.close()


@pytest.fixture
async def leaders(plant: str) -> AsyncIterator[Leaders]:
    made = Leaders(plant)
    yield made
    await made.close()


async def test_every_table_of_the_plant_is_guarded(connection: Connection) -> None:
    tables = {r["relname"] for r in await connection.fetch(TABLES)}
    guarded = {r["relname"] for r in await connection.fetch(GUARDED)}
    assert tables >= CONTRACT
    assert tables - guarded == UNGUARDED


async def test_an_old_epoch_is_refused_on_every_guarded_table(
    connection: Connection, leaders: Leaders
) -> None:
    old = await leaders.connect(await leaders.next_epoch())
    new = await leaders.connect(await leaders.next_epoch())
    guarded = [r["relname"] for r in await connection.fetch(GUARDED)]
    assert set(guarded) >= CONTRACT
    for table in guarded:
        column = await connection.fetchval(
            "SELECT column_name FROM information_schema.columns WHERE table_name = $1 "
            "AND is_generated = 'NEVER' AND is_identity = 'NO' ORDER BY ordinal_position LIMIT 1",
            table,
        )
        # No row is touched: the refusal must not depend on finding one.
        update = f"UPDATE {table} SET {column} = {column} WHERE false"
        delete = f"DELETE FROM {table} WHERE false"
        others = (f"INSERT INTO {table} DEFAULT VALUES", f"TRUNCATE {table} CASCADE")
        for statement in (update, delete, *others):
            with pytest.raises(asyncpg.PostgresError) as refused:
                await old.execute(statement)
            assert refused.value.sqlstate == "AL001", f"{statement}: {refused.value}"
        for connection_that_may in (new, connection):
            await connection_that_may.execute(update)
            await connection_that_may.execute(delete)


async def test_a_pooled_connection_keeps_its_epoch_when_it_is_used_again(
    leaders: Leaders, plant: str
) -> None:
    first = await leaders.next_epoch()
    pool = await Database(plant, "TEST").open_pool("leader", 1, {"airlock.epoch": str(first)})
    for _ in range(2):
        async with pool.acquire() as pooled:
            assert await pooled.fetchval("SELECT current_setting('airlock.epoch', true)") == str(first)
            await pooled.execute("DELETE FROM alarms")
    await leaders.next_epoch()
    async with pool.acquire() as pooled:
        with pytest.raises(asyncpg.PostgresError, match="no longer leads") as refused:
            await pooled.execute("DELETE FROM alarms")
        assert refused.value.sqlstate == "AL001"
    await pool.close()


async def test_a_leaders_connections_are_refused_until_they_carry_its_epoch(
    leaders: Leaders, plant: str
) -> None:
    """They are opened before there is an epoch, and more are opened afterwards."""
    write = "DELETE FROM alarms"
    first = await leaders.next_epoch()
    pool = await LeaderPool.open(Database(plant, "TEST"))
    async with pool.connections.acquire() as pooled:
        with pytest.raises(asyncpg.PostgresError, match="no longer leads"):
            await pooled.execute(write)
    await pool.carry(first)
    held = [await pool.connections.acquire() for _ in range(8)]
    for connection in held:
        await connection.execute(write)
    await leaders.next_epoch()
    for connection in held:
        with pytest.raises(asyncpg.PostgresError, match="no longer leads"):
            await connection.execute(write)
        await pool.connections.release(connection)
    await pool.connections.close()


async def test_taking_the_lead_without_the_lock_is_refused(connection: Connection, leaders: Leaders) -> None:
    with pytest.raises(asyncpg.PostgresError) as refused:
        await connection.fetchval(TAKE)
    assert refused.value.sqlstate == "AL002"
    await leaders.next_epoch()
    with pytest.raises(asyncpg.PostgresError) as refused:
        await connection.fetchval(TAKE)
    assert refused.value.sqlstate == "AL002"


@pytest.mark.parametrize("isolation", ["repeatable_read", "serializable"])
async def test_an_old_picture_of_the_plant_does_not_hide_a_newer_epoch(
    leaders: Leaders, isolation: str
) -> None:
    old = await leaders.connect(await leaders.next_epoch())
    writing = old.transaction(isolation=isolation)  # type: ignore[arg-type]
    await writing.start()
    await old.fetchval("SELECT count(*) FROM alarms")  # its picture is taken now
    await leaders.next_epoch()
    with pytest.raises(asyncpg.PostgresError) as refused:
        await old.execute("DELETE FROM alarms")
    assert refused.value.sqlstate == "AL001"
    await writing.rollback()


async def test_a_write_past_the_fence_holds_up_the_next_epoch(
    connection: Connection, leaders: Leaders
) -> None:
    old = await leaders.connect(await leaders.next_epoch())
    writing = old.transaction()
    await writing.start()
    await old.execute(
        "INSERT INTO alarms (key, priority, source_kind, message) VALUES ('k', 'low', 't', 'm')"
    )
    taking = asyncio.create_task(leaders.next_epoch())
    waits = "SELECT count(*) FROM pg_locks WHERE objid = 8210302 AND locktype = 'advisory' AND NOT granted"
    async with asyncio.timeout(5):
        while not await connection.fetchval(waits):
            assert not taking.done()
    await old.execute("UPDATE alarms SET message = 'n'")
    await writing.commit()
    epoch = await taking
    committed = await connection.fetchval("SELECT last_raised_at FROM alarms WHERE message = 'n'")
    acquired = await connection.fetchval("SELECT acquired_at FROM leadership WHERE epoch = $1", epoch)
    assert committed < acquired
    with pytest.raises(asyncpg.PostgresError, match="no longer leads"):
        await old.execute("UPDATE alarms SET message = 'too late'")


async def test_no_interleaving_of_writers_and_epochs_lets_an_old_write_through(
    connection: Connection, leaders: Leaders
) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    await connection.execute(
        "CREATE TABLE written (id bigint GENERATED ALWAYS AS IDENTITY, epoch bigint, at timestamptz); "
        "CALL airlock_guard('written')"
    )
    insert = (
        "INSERT INTO written (epoch, at) VALUES (current_setting('airlock.epoch')::bigint, clock_timestamp())"
    )

    async def write_until_refused(writer: Connection) -> None:
        while True:
            try:
                if chance.random() < 0.5:
                    await writer.execute(insert)
                else:
                    async with writer.transaction():
                        await writer.execute("SELECT 1")
                        await asyncio.sleep(chance.uniform(0, 0.01))
                        await writer.execute(insert)
                        await asyncio.sleep(chance.uniform(0, 0.01))
                        await writer.execute(insert)
            except asyncpg.PostgresError as error:
                if error.sqlstate != "AL001":
                    raise
                return

    writers: list[asyncio.Task[None]] = []
    for _ in range(25):
        epoch = await leaders.next_epoch()
        for _ in range(2):
            writers.append(asyncio.create_task(write_until_refused(await leaders.connect(epoch))))
        await asyncio.sleep(chance.uniform(0, 0.03))
    await leaders.next_epoch()
    async with asyncio.timeout(20):  # a writer that is never refused would go on for ever
        await asyncio.gather(*writers)

    late = await connection.fetch(
        "SELECT w.* FROM written w JOIN leadership l ON l.epoch = w.epoch + 1 WHERE w.at >= l.acquired_at"
    )
    mixed = await connection.fetch(
        "WITH in_order AS (SELECT epoch, lag(epoch) OVER (ORDER BY at) AS before FROM written) "
        "SELECT * FROM in_order WHERE before > epoch"
    )
    assert not late and not mixed, f"seed {seed}"
    assert await connection.fetchval("SELECT count(DISTINCT epoch) FROM written") > 5
