"""Contending for the lead, trusting it, and losing it. The fence and the handovers have their own files."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

import pytest

from core import leadership
from core.clock import steady
from core.db.database import Connection
from core.leadership import GRACE, IDLE, MARGIN, TRUST, Lead
from tests.core.contender import HOLDER, WAITING, Contender, Ghost
from tests.faults.wire import Wire

Eventually = Callable[..., Awaitable[None]]


async def until_true(condition: Callable[[], bool], within: float = 5.0) -> None:
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.005)


async def until_found(connection: Connection, question: str, number: int = 1) -> None:
    async with asyncio.timeout(5):
        while len(await connection.fetch(question)) < number:  # noqa: ASYNC110 - nor does a database
            await asyncio.sleep(0.005)


async def waiting(connection: Connection, number: int = 1) -> None:
    """Until so many stand in the queue of the lock."""
    await until_found(connection, WAITING, number)


# -- taking over -------------------------------------------------------------------------------


async def test_one_leads_the_other_waits_and_follows_at_once(plant: str, connection: Connection) -> None:
    async with Contender(plant, "A") as first:
        lead = await first.leads()
        async with Contender(plant, "B") as second:
            await waiting(connection)
            assert second.leadership.lead is None
            await first.leadership.leave()
            assert (await second.leads(0.5)).epoch == lead.epoch + 1
            assert not lead.trusted()
            assert first.changes[-1][1] is None
    rows = await connection.fetch("SELECT station, ended_by FROM leadership ORDER BY epoch")
    assert [tuple(r) for r in rows] == [("A", "left"), ("B", "left")]


async def test_a_lane_that_will_not_end_does_not_hold_up_the_successor(
    plant: str, connection: Connection
) -> None:
    """The lock is given up before the leader's connections are closed, not after."""
    async with Contender(plant, "A") as first, Contender(plant, "B") as second:
        leader, other = (first, second) if await leads_first(first, second) else (second, first)
        lead = await leader.leads()
        await waiting(connection)
        stuck = await lead.pool.acquire()
        leaving = asyncio.create_task(leader.leadership.leave())
        await other.leads(0.5)
        await lead.pool.release(stuck)
        await leaving


async def leads_first(first: Contender, second: Contender) -> bool:
    _, pending = await asyncio.wait(
        [asyncio.create_task(c.leads(60)) for c in (first, second)], return_when=asyncio.FIRST_COMPLETED
    )
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return first.leadership.lead is not None


async def test_a_session_ended_from_outside_is_noticed_at_once(plant: str, connection: Connection) -> None:
    async with Contender(plant, "A") as station:
        lead = await station.leads()
        await connection.fetch(f"SELECT pg_terminate_backend(pid) FROM ({HOLDER}) h")
        await station.lost(0.5)
        assert not lead.trusted()
        again = await station.leads(1.0)
        assert again.epoch > lead.epoch


async def test_a_session_ended_while_it_takes_the_lead_is_only_a_setback(
    plant: str, connection: Connection
) -> None:
    # Somebody is past the fence: whoever takes the lead now has to wait for it.
    await connection.execute("SELECT pg_advisory_lock_shared(8210302)")
    async with Contender(plant, "A") as station:
        ended = 0
        for _ in range(2):
            # A session that was ended stands in the queue a moment longer: it is the next one that is meant.
            waits = f"SELECT pid FROM pg_locks WHERE objid = 8210302 AND NOT granted AND pid <> {ended}"
            await until_found(connection, waits)
            ended = await connection.fetchval(waits)
            assert await connection.fetchval("SELECT pg_terminate_backend($1)", ended)
        assert not station.changes
        await connection.execute("SELECT pg_advisory_unlock_shared(8210302)")
        lead = await station.leads(3.0)
        assert lead.trusted()
        assert [c[1] for c in station.changes] == [lead]


async def test_a_fault_in_who_listens_does_not_keep_the_lock_or_end_the_contending(
    plant: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leadership, "RETRY", (0.01,))
    station = Contender(plant, "A")
    heard: list[Lead | None] = []

    def listener(lead: Lead | None) -> None:
        heard.append(lead)
        if len(heard) <= 2:
            raise RuntimeError("a window that is gone already")

    station.leadership._on_change = listener
    with caplog.at_level(logging.ERROR):
        async with station:
            await until_true(lambda: station.leadership.lead is not None and len(heard) >= 3)
    assert "a window that is gone already" in caplog.text


async def test_a_server_that_cannot_watch_for_dead_clients_is_led_all_the_same(
    plant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A server on Windows refuses the setting with the same error as this one a value out of range.
    statement = "SET client_connection_check_interval = '-5'"
    monkeypatch.setitem(leadership.SQL._statements, "end_with_client", statement)
    async with Contender(plant, "A") as station:
        await station.leads()


async def test_a_follower_whose_server_vanished_without_a_word_finds_it_again(
    plant: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leadership, "QUEUE", 0.3)
    monkeypatch.setattr(leadership, "ANSWER", 0.3)
    async with Contender(plant, "A") as first, Wire(plant) as wire:
        await first.leads()
        async with Contender(wire.url, "B") as second:
            await waiting(connection)
            wire.go_silent()
            await asyncio.sleep(1.0)  # well past QUEUE + ANSWER: the dead wait has been given up
            await first.leadership.leave()
            await second.leads(3.0)


# -- trust -------------------------------------------------------------------------------------


async def test_trust_is_reckoned_from_when_the_question_was_sent(plant: str, connection: Connection) -> None:
    """A slow answer must not make the leader trust itself for longer than the database does."""
    async with Wire(plant) as wire, Contender(wire.url, "A") as station:
        wire.delay = 0.0
        lead = await station.leads()
        wire.delay = 0.4
        seen = set()
        wall = time.time() - steady()
        for _ in range(60):
            # Read first here, then there: the database may only be ahead.
            here = lead.trusted_to
            there = await connection.fetchval(
                "SELECT trusted_until FROM leadership WHERE epoch = $1", lead.epoch
            )
            assert here + wall <= there.timestamp() + 0.002
            seen.add(here)
            await asyncio.sleep(0.05)
        assert len(seen) >= 3, "the trust was not renewed"
        assert station.leadership.lead is lead


async def test_slow_answers_do_not_interrupt_the_trust(plant: str) -> None:
    """Each renewal goes out a second after the last one went out, however long that one took."""
    async with Wire(plant) as wire, Contender(wire.url, "A") as station:
        lead = await station.leads()
        first = lead.trusted_to
        await until_true(lambda: lead.trusted_to > first)  # the first renewal also prepares the statement
        wire.delay = 0.65
        until = steady() + 4.0
        while steady() < until:
            assert lead.trusted()
            await asyncio.sleep(0.01)


async def test_a_leader_that_is_cut_off_stops_before_a_successor_starts(plant: str) -> None:
    async with Wire(plant) as wire, Contender(wire.url, "A") as cut_off, Contender(plant, "B") as other:
        if not await leads_first(cut_off, other):
            await other.leadership.leave()
            await cut_off.leads()
            other.leadership.start()
        lead = await cut_off.leads()
        await asyncio.sleep(0.3)
        wire.go_silent(for_good=True)
        began = steady()
        await until_true(lambda: not lead.trusted())
        stopped = steady()
        assert stopped - began <= TRUST - MARGIN + 0.05
        await cut_off.lost(1.0)
        await other.leads(6.0)
        took_over = other.changes[-1][0]
        assert stopped < took_over
        assert took_over - began <= 6.0


async def test_nothing_is_trusted_after_a_pause(plant: str) -> None:
    async with Contender(plant, "A") as station:
        lead = await station.leads()
        assert lead.trusted()
        time.sleep(TRUST - MARGIN + 0.05)  # noqa: ASYNC251 - the whole process stands still
        assert not lead.trusted()
        # It still holds the lock, so it is allowed to trust itself again.
        await until_true(lead.trusted, 2.0)
        assert station.leadership.lead is lead


# -- a leader that hangs -----------------------------------------------------------------------


async def test_only_an_expired_leader_is_deposed(plant: str, connection: Connection) -> None:
    depose = "SELECT airlock_depose(make_interval(secs => $1))"
    assert await connection.fetchval(depose, GRACE) is None  # nobody holds the lock
    async with Ghost(plant) as holder:
        await holder.execute("SELECT airlock_take_lead('HUNG', '2 seconds')")
        set_trust = "UPDATE leadership SET trusted_until = clock_timestamp() + make_interval(secs => $1)"
        for ago in (2.0, 0.0, -GRACE + 0.5):
            await connection.execute(set_trust, ago)
            assert await connection.fetchval(depose, GRACE) is None
            await holder.execute("SELECT 1")
        await connection.execute(set_trust, -GRACE - 0.1)
        assert await connection.fetchval(depose, GRACE) == "HUNG"
        await until_true(holder.is_closed, 1.0)
    assert await connection.fetchval("SELECT ended_by FROM leadership") == "deposed"


async def test_whoever_follows_a_hung_leader_knows_it_and_only_that_one(
    plant: str, connection: Connection
) -> None:
    ghost, first, second = Ghost(plant, "HUNG"), Contender(plant, "A"), Contender(plant, "B")
    async with ghost as holder, first, second:
        # Trusted until both wait, however long that takes: before it has an epoch it could be ended as nobody's.
        await holder.execute("SELECT airlock_take_lead('HUNG', '1 hour')")
        await waiting(connection, 2)
        await connection.execute(
            "UPDATE leadership SET trusted_until = clock_timestamp() - interval '10 seconds'"
        )
        leader, other = (first, second) if await leads_first(first, second) else (second, first)
        assert (await leader.leads()).deposed == "HUNG"
        await leader.leadership.leave()
        # The other one may have been the one that ended the session; by now that is old news.
        assert (await other.leads()).deposed is None


async def test_the_name_of_a_hung_leader_survives_that_its_session_makes_way_at_once(
    plant: str, connection: Connection
) -> None:
    """The lock may be granted while the statement that ended its holder is still under way."""
    await connection.execute(
        "ALTER FUNCTION airlock_depose(interval) RENAME TO airlock_depose_at_once; "
        "CREATE FUNCTION airlock_depose(grace interval) RETURNS text LANGUAGE plpgsql AS $$ DECLARE who text; "
        "BEGIN who := airlock_depose_at_once(grace); PERFORM pg_sleep(0.5); RETURN who; END $$"
    )
    async with Ghost(plant, "HUNG") as holder, Contender(plant, "A") as only:
        await holder.execute("SELECT airlock_take_lead('HUNG', '1 hour')")
        await waiting(connection)
        await connection.execute(
            "UPDATE leadership SET trusted_until = clock_timestamp() - interval '10 seconds'"
        )
        assert (await only.leads(20)).deposed == "HUNG"


@pytest.mark.parametrize("before", ["no epoch yet", "an epoch that left"])
async def test_a_lock_that_is_held_without_an_epoch_is_freed_after_the_grace(
    plant: str, connection: Connection, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    monkeypatch.setattr(leadership, "GRACE", 0.6)
    if before == "an epoch that left":
        async with Contender(plant, "EARLIER") as earlier:
            await earlier.leads()
    async with Ghost(plant), Contender(plant, "A") as station:
        held = steady()
        lead = await station.leads(3.0)
        assert 0.5 < station.changes[0][0] - held < 2.0
        assert lead.trusted()


async def test_the_server_ends_a_hung_leader_that_no_follower_may_end(
    plant: str, connection: Connection
) -> None:
    """Operators with logins of their own may not end each other's sessions everywhere."""
    await connection.execute(
        "CREATE OR REPLACE FUNCTION airlock_depose(grace interval) RETURNS text LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE insufficient_privilege; END $$"
    )
    async with Wire(plant) as wire, Contender(wire.url, "A") as hung, Contender(plant, "B") as other:
        if not await leads_first(hung, other):
            await other.leadership.leave()
            await hung.leads()
            other.leadership.start()
        await waiting(connection)
        hung.leadership._task.cancel()  # type: ignore[union-attr]
        wire.go_silent()
        began = steady()
        await other.leads(IDLE + 1.0)
        assert steady() - began >= TRUST + GRACE - 0.1 - 1.0
