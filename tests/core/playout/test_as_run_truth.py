"""As-run against an engine that knows what really went to air: 20,000 items through the rules, 2,000 through the
real database, with dropped and repeated answers, restarts and a scheduler that is away.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from core.playout import as_run, store
from core.playout.as_run import Entry, Logged, Writing
from core.playout.model import Event, Status
from core.playout.status import read_status

NOON = datetime(2030, 5, 1, 12, tzinfo=UTC)
FRAME = timedelta(milliseconds=40)


def s(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


@dataclass
class Aired:
    generation: int
    item: int
    start: datetime
    end: datetime
    result: str


@dataclass
class Engine:
    """Plays items one after another on a clock of its own; a fake, because a day of playout takes a day."""

    dice: random.Random
    at: datetime = NOON
    generation: int = 1
    events: list[Event] = field(default_factory=list)
    truth: list[Aired] = field(default_factory=list)
    playing: Aired | None = None

    def event(self, type: str, item: int, result: str | None = None) -> None:
        seq = len(self.events) + 1
        self.events.append(Event(seq, type, self.at, item, None, f"clip {item}", result))

    def play(self, item: int) -> None:
        if self.dice.random() < 0.02:
            self.event("failed", item)
            self.truth.append(Aired(self.generation, item, self.at, self.at, "failed"))
            return
        self.event("start", item)
        began, self.at = self.at, self.at + s(round(self.dice.uniform(0.2, 60.0), 3))
        result = "skipped" if self.dice.random() < 0.05 else "played"
        self.event("end", item, result)
        self.truth.append(Aired(self.generation, item, began, self.at, result))

    def crash(self, item: int) -> None:
        """In the middle of an item: its end is in no event."""
        self.event("start", item)
        began, self.at = self.at, self.at + s(self.dice.uniform(0.5, 9))
        self.truth.append(Aired(self.generation, item, began, self.at, "interrupted"))

    def restart(self) -> None:
        self.at += s(self.dice.uniform(0.5, 4))
        self.generation, self.events = self.generation + 1, []


def apply(rows: list[Entry], writing: Writing) -> None:
    if writing.close is not None:
        assert (rows and rows[-1].ended_at is None) or any(r.ended_at is None for r in rows[-60:])
        n = next(i for i in range(len(rows) - 1, -1, -1) if rows[i].ended_at is None)
        rows[n] = replace(rows[n], ended_at=writing.close[0], result=writing.close[1])
    rows.extend(writing.rows)


def check(rows: list[Entry], truth: list[Aired]) -> None:
    aired = [r for r in rows if r.item_id is not None]
    assert len(aired) == len(truth)
    for row, real in zip(aired, truth, strict=True):
        assert (row.item_id, row.result) == (real.item, real.result)
        assert row.ended_at is not None
        assert abs(row.started_at - real.start) <= FRAME and abs(row.ended_at - real.end) <= FRAME
    spans = sorted((r.started_at, r.ended_at) for r in rows if r.started_at != r.ended_at)
    for (_, end), (start, _) in pairwise(spans):
        assert end <= start <= end + as_run.HOLE  # neither an overlap nor a silent hole
    assert all(r.ended_at >= r.started_at for r in rows)


AT_ONCE = 500  # events in one answer, as the sidecar gives them


def test_twenty_thousand_items_are_each_accounted_for_once_as_they_aired() -> None:
    """Answers are dropped and repeated, the scheduler is away for hundreds of items, sidecars crash, and nodes are
    lost together with their journals: what nobody can know is unknown time, and everything else is as it was."""
    dice = random.Random(7)
    engine, rows, logged = Engine(dice), [], Logged()
    count = dict.fromkeys(("dropped", "repeated", "absences", "crashes", "lost nodes", "gaps"), 0)
    lost: list[Aired] = []
    away, known = 0, 0  # items still to pass unwatched; how much of the truth the log can know

    def restart(writing: Writing) -> None:
        nonlocal logged, known
        apply(rows, writing)
        count["gaps"] += bool(rows and rows[-1].result != "unknown" and writing.after.seq)
        engine.restart()
        logged, known = replace(writing.after, seq=0, fill=True), len(engine.truth)

    for item in range(1, 20_001):
        chance = dice.random()
        if chance < 0.005:
            count["crashes"] += 1
            engine.crash(item)
            restart(as_run.settle(logged, engine.events, engine.at, engine.at + s(2)))
            away = 0
            continue
        if chance < 0.006:
            count["lost nodes"] += 1
            engine.crash(item)
            lost += engine.truth[known:]
            del engine.truth[known:]
            restart(as_run.settle(logged, (), None, engine.at + s(9)))
            away = 0
            continue
        engine.play(item)
        if away == 0 and dice.random() < 0.001:
            count["absences"] += 1
            away = dice.randrange(100, 700)
        if away > 0:
            away -= 1
            continue
        if dice.random() < 0.3:
            count["dropped"] += 1
            continue
        # Repeated and overlapping answers: from somewhere before the last number seen.
        again = dice.random() < 0.2
        count["repeated"] += again
        while logged.seq < len(engine.events):
            after = max(0, logged.seq - dice.randrange(3)) if again else logged.seq
            writing = as_run.log_events(logged, engine.events[after : after + AT_ONCE], engine.at)
            apply(rows, writing)
            logged = writing.after
        known = len(engine.truth)
    apply(rows, as_run.settle(logged, engine.events, engine.at, engine.at))
    check(rows, engine.truth)
    unknown = [r for r in rows if r.result == "unknown"]
    assert all(any(u.started_at <= r.start and r.end <= u.ended_at for u in unknown) for r in lost)
    assert len(engine.truth) + len(lost) == 20_000 and len(unknown) == count["gaps"]
    assert min(count.values()) >= 5 and len(lost) > 20, count


def test_in_the_middle_of_an_item_the_row_is_open_and_closes_at_the_reported_instant() -> None:
    start = Event(1, "start", NOON, 1, None, "a")
    first = as_run.log_events(Logged(), [start], NOON + s(1))
    assert first.rows[0].ended_at is None
    ends = [
        Event(2, "end", NOON + s(9), 1, None, "a", "played"),
        Event(3, "start", NOON + s(9), 1, None, "a"),
    ]
    second = as_run.log_events(first.after, ends, NOON + s(10))
    assert second.close == (NOON + s(9), "played") and second.rows[0].started_at == NOON + s(9)
    assert as_run.log_events(second.after, [start, *ends], NOON + s(11)).nothing


def test_lost_events_are_unknown_time() -> None:
    logged = as_run.log_events(Logged(), [Event(1, "start", NOON, 1, None, "a")], NOON).after
    logged = replace(logged, last_seen=NOON + s(5))
    writing = as_run.log_events(logged, [Event(9, "start", NOON + s(60), 4, None, "d")], NOON + s(61))
    assert writing.close == (NOON + s(5), "unknown")
    assert [(r.result, r.started_at, r.ended_at) for r in writing.rows] == [
        ("unknown", NOON + s(5), NOON + s(60)), ("played", NOON + s(60), None),
    ]  # fmt: skip


def test_a_sidecar_that_is_gone_without_a_word_was_on_air_until_it_was_last_seen() -> None:
    logged = as_run.log_events(Logged(), [Event(1, "start", NOON, 1, None, "a")], NOON).after
    dead = as_run.settle(replace(logged, last_seen=NOON + s(5)), (), None, NOON + s(9))
    assert dead.close == (NOON + s(5), "interrupted")
    after = replace(dead.after, seq=0)
    next_one = as_run.log_events(after, [Event(1, "start", NOON + s(8), 1, None, "a")], NOON + s(9))
    assert [(r.result, r.started_at, r.ended_at) for r in next_one.rows] == [
        ("unknown", NOON + s(5), NOON + s(8)), ("played", NOON + s(8), None),
    ]  # fmt: skip


@pytest.mark.parametrize("at", [NOON - s(100), NOON + s(86400 * 365)])
def test_nonsense_instants_neither_overlap_nor_go_backwards(at: datetime) -> None:
    logged = as_run.log_events(Logged(), [Event(1, "start", NOON, 1, None, "a")], NOON).after
    events = [Event(2, "end", at, 1, None, "a", "played"), Event(3, "start", at, 2, None, "b")]
    writing = as_run.log_events(logged, events, NOON + s(10))
    assert writing.close is not None and NOON <= writing.close[0] <= NOON + s(11)
    assert writing.rows[0].started_at >= writing.close[0]


def test_a_wrong_clock_is_set_right() -> None:
    event = Event(1, "start", NOON - s(300), 1, None, "a")
    assert as_run.log_events(Logged(), [event], NOON, s(300)).rows[0].started_at == NOON


def foreign(item: int | None, started: datetime | None) -> Status:
    clip = None if item is None else f"clip {item}"
    at = None if started is None else started.isoformat()
    found = read_status({"currentItemId": item, "currentClip": clip, "currentItemStartedAt": at})
    assert isinstance(found, Status) and found.foreign
    return found


def test_a_foreign_sidecar_is_logged_by_what_is_seen_of_it() -> None:
    rows: list[Entry] = []
    logged = Logged()
    for seconds, item, started in ((1, 1, 0), (2, 1, 0), (6, 1, 5), (9, 2, 8), (10, None, None)):
        status = foreign(item, None if started is None else NOON + s(started))
        writing = as_run.observe(logged, status, NOON + s(seconds))
        apply(rows, writing)
        logged = replace(writing.after, last_seen=NOON + s(seconds))
    assert [(r.item_id, (r.started_at - NOON).seconds, (r.ended_at - NOON).seconds) for r in rows] == [
        (1, 0, 5), (1, 5, 8), (2, 8, 10),
    ]  # fmt: skip


def test_what_a_foreign_sidecar_played_unwatched_is_unknown() -> None:
    first = as_run.observe(Logged(), foreign(1, NOON), NOON + s(1))
    later = as_run.observe(
        replace(first.after, last_seen=NOON + s(2)), foreign(7, NOON + s(100)), NOON + s(101)
    )
    assert later.close == (NOON + s(2), "unknown")
    assert [r.result for r in later.rows] == ["unknown", "played"]


async def test_two_thousand_items_through_the_database(connection, channel) -> None:
    dice = random.Random(11)
    engine = Engine(dice, at=await connection.fetchval("SELECT clock_timestamp() - interval '3 days'"))
    place = "INSERT INTO playout_placements (channel_id, generation, reason) VALUES ($1, $2, $3)"
    await connection.execute("UPDATE playout_channels SET generation = 1 WHERE id = $1", channel)
    await connection.execute(place, channel, 1, "start")

    async def enter(end: bool = False) -> None:
        async with connection.transaction():
            found = await store.log_state(connection, channel, engine.generation)
            assert found is not None
            fresh = engine.events[max(0, found.logged.seq - dice.randrange(3)) :]
            writing = (
                as_run.settle(found.logged, fresh, engine.at, engine.at)
                if end
                else as_run.log_events(found.logged, fresh, engine.at)
            )
            await store.write(connection, channel, engine.generation, None, writing)

    for item in range(1, 2001):
        if dice.random() < 0.01:
            engine.crash(item)
            await enter(end=True)
            engine.restart()
            await connection.execute(place, channel, engine.generation, "failover")
            continue
        engine.play(item)
        if dice.random() < 0.3:
            await enter()
            if dice.random() < 0.2:
                await enter()
    await enter(end=True)
    found = await connection.fetch("SELECT * FROM playout_as_run ORDER BY chain_no")
    rows = [
        Entry(r["item_id"], None, r["clip_name"], r["started_at"], r["ended_at"], r["result"], r["event_seq"])
        for r in found
    ]
    check(rows, engine.truth)
    assert await connection.fetch("SELECT * FROM airlock_as_run_verify($1)", channel) == []
