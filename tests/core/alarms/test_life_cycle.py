"""The life of an alarm, every way it can go, against a model that fits on a page."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import asyncpg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from core.alarms.commands import acknowledge_alarm, shelve_alarm, unshelve_alarm
from core.alarms.model import Condition, Priority
from core.alarms.store import SQL, clear_alarm, clear_others, raise_alarm
from core.commands import Actor, Command, Commander
from core.db.database import Database
from core.errors import CommandRefused
from core.roles import Role
from tests.conftest import TEMPLATE, database_url

T = TypeVar("T")
RANK = {p.word: p for p in Priority}
keys = st.sampled_from(["a", "b", "c"])
priorities = st.sampled_from(list(Priority))


@dataclass
class Row:
    """What one row of `alarms` should say."""

    priority: str
    count: int = 1
    active: bool = True
    acked: bool = False
    shelved: bool = False

    @property
    def open(self) -> bool:
        return self.active or not self.acked

    @property
    def state(self) -> str:
        if not self.open:
            return "closed"
        return ("active" if self.active else "cleared") + ("_acked" if self.acked else "_unacked")


class Plant:
    """A database and a loop that all runs of the machine share."""

    runner: asyncio.Runner
    database: Database


class LifeCycle(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.prefix = uuid.uuid4().hex[:8]
        self.rows: dict[str, list[Row]] = {k: [] for k in "abc"}
        self.commander = Commander(Plant.database, lambda: Actor("Olga", "DESK", Role.OPERATOR))

    def go(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return Plant.runner.run(coroutine)

    async def sql(self, statement: str, *arguments: object) -> list[asyncpg.Record]:
        async with Plant.database.acquire() as connection:
            return await connection.fetch(statement, *arguments)

    def last(self, key: str) -> Row | None:
        return self.rows[key][-1] if self.rows[key] else None

    def raised(self, key: str, priority: Priority, repeat: bool) -> None:
        row = self.last(key)
        if row is None or not row.open:
            self.rows[key].append(Row(priority.word))
        elif repeat or not row.active or row.priority != priority.word:
            row.count += 1
            row.active = True
            if priority < RANK[row.priority]:
                row.acked = row.shelved = False
            row.priority = priority.word

    @rule(key=keys, priority=priorities, repeat=st.booleans())
    def raise_it(self, key: str, priority: Priority, repeat: bool) -> None:
        async def act() -> None:
            condition = Condition(self.prefix + key, priority, "test", "T", f"{key} is wrong")
            async with Plant.database.acquire() as connection:
                await raise_alarm(connection, condition, repeat=repeat)

        self.go(act())
        self.raised(key, priority, repeat)

    @rule(key=keys)
    def clear(self, key: str) -> None:
        async def act() -> None:
            async with Plant.database.acquire() as connection:
                await clear_alarm(connection, self.prefix + key)

        self.go(act())
        if (row := self.last(key)) is not None:
            row.active = False

    @rule(keep=st.sets(keys))
    def clear_all_but(self, keep: set[str]) -> None:
        async def act() -> None:
            async with Plant.database.acquire() as connection:
                await clear_others(connection, self.prefix, [self.prefix + k for k in keep])

        self.go(act())
        for key in set("abc") - keep:
            if (row := self.last(key)) is not None:
                row.active = False

    def command(self, key: str, allowed: bool, wanted: Command[..., Any], *arguments: object) -> None:
        """Does it to the newest alarm of a key, and expects a refusal where the model says so."""
        found = self.go(
            self.sql("SELECT id FROM alarms WHERE key = $1 ORDER BY id DESC LIMIT 1", self.prefix + key)
        )
        alarm_id = found[0]["id"] if found else 0
        if allowed:
            self.go(self.commander.do(wanted, alarm_id, *arguments))
        else:
            with pytest.raises(CommandRefused):
                self.go(self.commander.do(wanted, alarm_id, *arguments))

    @rule(key=keys)
    def acknowledge(self, key: str) -> None:
        row = self.last(key)
        allowed = row is not None and not row.acked
        self.command(key, allowed, acknowledge_alarm)
        if allowed and row is not None:
            row.acked = True

    @rule(key=keys)
    def shelve(self, key: str) -> None:
        row = self.last(key)
        allowed = row is not None and row.open
        self.command(key, allowed, shelve_alarm, timedelta(hours=1), "known")
        if allowed and row is not None:
            row.shelved = True

    @rule(key=keys)
    def unshelve(self, key: str) -> None:
        row = self.last(key)
        allowed = row is not None and row.shelved
        self.command(key, allowed, unshelve_alarm)
        if allowed and row is not None:
            row.shelved = False

    @rule(key=keys)
    def shelf_time_is_over(self, key: str) -> None:
        expire = "UPDATE alarms SET shelved_until = now() - interval '1s' WHERE key = $1 AND shelved_until IS NOT NULL"
        self.go(self.sql(expire, self.prefix + key))
        self.go(self.sql(SQL.unshelve_due))
        for row in self.rows[key]:
            row.shelved = False

    @invariant()
    def the_database_agrees(self) -> None:
        found = self.go(self.sql("SELECT * FROM alarms WHERE starts_with(key, $1) ORDER BY id", self.prefix))
        for key in "abc":
            mine = [r for r in found if r["key"] == self.prefix + key]
            assert [
                Row(r["priority"], r["count"], r["cleared_at"] is None, r["acked_at"] is not None,
                    r["shelved_until"] is not None) for r in mine
            ] == self.rows[key]  # fmt: skip
            assert [r["state"] for r in mine] == [row.state for row in self.rows[key]]
            assert sum(r["state"] != "closed" for r in mine) <= 1
            assert all(r["last_raised_at"] >= r["raised_at"] for r in mine)


@pytest.fixture
def shared_plant(server: str) -> Iterator[None]:
    name = f"plant_{uuid.uuid4().hex[:12]}"
    with asyncio.Runner() as runner:

        async def admin(statement: str) -> None:
            connection = await asyncpg.connect(server)
            await connection.execute(statement)
            await connection.close()

        runner.run(admin(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}"))
        Plant.runner, Plant.database = runner, Database(database_url(server, name), "DESK")
        runner.run(Plant.database.open())
        yield
        runner.run(Plant.database.close())
        runner.run(admin(f"DROP DATABASE {name} WITH (FORCE)"))


def test_every_way_an_alarm_can_go(shared_plant: None) -> None:
    run_state_machine_as_test(
        LifeCycle,
        settings=settings(
            max_examples=15,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
