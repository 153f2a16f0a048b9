"""What the leader asks in a pass and in a sweep costs the same however long the plant's history and plan are.

Each statement is explained on a filled table, as it is planned for its arguments and as it is planned once for
all (which the server does with a statement that it sees often), and it is run: an index that is walked from end
to end is no better than reading the table.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from core.db.database import Connection, Database
from core.recording import rules
from core.recording.store import SQL
from tests.conftest import database_url

PAST, FUTURE, RECORDERS = 40_000, 10_000, 100
MOST_ROWS = 60  # of a table that a statement may look at; what is due here is less than half of that
LARGE = ("recorder_schedules", "assets")

# The writes that carry out what a pass decided go by id and token; here are the questions, and the writes that
# search. Arguments are made of the time and of the windows that are armed.
PASS = {
    "still_mine": lambda now, armed: (armed, [uuid4() for _ in armed]),
    "unsettled": lambda now, armed: (now,),
    "stopping_soon": lambda now, armed: (now + rules.ARM_AHEAD,),
    "arm": lambda now, armed: (now, now + rules.ARM_AHEAD, armed),
    "miss": lambda now, armed: (now,),
    "next_due": lambda now, armed: (now + rules.ARM_AHEAD, now),
}
SWEEP = {
    "running": lambda now, armed: (now,),
    "sessions_reported": lambda now, armed: ([1, 2, 3],),
    "unowned": lambda now, armed: (),
    "active_attempts": lambda now, armed: (now,),
    "stale_assets": lambda now, armed: (now - timedelta(hours=2),),
    "to_preflight": lambda now, armed: (now, now + rules.PREFLIGHT_AHEAD),
}
MARKS = {
    "mark_starting": lambda now, armed: (armed, [uuid4() for _ in armed]),
    "mark_running": lambda now, armed: (
        armed, [uuid4() for _ in armed], ["s"] * len(armed), [""] * len(armed), ["mp4"] * len(armed),
        [now] * len(armed), [1] * len(armed), [0.0] * len(armed),
    ),
    "mark_stopping": lambda now, armed: (armed, [uuid4() for _ in armed], now),
    "finish": lambda now, armed: (
        armed, [uuid4() for _ in armed], ["completed"] * len(armed), [None] * len(armed), [now] * len(armed),
    ),
    "still_wanted": lambda now, armed: (armed[0], 1),
}  # fmt: skip
ASKED = PASS | SWEEP | MARKS

FILL = f"""
SET session_replication_role = replica;
INSERT INTO nodes (name, base_url, status) VALUES ('node', 'http://127.0.0.1:1', 'online');
INSERT INTO recorders (name, node_id, external_id, status, current_session_id)
SELECT 'rec-' || n, (SELECT id FROM nodes), 'rec-' || n, 'idle', CASE WHEN n < 3 THEN 'now-' || n END
FROM generate_series(0, {RECORDERS} - 1) n;
INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, status, session_id)
SELECT 'Past', r.id, t, t + interval '50 minutes', 'completed', 'old-' || n
FROM generate_series(0, {PAST} - 1) n JOIN recorders r ON r.name = 'rec-' || n % {RECORDERS},
LATERAL (SELECT now() - interval '1 day' - (1 + n / {RECORDERS}) * interval '1 hour' AS t) at;
INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at)
SELECT 'Coming', r.id, t, t + interval '50 minutes'
FROM generate_series(0, {FUTURE} - 1) n JOIN recorders r ON r.name = 'rec-' || n % {RECORDERS},
LATERAL (SELECT now() + interval '1 day' + (n / {RECORDERS}) * interval '1 hour' AS t) at;
INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, status, session_id, claim_token)
SELECT 'Now', r.id, now() - interval '1 minute', now() + interval '1 hour',
       (ARRAY['running', 'pending', 'starting', 'stopping'])[1 + n % 4], 'now-' || n, gen_random_uuid()
FROM generate_series(0, 19) n JOIN recorders r ON r.name = 'rec-' || n;
INSERT INTO assets (display_name, path, status, recorder_id, schedule_id, session_id, last_growth_at)
SELECT name, '', CASE WHEN status = 'completed' THEN 'ready' ELSE 'live' END, recorder_id, id, session_id, now()
FROM recorder_schedules WHERE session_id IS NOT NULL;
SET session_replication_role = DEFAULT;
"""


@pytest.fixture(scope="module")
def filled(server: str) -> Iterator[str]:
    """One filled plant for all of these: filling it takes the longest."""
    import asyncio

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
async def plant_session(filled: str) -> AsyncIterator[Connection]:
    """A session as the leader's are; whatever a statement does is undone."""
    made = await Database(filled, "plans").connect("plans")
    transaction = made.transaction()
    await transaction.start()
    yield made
    await transaction.rollback()
    await made.close()


def scans(plan: Any) -> Iterator[dict[str, Any]]:
    """The parts of a plan that look into a large table, or into an index of it for a bitmap."""
    if isinstance(plan, list):
        for part in plan:
            yield from scans(part)
    elif isinstance(plan, dict):
        if plan.get("Relation Name") in LARGE and "Scan" in plan.get("Node Type", ""):
            yield plan
        yield from scans([value for value in plan.values() if isinstance(value, dict | list)])


def looked_at(scan: dict[str, Any]) -> float:
    """How many rows a scan that was run has seen, kept or not."""
    dropped = sum(v for k, v in scan.items() if k.startswith("Rows Removed"))
    return float((scan["Actual Rows"] + dropped) * max(scan["Actual Loops"], 1))


def complaints(plan: Any) -> list[str]:
    found = []
    for scan in scans(plan):
        where = f"{scan['Node Type']} on {scan['Relation Name']}"
        if scan["Node Type"] in ("Seq Scan", "Parallel Seq Scan"):
            found.append(where)
        elif looked_at(scan) > MOST_ROWS:
            found.append(f"{where} by {scan.get('Index Name')}: {looked_at(scan):.0f} rows")
    return found


async def explain(session: Connection, mode: str, statement: str, arguments: tuple[Any, ...]) -> list[str]:
    """Plans and runs it as the server does once (custom) or for all arguments alike (generic)."""
    await session.execute(f"SET LOCAL plan_cache_mode = force_{mode}_plan")
    await session.execute(f"PREPARE asked AS {statement}")
    given = f"({', '.join(map(literal, arguments))})" if arguments else ""
    said = await session.fetchval(f"EXPLAIN (ANALYZE, VERBOSE, TIMING OFF, FORMAT JSON) EXECUTE asked{given}")
    # A plan for all arguments still has their places in it: without that, this would test one mode twice.
    assert ("$1" in said) == (mode == "generic") or not arguments
    return complaints(json.loads(said))


def literal(value: Any) -> str:
    if isinstance(value, list):
        return "'{" + ",".join("NULL" if v is None else f'"{v}"' for v in value) + "}'"
    return f"'{value}'"


async def arguments_of(session: Connection, name: str) -> tuple[Any, ...]:
    now: datetime = await session.fetchval("SELECT now()")
    armed = [r["id"] for r in await session.fetch("SELECT id FROM recorder_schedules WHERE name = 'Now'")]
    return ASKED[name](now, armed)


@pytest.mark.parametrize("mode", ["custom", "generic"])
@pytest.mark.parametrize("calm", [False, True])
@pytest.mark.parametrize("name", ASKED)
async def test_it_looks_only_at_what_is_due(
    plant_session: Connection, name: str, calm: bool, mode: str
) -> None:
    """`calm`: nothing is due at all. Looking for what is not there is where a wrong index costs the most."""
    arguments = await arguments_of(plant_session, name)
    if calm:
        await plant_session.execute("DELETE FROM recorder_schedules WHERE name = 'Now'")
    assert await explain(plant_session, mode, getattr(SQL, name), arguments) == []


async def test_the_pass_asks_nothing_else() -> None:
    """A statement that is added to the file must be added here, or be one of those that go by a row's number."""
    by_number = {"plant_uuid", "mark_again", "settle_cancelled", "attempt"}
    assert set(SQL.names()) == set(ASKED) | by_number


@pytest.mark.parametrize("mode", ["custom", "generic"])
@pytest.mark.parametrize(
    "bad, found",
    [
        ("SELECT id FROM recorder_schedules WHERE name || '' = $1", "Seq Scan"),
        (
            "SELECT id FROM recorder_schedules WHERE status = 'pending' AND name = $1 ORDER BY start_at",
            "rows",
        ),
        ("UPDATE assets SET status = 'error' WHERE path = $1", "Seq Scan"),
    ],
)
async def test_a_bad_statement_is_found_out(
    plant_session: Connection, mode: str, bad: str, found: str
) -> None:
    said = await explain(plant_session, mode, bad, ("nobody",))
    assert said and any(found in line or "Seq Scan" in line for line in said)
