"""The picture is the plant: nothing missed, quick, and honest about its age when the database is away."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import random
import shutil
import signal
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest

import core.feed as feed_module
import core.read_model as read_model_module
from core.clock import DatabaseClock
from core.db.database import Connection, Database
from core.db.migrate import migrate
from core.embedded.postgres import EmbeddedPostgres
from core.feed import SQL, Feed, FeedState
from core.read_model import KEPT_FUTURE, KEPT_PAST, TABLES, Changes, ReadModel, Table

Eventually = Callable[..., Any]
MAKE_RECORDERS = "INSERT INTO recorders (name, base_url, external_id) SELECT 'R' || n, 'http://r', 'r' || n FROM generate_series(1, $1::int) n"  # noqa: E501
MAKE_WINDOWS = (
    "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) "
    "SELECT 'w' || n, $1, now() + n * interval '1 minute', now() + (n + 1) * interval '1 minute' "
    "FROM generate_series($2::int, $3::int) n"
)


@contextlib.asynccontextmanager
async def following(url: str) -> AsyncIterator[Feed]:
    feed = Feed(Database(url, "TEST"), DatabaseClock(), ReadModel())
    feed.start()
    try:
        yield feed
    finally:
        await feed.stop()


@pytest.fixture
async def feed(plant: str, eventually: Eventually) -> AsyncIterator[Feed]:
    async with following(plant) as started:
        await eventually(lambda: started.state.live, what="a live picture")
        yield started


async def truth(connection: Connection) -> dict[str, dict[int, Any]]:
    """The tables as a station that starts now would load them."""
    now = await connection.fetchval("SELECT now()")
    found = {}
    for table in TABLES:
        arguments = (now - KEPT_PAST, now + KEPT_FUTURE) if table.name == "recorder_schedules" else ()
        rows = await connection.fetch(getattr(SQL, f"load_{table.name}"), *arguments)
        found[table.name] = {row["id"]: table.build(row) for row in rows}
    return found


async def differences(feed: Feed, connection: Connection) -> dict[str, Any]:
    expected = await truth(connection)
    different = {}
    for table in TABLES:
        shown, real = table.rows(feed.model), expected[table.name]
        wrong = {i for i in shown.keys() | real.keys() if shown.get(i) != real.get(i)}
        if wrong:
            different[table.name] = {i: (shown.get(i), real.get(i)) for i in sorted(wrong)[:3]}
    return different


async def settles(feed: Feed, connection: Connection, within: float = 3.0) -> None:
    """Heartbeats are read twice a second, everything else at once: soon the two must be the same."""
    deadline = time.monotonic() + within
    while wrong := await differences(feed, connection):
        if time.monotonic() > deadline:
            pytest.fail(f"the picture is not the plant: {wrong}")
        await asyncio.sleep(0.1)


# -- nothing is missed -------------------------------------------------------------------------------

INSERTS = {
    "stations": "INSERT INTO stations (name, kind, host, pid, instance, version, role, status) "
    "VALUES ('S' || $1, 'desktop', 'h', 1, gen_random_uuid(), '1', 'operator', 'online')",
    "alarms": "INSERT INTO alarms (key, priority, source_kind, message) VALUES ('k' || $1, 'low', 's', 'm')",
    "nodes": "INSERT INTO nodes (name, base_url, status) VALUES ('N' || $1, 'http://n', 'online')",
    "recorder_series": "INSERT INTO recorder_series (name, recorder_id, cron, timezone, duration) "
    "VALUES ('s' || $1, 1, '0 0 * * *', 'UTC', '1h')",
    "recorder_schedules": "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) "
    "VALUES ('x' || $1, 2, now() + $1::int * interval '1 minute', "
    "now() + $1::int * interval '1 minute' + interval '20 seconds')",
    "assets": "INSERT INTO assets (display_name, path) VALUES ('a' || $1, 'p')",
    "playout_channels": "INSERT INTO playout_channels (name, output_type, output_url) "
    "VALUES ('C' || $1, 'udp', 'udp://c')",
    "playout_items": "INSERT INTO playout_items (channel_id, position, clip_name, path) VALUES (1, $1::int, 'c', 'p')",
}
UPDATES = {
    "stations": ["operator = random()::text", "last_seen_at = clock_timestamp(), rtt_ms = random()", "status = 'left'"],
    "alarms": [
        "count = count + 1", "acked_at = now(), acked_by = 'x'", "cleared_at = now()",
        "last_raised_at = clock_timestamp()",
    ],
    "nodes": ["error_message = random()::text", "last_heartbeat_at = clock_timestamp()", "status = 'offline'"],
    "recorders": ["signal = jsonb_build_object('a', random())", "mode = 'manual'", "mode = 'auto'"],
    "recorder_series": ["enabled = NOT enabled", "planned_until = clock_timestamp()"],
    "recorder_schedules": ["name = random()::text", "status = 'cancelled'", "claim_token = gen_random_uuid()"],
    "assets": [
        "size_bytes = size_bytes + 1", "status = 'ready'", "display_name = random()::text", "duration_s = random()",
    ],
    "playout_channels": ["misses = misses + 1", "last_heartbeat_at = clock_timestamp()", "status = 'running'"],
    "playout_items": ["clip_name = random()::text"],
}  # fmt: skip
DELETES = ["stations", "alarms", "nodes", "recorder_schedules", "assets", "playout_items"]


def some_of(table: str, count: int) -> str:
    # Rows that another transaction holds are left alone: deadlocks are not the subject here.
    return f"id IN (SELECT id FROM {table} ORDER BY random() LIMIT {count} FOR UPDATE SKIP LOCKED)"


async def disturb(url: str, dice: random.Random, numbers: Iterator[int], rounds: int) -> None:
    """One system among many that write: short, long, large, small, and sometimes taken back."""
    connection = await asyncpg.connect(url)
    for _ in range(rounds):
        transaction = connection.transaction()
        await transaction.start()
        try:
            await meddle(connection, dice, numbers)
        except asyncpg.DeadlockDetectedError:
            await transaction.rollback()
            continue
        await (transaction.rollback() if dice.random() < 0.15 else transaction.commit())
    await connection.close()


async def meddle(connection: Connection, dice: random.Random, numbers: Iterator[int]) -> None:
    for _ in range(dice.choice((1, 1, 1, 2, 5))):
        kind = dice.random()
        if kind < 0.35:
            statement = INSERTS[dice.choice(list(INSERTS))]
            await connection.execute(statement.replace("$1", f"'{next(numbers)}'"))
        elif kind < 0.8:
            table = dice.choice(list(UPDATES))
            change, which = dice.choice(UPDATES[table]), some_of(table, dice.choice((1, 3)))
            await connection.execute(f"UPDATE {table} SET {change} WHERE {which}")
        elif kind < 0.95:
            table = dice.choice(DELETES)
            await connection.execute(f"DELETE FROM {table} WHERE {some_of(table, 2)}")
        else:
            which = some_of("recorder_schedules", 700)
            await connection.execute(f"UPDATE recorder_schedules SET name = random()::text WHERE {which}")
        if dice.random() < 0.3:
            await asyncio.sleep(dice.choice((0, 0.002, 0.02)))
    if dice.random() < 0.15:
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_nothing_is_missed_however_transactions_overlap(
    plant: str, connection: Connection, feed: Feed, eventually: Eventually, seed: int
) -> None:
    await connection.execute(MAKE_RECORDERS, 2)
    await connection.execute(MAKE_WINDOWS, 1, 1, 1200)
    await connection.execute(
        "INSERT INTO playout_channels (name, output_type, output_url) VALUES ('C', 'udp', 'u')"
    )
    dice, numbers = random.Random(seed), itertools.count(10)
    writers = [disturb(plant, random.Random(dice.random()), numbers, 40) for _ in range(6)]
    if seed == 3:
        writers.append(_cut_the_feed(connection, times=3))
    await asyncio.gather(*writers)
    await eventually(lambda: feed.state.live, what="a live picture")
    await settles(feed, connection)
    assert len(feed.model.windows) > 500


async def _cut_the_feed(connection: Connection, times: int) -> None:
    for _ in range(times):
        await asyncio.sleep(0.3)
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name LIKE 'airlock feed%' AND datname = current_database()"
        )


async def test_a_table_that_was_not_read_keeps_its_own_mark(
    plant: str, connection: Connection, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change whose notification is still on the way when another table is read must not fall through."""
    await connection.execute(MAKE_RECORDERS, 1)
    held: list[str] = []
    real = Feed._notified

    def late(self: Feed, c: object, pid: int, channel: str, payload: object) -> None:
        if payload == "nodes":
            held.append("nodes")
        else:
            real(self, c, pid, channel, payload)

    async with following(plant) as feed:
        monkeypatch.setattr(feed, "_notified", late.__get__(feed))
        await eventually(lambda: feed.state.live, what="a live picture")
        await connection.execute("INSERT INTO nodes (name, base_url) VALUES ('N', 'x')")
        await eventually(lambda: held, what="the notification that is held back")
        await connection.execute("UPDATE recorders SET mode = 'manual'")
        await eventually(lambda: feed.model.recorders[1].mode == "manual", what="the other change")
        assert not feed.model.nodes
        real(feed, None, 0, "airlock", "nodes")
        await settles(feed, connection)


async def test_rows_deleted_and_entered_again_under_their_number(connection: Connection, feed: Feed) -> None:
    await connection.execute("INSERT INTO nodes (name, base_url) VALUES ('N', 'x')")
    await settles(feed, connection)
    async with connection.transaction():
        await connection.execute("DELETE FROM nodes")
        await connection.execute(
            "INSERT INTO nodes (id, name, base_url) OVERRIDING SYSTEM VALUE VALUES (1, 'M', 'y')"
        )
    await settles(feed, connection)
    assert feed.model.nodes[1].name == "M"
    await connection.execute("TRUNCATE playout_items")
    await connection.execute("DELETE FROM nodes")
    await settles(feed, connection)
    assert not feed.model.nodes


async def test_a_plain_sql_change_is_seen_within_milliseconds(
    connection: Connection, feed: Feed, capsys: pytest.CaptureFixture[str]
) -> None:
    await connection.execute(MAKE_RECORDERS, 1)
    await settles(feed, connection)
    seen = asyncio.Event()
    feed.model.subscribe(lambda changes: seen.set() if "recorders" in changes else None)
    took = []
    for n in range(50):
        seen.clear()
        began = time.perf_counter()
        await connection.execute("UPDATE recorders SET error_message = $1", str(n))
        await asyncio.wait_for(seen.wait(), 1)
        took.append((time.perf_counter() - began) * 1000)
        assert feed.model.recorders[1].error_message == str(n)
    with capsys.disabled():
        print(f"\n  change to model: p50 {statistics.median(took):.1f} ms, max {max(took):.1f} ms")


async def test_a_change_during_a_reading_does_not_wait_for_the_next_beat(
    plant: str, connection: Connection, feed: Feed, eventually: Eventually
) -> None:
    await connection.execute(MAKE_RECORDERS, 1)
    await settles(feed, connection)
    other = await asyncpg.connect(plant)
    late = 0
    for n in range(20):
        began = time.perf_counter()
        await asyncio.gather(
            connection.execute("UPDATE recorders SET error_message = $1", str(n)),
            other.execute("UPDATE plant SET name = $1", str(n)),
        )
        await eventually(
            lambda n=n: feed.model.recorders[1].error_message == feed.model.plant.name == str(n),
            what="both changes",
        )
        late += time.perf_counter() - began > feed_module.BEAT / 2
    await other.close()
    assert late < 3, "changes waited for the beat"


async def test_subscribers_hear_only_what_changed(connection: Connection, feed: Feed) -> None:
    await connection.execute(MAKE_RECORDERS, 3)
    await settles(feed, connection)
    heard: list[Changes] = []
    end = feed.model.subscribe(heard.append)
    await connection.execute("UPDATE recorders SET mode = 'manual' WHERE id = 2")
    await connection.execute("UPDATE recorders SET mode = 'manual' WHERE id = 2")
    await connection.execute(
        "INSERT INTO audit_log (who, station, action, subject_kind) VALUES ('a', 'b', 'c', 'd')"
    )
    await asyncio.sleep(0.1)
    assert [c for c in heard if "recorders" in c] == [{"recorders": {2}}]
    assert [c for c in heard if "audit_log" in c]
    heard.clear()
    await asyncio.sleep(2 * feed_module.BEAT + 0.1)
    assert heard == [], "nothing happened, and still everybody was told to draw"
    end()
    await connection.execute("UPDATE recorders SET mode = 'auto' WHERE id = 2")
    await settles(feed, connection)
    assert heard == []


# -- faults ------------------------------------------------------------------------------------------


async def test_one_broken_listener_hurts_nobody(
    connection: Connection, feed: Feed, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: object) -> None:
        raise ValueError("a view of ours is broken")

    rows: list[Changes] = []
    states: list[FeedState] = []
    wakes: list[str] = []
    for register, good in (
        (feed.model.subscribe, rows.append),
        (feed.on_state, states.append),
        (feed.on_wake_up, wakes.append),
    ):
        register(broken)  # type: ignore[operator]
        register(good)  # type: ignore[operator]
    await connection.execute(MAKE_RECORDERS, 1)
    await eventually(lambda: rows and wakes, what="the change")
    await _cut_the_feed(connection, times=1)
    await eventually(lambda: [s.live for s in states] == [False, True], what="lost and found again")
    await connection.execute("UPDATE recorders SET mode = 'manual'")
    await settles(feed, connection)
    assert caplog.text.count("a view of ours is broken") >= 3


async def test_a_fault_of_ours_does_not_end_the_feed(
    connection: Connection, feed: Feed, eventually: Eventually, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def broken(row: object) -> None:
        raise TypeError("no such column")

    monkeypatch.setattr(feed_module, "build_plant", broken)
    await connection.execute("UPDATE plant SET name = 'Another'")
    await eventually(lambda: not feed.state.live, what="the picture being called old")
    assert "The log says why" in feed.state.problem and "no such column" in caplog.text
    monkeypatch.undo()
    feed.retry_now()
    await eventually(lambda: feed.state.live, what="a live picture")
    assert feed.model.plant is not None and feed.model.plant.name == "Another"


async def test_a_lost_connection_is_said_at_once_and_what_went_meanwhile_is_gone(
    server: str, plant: str, connection: Connection, feed: Feed, eventually: Eventually
) -> None:
    await connection.execute(
        "INSERT INTO nodes (name, base_url) SELECT 'n' || n, 'x' FROM generate_series(1, 5) n"
    )
    await settles(feed, connection)
    states: list[tuple[float, FeedState]] = []
    feed.on_state(lambda state: states.append((time.perf_counter(), state)))
    name = await connection.fetchval("SELECT current_database()")
    admin = await asyncpg.connect(server)
    await admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    try:
        began = time.perf_counter()
        await _terminate_feeds(connection)
        await eventually(lambda: states, what="the loss")
        assert not states[0][1].live and states[0][0] - began < 0.5
        assert feed.state.stale() and feed.state.problem.endswith(".")
        await connection.execute("DELETE FROM nodes WHERE id < 4")
        await connection.execute("UPDATE nodes SET base_url = 'y'")
        await eventually(lambda: feed.state.attempts >= 3, what="further attempts")
        assert len(feed.model.nodes) == 5, "the old picture stays until there is a new one"
        age = feed.state.age()
        await asyncio.sleep(0.05)
        assert feed.state.age() >= age + 0.04
    finally:
        await admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        await admin.close()
    feed.retry_now()
    await eventually(lambda: feed.state.live, what="a live picture", within=1)
    assert feed.model.nodes.keys() == {4, 5} and feed.model.nodes[4].base_url == "y"
    assert feed.state.age() < 1 and not feed.state.stale() and feed.state.problem == ""


async def _terminate_feeds(connection: Connection) -> None:
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name LIKE 'airlock feed%' AND datname = current_database()"
    )


async def test_a_database_that_hangs_is_called_old_and_then_dropped(
    connection: Connection, feed: Feed, eventually: Eventually, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = await connection.fetchval(
        "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'airlock feed%' AND datname = current_database()"
    )
    os.kill(backend, signal.SIGSTOP)
    try:
        began = time.perf_counter()
        await eventually(lambda: feed.state.stale(), within=2, what="a stale picture")
        stale = time.perf_counter() - began
        assert feed.state.live, "nothing is known to be wrong yet"
        await eventually(lambda: not feed.state.live, within=6, what="the connection being dropped")
        dropped = time.perf_counter() - began
        assert "did not answer in time" in feed.state.problem
        await connection.execute("INSERT INTO nodes (name, base_url) VALUES ('N', 'x')")
        await eventually(lambda: feed.state.live and feed.model.nodes, within=2, what="a new connection")
        live = time.perf_counter() - began
    finally:
        os.kill(backend, signal.SIGCONT)
    with capsys.disabled():
        print(
            f"\n  hung: stale after {stale:.2f} s, dropped after {dropped:.2f} s, live again after {live:.2f} s"
        )
    assert 0.4 < stale < 2 and 2.4 < dropped < 6


async def test_a_database_that_hangs_while_loading_is_dropped_too(
    plant: str, connection: Connection, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "SILENCE", 0.3)
    lock = connection.transaction()
    await lock.start()
    await connection.execute("LOCK TABLE nodes IN ACCESS EXCLUSIVE MODE")
    async with following(plant) as feed:
        await eventually(lambda: feed.state.attempts >= 1, within=2, what="the attempt being given up")
        assert not feed.state.ever and "did not answer in time" in feed.state.problem
        await lock.rollback()
        await eventually(lambda: feed.state.live, what="a live picture")


@pytest.fixture
def own_postgres() -> Iterator[EmbeddedPostgres]:
    """A server that a test may stop."""
    home = Path(tempfile.mkdtemp(prefix="airlock-test-"))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(home)
    postgres.start()
    yield postgres
    postgres.stop()
    shutil.rmtree(home, ignore_errors=True)


async def test_the_database_restarts_and_goes_away_for_two_seconds(
    own_postgres: EmbeddedPostgres, eventually: Eventually, capsys: pytest.CaptureFixture[str]
) -> None:
    running = own_postgres.find()
    assert running is not None
    setup = await Database(running.url, "setup").connect("setup")
    await migrate(setup)
    await setup.execute(MAKE_RECORDERS, 2)
    await setup.close()
    async with following(running.url) as feed:
        await eventually(lambda: feed.state.live, what="a live picture")
        for away in (0.0, 2.0):
            stopping = asyncio.create_task(asyncio.to_thread(own_postgres.stop))
            began = time.perf_counter()
            await eventually(lambda: not feed.state.live, within=2, what="the loss")
            said = time.perf_counter() - began
            await stopping
            await asyncio.sleep(away)
            await asyncio.to_thread(own_postgres.start)
            back = time.perf_counter()
            await eventually(lambda: feed.state.live, within=2, what="a live picture")
            with capsys.disabled():
                print(f"\n  away {away:.0f} s: said after {said:.2f} s, "
                      f"live {time.perf_counter() - back:.2f} s after its return")  # fmt: skip
            assert said < 1 and len(feed.model.recorders) == 2


# -- size and time -----------------------------------------------------------------------------------


class Steps:
    """Counts the rows that the feed takes in or drops between two turns of the loop: what it costs everybody
    else is that many rows, on whatever machine. (How long that takes is measured in the bench.)"""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.largest = self.total = self._now = 0
        put = Table.put

        def counted(table: Table, model: ReadModel, records: list[Any], now: datetime) -> set[int]:
            self._count(len(records))
            return put(table, model, records, now)

        monkeypatch.setattr(Table, "put", counted)

    def _count(self, rows: int) -> None:
        self._now += rows
        self.total += rows
        self.largest = max(self.largest, self._now)

    async def follow(self, feed: Feed, until: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not until():
                had = len(feed.model.windows)
                await asyncio.sleep(0)
                self._count(max(0, had - len(feed.model.windows)))
                self._now = 0


async def test_twenty_thousand_windows_hold_up_nobody(
    plant: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connection.execute(MAKE_RECORDERS, 1)
    await connection.execute(MAKE_WINDOWS, 1, 1, 20_000)
    steps = Steps(monkeypatch)
    async with following(plant) as feed:
        lost: list[FeedState] = []
        feed.on_state(lambda state: None if state.live else lost.append(state))
        await steps.follow(feed, lambda: feed.state.live)
        assert len(feed.model.windows) == 20_000
        await connection.execute("UPDATE recorder_schedules SET name = name || '!'")
        await steps.follow(feed, lambda: feed.model.windows[20_000].name.endswith("!"))
        await connection.execute("DELETE FROM recorder_schedules WHERE id > 5000")
        await steps.follow(feed, lambda: len(feed.model.windows) == 5000)
        await settles(feed, connection)
        assert not lost
    assert steps.total >= 20_000 + 20_000 + 15_000
    # A page, and the few rows of the other tables that may come in the same turn.
    assert steps.largest <= feed_module.PAGE + 50


async def test_time_alone_brings_windows_into_sight_and_out_of_it(
    plant: str, connection: Connection, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (feed_module, read_model_module):
        monkeypatch.setattr(module, "KEPT_FUTURE", timedelta(seconds=2))
        monkeypatch.setattr(module, "KEPT_PAST", timedelta(seconds=2))
    monkeypatch.setattr(feed_module, "TIDY", 0.2)
    await connection.execute(MAKE_RECORDERS, 1)
    add = (
        "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, status) "
        "VALUES ($1, 1, now() + $2 * interval '1s', now() + $3 * interval '1s', $4)"
    )
    await connection.execute(add, "far ahead", 3.0, 4.0, "pending")
    await connection.execute(add, "just over", -5.0, -1.0, "completed")
    await connection.execute(add, "long over, still running", -9.0, -5.0, "running")
    async with following(plant) as feed:
        await eventually(lambda: feed.state.live, what="a live picture")
        assert {w.name for w in feed.model.windows.values()} == {"just over", "long over, still running"}
        await connection.execute("UPDATE recorder_schedules SET made_by = 'x' WHERE name = 'far ahead'")
        await asyncio.sleep(0.1)
        assert len(feed.model.windows) == 2, "a change brought in what a reload would not"
        await eventually(
            lambda: (
                {w.name for w in feed.model.windows.values()} == {"far ahead", "long over, still running"}
            ),
            what="the one coming and the other going",
        )


async def test_a_plant_that_never_answered_has_no_picture(
    caplog: pytest.LogCaptureFixture, eventually: Any
) -> None:
    caplog.set_level(logging.INFO)
    async with following("postgresql://nobody@127.0.0.1:9/none") as feed:
        await eventually(lambda: feed.state.attempts >= 2, what="two attempts")
        assert not feed.state.ever and feed.state.stale() and feed.state.as_of is None
        assert "cannot be reached" in feed.state.problem
