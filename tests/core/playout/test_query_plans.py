"""What playout asks costs the same however long the as-run log is: each statement looks only at the rows it needs.

Explained and run on a filled table, planned for its arguments and planned once for all; see the recordings' twin.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from core.db.database import Connection, Database
from core.playout import as_run_anchors, as_run_log, store
from core.read_model import TABLES
from tests.conftest import database_url
from tests.core.recording.test_query_plans import literal, looked_at

ROWS, CHANNELS, MOST_ROWS = 60_000, 10, 1000
LARGE = ("playout_as_run", "playout_placements", "playout_items")

# Channel 10 was on air long ago only: looking for it among all others' rows is where a wrong index costs the most.
FILL = f"""
SET session_replication_role = replica;
ALTER TABLE playout_as_run DROP CONSTRAINT as_run_no_overlap; -- half a minute, and nothing here reads by it
INSERT INTO playout_channels (name, output_type, output_url) SELECT 'C' || n, 'udp', 'udp://x'
FROM generate_series(1, {CHANNELS}) n;
INSERT INTO playout_as_run (channel_id, item_id, clip_name, started_at, ended_at, duration_s, result, generation,
                            event_seq, chain_no, row_hash)
SELECT CASE WHEN n < 3000 THEN {CHANNELS} ELSE 1 + n % ({CHANNELS} - 1) END, n, 'Clip ' || n, t, t + interval '10 s',
       10, 'played', 1, n, n, 'x'
FROM generate_series(1, {ROWS}) n, LATERAL (SELECT now() - ({ROWS} - n) * interval '10 s' AS t) at;
INSERT INTO playout_as_run (channel_id, item_id, clip_name, started_at, result, generation, event_seq)
SELECT n, n, 'Now', now(), 'played', 1, 0 FROM generate_series(1, {CHANNELS} - 1) n;
INSERT INTO playout_placements (channel_id, generation, reason, placed_at, released_at, settled_at, event_seq)
SELECT 1 + n % {CHANNELS}, n, 'start', now() - interval '1 day', now(), now(), 5 FROM generate_series(1, 8000) n;
INSERT INTO playout_placements (channel_id, generation, reason) SELECT n, 9000, 'start'
FROM generate_series(1, {CHANNELS}) n;
INSERT INTO playout_items (channel_id, position, clip_name, path) SELECT 1 + n % {CHANNELS}, n, 'Clip', 'c.mp4'
FROM generate_series(1, 2000) n;
SET session_replication_role = DEFAULT;
"""
DEEP = f"now() - interval '{ROWS // 2 * 10} s'"
FILTER = ("'{}'", "'{}'", "''", "NULL", "NULL")
ASKED: dict[str, tuple[str, tuple[str, ...]]] = {
    "first page": (as_run_log.SQL.page, (*FILTER, "NULL", "NULL", "100")),
    "deep page": (as_run_log.SQL.page, (*FILTER, DEEP, "5", "100")),
    "page of a day": (as_run_log.SQL.page, (*FILTER[:3], f"{DEEP} - interval '200 s'", DEEP, "NULL", "NULL", "100")),
    "first page of channels": (as_run_log.SQL.page_of_channels, ("'{10}'", *FILTER[1:], "NULL", "NULL", "100")),
    "anchors": (as_run_anchors.SQL.anchors, (*FILTER[:3], f"{DEEP} - interval '500 s'", *FILTER[4:], DEEP, "5", "10")),
    "log_state": (store.SQL.log_state, ("3", "9000")),
    "open_row": (store.SQL.open_row, ("3",)),
    "close_row": (store.SQL.close_row, ("3", "now()", "'played'")),
    "last_item": (store.SQL.last_item, ("10",)),
    "open_placements": (store.SQL.open_placements, ()),
    "restarts": (store.SQL.restarts, ()),
    "placement": (store.SQL.placement, ("3", "9000")),
    "placement_before": (store.SQL.placement_before, ("3", "9000")),
    "items": (store.SQL.items, ("3",)),
}  # fmt: skip


@pytest.fixture(scope="module")
def filled(server: str) -> Iterator[str]:
    name = f"plans_{uuid4().hex[:8]}"

    async def make() -> None:
        admin = await asyncpg.connect(server)
        await admin.execute(f"CREATE DATABASE {name} TEMPLATE airlock_template")
        await admin.close()
        made = await asyncpg.connect(database_url(server, name))
        await made.execute(FILL)
        await made.execute("VACUUM ANALYZE")
        await made.close()

    async def drop() -> None:
        admin = await asyncpg.connect(server)
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
        await admin.close()

    asyncio.run(make())
    yield database_url(server, name)
    asyncio.run(drop())


@pytest.fixture
async def session(filled: str) -> AsyncIterator[Connection]:
    made = await Database(filled, "plans").connect("plans")
    transaction = made.transaction()
    await transaction.start()
    yield made
    await transaction.rollback()
    await made.close()


def scans(plan: Any) -> Iterator[dict[str, Any]]:
    if isinstance(plan, list):
        for part in plan:
            yield from scans(part)
    elif isinstance(plan, dict):
        if plan.get("Relation Name") in LARGE and "Scan" in plan.get("Node Type", ""):
            yield plan
        yield from scans([value for value in plan.values() if isinstance(value, dict | list)])


async def complaints(session: Connection, mode: str, statement: str, given: tuple[str, ...]) -> list[str]:
    how = "auto" if mode == "seen often" else f"force_{mode}_plan"
    await session.execute(f"SET LOCAL plan_cache_mode = {how}")
    await session.execute(f"PREPARE asked AS {statement}")
    arguments = f"({', '.join(given)})" if given else ""
    for _ in range(8 if mode == "seen often" else 0):
        await session.execute(f"EXECUTE asked{arguments}")
    said = await session.fetchval(
        f"EXPLAIN (ANALYZE, VERBOSE, TIMING OFF, FORMAT JSON) EXECUTE asked{arguments}"
    )
    assert ("$1" in said) == (mode == "generic") or not given or mode == "seen often"
    return [
        f"{s['Node Type']} on {s['Relation Name']} by {s.get('Index Name')}: {looked_at(s):.0f} rows"
        for s in scans(json.loads(said))
        if "Seq Scan" in s["Node Type"] or looked_at(s) > MOST_ROWS
    ]


@pytest.mark.parametrize("mode", ["custom", "generic"])
@pytest.mark.parametrize("name", ASKED)
async def test_it_looks_only_at_what_it_needs(session: Connection, name: str, mode: str) -> None:
    # How long a page is decides its plan: the server goes on planning those for their arguments.
    mode = "seen often" if mode == "generic" and "of channels" in name else mode
    assert await complaints(session, mode, *ASKED[name]) == []


async def test_what_is_on_air_is_found_without_the_log(session: Connection) -> None:
    from core.feed import SQL

    assert await complaints(session, "custom", SQL.on_air, ()) == []


@pytest.mark.parametrize("mode", ["custom", "generic"])
async def test_a_bad_statement_is_found_out(session: Connection, mode: str) -> None:
    bad = "SELECT * FROM playout_as_run WHERE channel_id + 0 = $1 ORDER BY started_at DESC LIMIT 100"
    assert await complaints(session, mode, bad, (literal(10),))


def test_the_log_itself_is_in_no_read_model() -> None:
    assert "playout_as_run" not in {t.name for t in TABLES}
