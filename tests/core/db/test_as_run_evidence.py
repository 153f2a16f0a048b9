"""The as-run log: never two at once, never backwards, and whoever tampers with it is found out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from core.db.database import Connection

NOON = datetime(2030, 5, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
CLOSED = (
    "INSERT INTO playout_as_run (channel_id, started_at, ended_at, clip_name, generation, event_seq) "
    "VALUES ($1, $2, $3, $4, 1, $5)"
)


async def play(connection: Connection, channel: int, count: int, first: int = 0) -> None:
    for n in range(first, first + count):
        start = NOON + n * SECOND
        await connection.execute(CLOSED, channel, start, start + SECOND, f"clip {n}", n)


async def verify(connection: Connection, channel: int) -> str | None:
    found = await connection.fetch("SELECT * FROM airlock_as_run_verify($1)", channel)
    assert len(found) <= 1
    return found[0]["finding"] if found else None


@pytest.fixture
async def forger(plant: str) -> AsyncIterator[Connection]:
    """A superuser who switches the triggers off."""
    connection = await asyncpg.connect(plant)
    await connection.execute("SET session_replication_role = replica")
    yield connection
    await connection.close()


async def test_one_open_row_and_no_overlap_per_channel(connection: Connection, channel: int) -> None:
    start = "INSERT INTO playout_as_run (channel_id, started_at) VALUES ($1, $2)"
    await connection.execute(start, channel, NOON)
    for at in (NOON + SECOND, NOON - SECOND):
        with pytest.raises((asyncpg.UniqueViolationError, asyncpg.ExclusionViolationError)):
            await connection.execute(start, channel, at)
    with pytest.raises(asyncpg.ExclusionViolationError):
        await connection.execute(CLOSED, channel, NOON + SECOND, NOON + 2 * SECOND, "x", 1)
    with pytest.raises(asyncpg.CheckViolationError) as said:
        await connection.execute("UPDATE playout_as_run SET ended_at = started_at - interval '1us'")
    assert said.value.constraint_name == "as_run_not_negative"
    await connection.execute("UPDATE playout_as_run SET ended_at = $1", NOON + 10 * SECOND)
    with pytest.raises(asyncpg.ExclusionViolationError) as overlap:
        await connection.execute(start, channel, NOON + 9 * SECOND)
    assert overlap.value.constraint_name == "as_run_no_overlap"
    await connection.execute(start, channel, NOON + 10 * SECOND)
    assert await verify(connection, channel) is None


async def test_the_database_reckons_duration_number_and_hash_itself(
    connection: Connection, channel: int
) -> None:
    await connection.execute(
        "INSERT INTO playout_as_run (channel_id, started_at, ended_at, duration_s, chain_no, row_hash) "
        "VALUES ($1, $2, $3, 99, 77, 'mine')",
        channel,
        NOON,
        NOON + 1.5 * SECOND,
    )
    row = await connection.fetchrow("SELECT duration_s, chain_no, row_hash FROM playout_as_run")
    assert row["duration_s"] == 1.5 and row["chain_no"] == 1 and len(row["row_hash"]) == 64


async def test_a_row_can_be_closed_and_nothing_else(connection: Connection, channel: int) -> None:
    await connection.execute(
        "INSERT INTO playout_as_run (channel_id, started_at) VALUES ($1, $2)", channel, NOON
    )
    with pytest.raises(asyncpg.PostgresError, match="can only be closed"):
        await connection.execute("UPDATE playout_as_run SET started_at = started_at + interval '1s'")
    with pytest.raises(asyncpg.PostgresError, match="is evidence"):
        await connection.execute("DELETE FROM playout_as_run")
    await connection.execute("UPDATE playout_as_run SET ended_at = $1, result = 'skipped'", NOON + SECOND)
    for change in (
        "result = 'played'",
        "ended_at = NULL",
        "clip_name = 'x'",
        "row_hash = ''",
        "id = DEFAULT",
    ):
        with pytest.raises(asyncpg.PostgresError, match="is evidence"):
            await connection.execute(f"UPDATE playout_as_run SET {change}")
    with pytest.raises(asyncpg.PostgresError, match=r"is evidence|append-only"):
        await connection.execute("TRUNCATE playout_as_run")


async def test_an_event_reported_twice_is_logged_once_and_leaves_no_gap(
    connection: Connection, channel: int
) -> None:
    """The trigger runs for a row that ON CONFLICT throws away: the chain must not count it."""
    await play(connection, channel, 2)
    again = f"{CLOSED} ON CONFLICT DO NOTHING"
    await connection.execute(again, channel, NOON, NOON + SECOND, "clip 0", 0)  # the same event
    await connection.execute(again, channel, NOON + SECOND / 2, NOON + SECOND, "clip 9", 9)  # the same time
    await play(connection, channel, 1, first=2)
    assert await connection.fetchval("SELECT array_agg(chain_no ORDER BY chain_no) FROM playout_as_run") == [
        1,
        2,
        3,
    ]
    assert await verify(connection, channel) is None


async def test_many_rows_in_one_statement_are_one_chain(connection: Connection, channel: int) -> None:
    await connection.execute(
        "INSERT INTO playout_as_run (channel_id, started_at, ended_at) "
        "SELECT $1, $2::timestamptz + n * interval '1s', $2::timestamptz + (n + 1) * interval '1s' "
        "FROM generate_series(0, 49) n",
        channel,
        NOON,
    )
    await connection.execute(
        "INSERT INTO playout_as_run (channel_id, started_at) VALUES ($1, $2)", channel, NOON + 50 * SECOND
    )
    # Closing one, logging a short one and opening the next, as the probe does, is one statement.
    await connection.execute(
        "WITH closed AS (UPDATE playout_as_run SET ended_at = $2 WHERE channel_id = $1 AND ended_at IS NULL "
        "RETURNING 1), short AS (INSERT INTO playout_as_run (channel_id, started_at, ended_at) "
        "SELECT $1, $2::timestamptz, $3::timestamptz FROM closed RETURNING 1) SELECT count(*) FROM short",
        channel,
        NOON + 60 * SECOND,
        NOON + 61 * SECOND,
    )
    assert await connection.fetchval("SELECT max(chain_no) FROM playout_as_run") == 52
    assert await verify(connection, channel) is None


async def test_two_writers_at_once_are_one_chain(connection: Connection, plant: str, channel: int) -> None:
    other = await asyncpg.connect(plant)

    async def write(writer: Connection, offset: int) -> None:
        for n in range(offset, 40, 2):
            start = NOON + n * SECOND
            async with writer.transaction():
                await writer.execute(CLOSED, channel, start, start + SECOND, "x", n)
                if n % 5 == 0:
                    await asyncio.sleep(0.002)

    await asyncio.gather(write(connection, 0), write(other, 1))
    await other.close()
    assert await connection.fetchval("SELECT count(*) FROM playout_as_run") == 40
    assert await verify(connection, channel) is None


async def test_a_rolled_back_row_leaves_no_gap(connection: Connection, channel: int) -> None:
    await play(connection, channel, 1)
    transaction = connection.transaction()
    await transaction.start()
    await play(connection, channel, 1, first=1)
    await transaction.rollback()
    await play(connection, channel, 1, first=2)
    assert await verify(connection, channel) is None


CHANGES = (
    "clip_name = 'another'",
    "clip_name = NULL",
    "clip_name = '-'",
    "started_at = started_at + interval '1us'",
    "ended_at = ended_at - interval '1us', duration_s = duration_s - 0.000001",
    "duration_s = 3600",
    "result = 'failed'",
    "asset_id = 1",
    "item_id = 1",
    "node_id = 1",
    "generation = 2",
    "event_seq = 77",
    "row_hash = repeat('0', 64)",
)


async def test_verify_names_a_row_that_was_changed(
    connection: Connection, forger: Connection, channel: int
) -> None:
    await play(connection, channel, 5)
    for change in CHANGES:
        forging = forger.transaction()
        await forging.start()
        changed = await forger.fetchval(f"UPDATE playout_as_run SET {change} WHERE chain_no = 3 RETURNING id")
        assert await verify(forger, channel) == f"row {changed} was changed after it was closed", change
        await forging.rollback()
    assert await verify(connection, channel) is None


async def test_no_name_and_a_dash_are_not_the_same(
    connection: Connection, forger: Connection, channel: int
) -> None:
    await connection.execute(CLOSED, channel, NOON, NOON + SECOND, None, 1)
    changed = await forger.fetchval("UPDATE playout_as_run SET clip_name = '-' RETURNING id")
    assert await verify(connection, channel) == f"row {changed} was changed after it was closed"


MISSING = {
    "DELETE FROM playout_as_run WHERE chain_no = 3": "row 3 of the chain is missing",
    "DELETE FROM playout_as_run WHERE chain_no = 1": "row 1 of the chain is missing",
    "DELETE FROM playout_as_run WHERE chain_no > 3": "2 row(s) at the end of the chain are missing",
    "DELETE FROM playout_as_run": "5 row(s) at the end of the chain are missing",
    "UPDATE playout_as_run SET chain_no = NULL WHERE chain_no = 3": "row 3 of the chain is missing",
    "DELETE FROM playout_as_run_heads": "the end of the chain is not the one that was recorded apart",
    "UPDATE playout_as_run_heads SET row_hash = ''": "the end of the chain is not the one that was recorded apart",
}


async def test_verify_finds_what_is_missing(connection: Connection, forger: Connection, channel: int) -> None:
    await play(connection, channel, 5)
    for tampering, finding in MISSING.items():
        forging = forger.transaction()
        await forging.start()
        await forger.execute(tampering)
        assert await verify(forger, channel) == finding, tampering
        await forging.rollback()
    assert await verify(connection, channel) is None


async def test_a_cut_tail_stays_visible_when_the_channel_plays_on(
    connection: Connection, forger: Connection, channel: int
) -> None:
    await play(connection, channel, 5)
    await forger.execute("DELETE FROM playout_as_run WHERE chain_no = 5")
    await play(connection, channel, 2, first=5)
    assert await verify(connection, channel) == "row 5 of the chain is missing"


async def test_verify_finds_rows_put_in_another_order(
    connection: Connection, forger: Connection, channel: int
) -> None:
    await play(connection, channel, 5)
    ids = {r["chain_no"]: r["id"] for r in await connection.fetch("SELECT id, chain_no FROM playout_as_run")}
    for chain_no, row in ((100, ids[2]), (2, ids[3]), (3, ids[2])):
        await forger.execute("UPDATE playout_as_run SET chain_no = $1 WHERE id = $2", chain_no, row)
    assert await verify(connection, channel) == f"row {ids[3]} was changed after it was closed"


async def test_verify_finds_a_row_that_was_added(
    connection: Connection, forger: Connection, channel: int
) -> None:
    await play(connection, channel, 3)
    added = await forger.fetchval(
        "INSERT INTO playout_as_run (channel_id, started_at, ended_at, duration_s, row_hash) "
        "VALUES ($1, $2, $3, 1, 'x') RETURNING id",
        channel,
        NOON + 100 * SECOND,
        NOON + 101 * SECOND,
    )
    assert await verify(connection, channel) == f"row {added} was added outside the chain"


async def test_each_channel_has_a_chain_of_its_own(
    connection: Connection, forger: Connection, channel: int
) -> None:
    other = await connection.fetchval(
        "INSERT INTO playout_channels (name, output_type, output_url) VALUES ('TWO', 'udp', 'udp://y') RETURNING id"
    )
    await play(connection, channel, 3)
    await play(connection, other, 3)
    await forger.execute("UPDATE playout_as_run SET result = 'failed' WHERE channel_id = $1", channel)
    assert await verify(connection, channel) is not None
    assert await verify(connection, other) is None
    assert await verify(connection, 4711) is None
