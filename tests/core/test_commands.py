"""A command happens whole, with its audit row, or not at all, and says which."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from core import commands
from core.alarms.commands import shelve_alarm
from core.alarms.model import Condition, Priority
from core.alarms.store import raise_alarm
from core.commands import REGISTRY, Actor, Command, Commander, Transaction, command, require_version
from core.db.database import Connection, Database
from core.errors import AirlockError, Changed, CommandRefused, DatabaseLost, NotAllowed
from core.roles import Role
from tests.core.conftest import Login

ONE_SENTENCE = re.compile(r"[A-Z][^\n]*\.")


@pytest.fixture
async def database(plant: str) -> AsyncIterator[Database]:
    opened = Database(plant, "DESK")
    await opened.open()
    yield opened
    await opened.close()


def commander(database: Database, role: Role = Role.ENGINEER) -> Commander:
    return Commander(database, lambda: Actor("Olga", "DESK", role))


@pytest.fixture
def make_command() -> Any:
    """Registers commands for one test."""
    kept = dict(REGISTRY)

    def make(body: Callable[..., Any], title: str = "Do it", role: Role = Role.OPERATOR) -> Command[..., Any]:
        return command(title, role)(body)

    yield make
    REGISTRY.clear()
    REGISTRY.update(kept)


async def rename(tx: Transaction, name: str, then: str = "SELECT 1", audit: bool = True) -> str:
    before = await tx.connection.fetchrow("SELECT * FROM plant FOR UPDATE")
    after = await tx.connection.fetchrow("UPDATE plant SET name = $1 RETURNING *", name)
    if audit:
        await tx.audit("plant", 1, name, before, after, "because")
    await tx.connection.execute(then)
    return name


async def plant_name(connection: Connection) -> str:
    return await connection.fetchval("SELECT name FROM plant")


async def audits(connection: Connection) -> list[asyncpg.Record]:
    return await connection.fetch("SELECT * FROM audit_log ORDER BY id")


async def test_a_command_changes_and_audits_in_one_transaction(
    database: Database, connection: Connection, make_command: Any
) -> None:
    assert await commander(database).do(make_command(rename), "Studio") == "Studio"
    (row,) = await audits(connection)
    assert (row["who"], row["station"], row["action"], row["reason"]) == ("Olga", "DESK", "rename", "because")
    assert (row["subject_kind"], row["subject_id"], row["subject_name"]) == ("plant", 1, "Studio")
    assert row["before"] == {"name": "Local plant"} and row["after"] == {"name": "Studio"}, (
        "only what differs"
    )
    same = await connection.fetchval("SELECT a.xmin = p.xmin FROM audit_log a, plant p")
    assert same, "the change and its audit row are two transactions"


async def test_a_role_that_is_too_low_is_refused_before_anything_is_asked(
    database: Database, make_command: Any
) -> None:
    made = make_command(rename, "Rename the plant", Role.ENGINEER)
    for role in (Role.VIEWER, Role.OPERATOR):
        assert not commander(database, role).may(made)
        with pytest.raises(NotAllowed) as said:
            await commander(database, role).do(made, "x")
        assert str(said.value) == f"Rename the plant needs the role Engineer; you are {role.title}."
    assert commander(database).may(made)


async def test_a_program_that_offers_too_much_is_stopped_by_the_database(
    login: Login, connection: Connection, make_command: Any
) -> None:
    database = Database(await login("airlock_operator"), "DESK")
    await database.open()
    with pytest.raises(NotAllowed) as said:
        await commander(database, Role.ENGINEER).do(make_command(rename), "Mine")
    assert str(said.value) == "Do it: the database refuses this to the role Engineer."
    await database.close()
    assert await plant_name(connection) == "Local plant" and not await audits(connection)


async def test_a_command_that_leaves_no_audit_row_did_not_happen(
    database: Database, connection: Connection, make_command: Any
) -> None:
    with pytest.raises(RuntimeError, match="left no audit row"):
        await commander(database).do(make_command(rename), "Secret", audit=False)
    assert await plant_name(connection) == "Local plant"


@pytest.mark.parametrize(
    "blow", [CommandRefused("Not now."), ValueError("a fault"), asyncio.CancelledError()]
)
async def test_whatever_goes_wrong_in_a_command_undoes_it(
    database: Database, connection: Connection, make_command: Any, blow: BaseException
) -> None:
    async def fail(tx: Transaction) -> None:
        await rename(tx, "Half done")
        raise blow

    with pytest.raises(type(blow)):
        await commander(database).do(make_command(fail))
    assert await plant_name(connection) == "Local plant" and not await audits(connection)
    await commander(database).do(make_command(rename), "The pool still works")


REFUSALS: dict[str, tuple[str, type[AirlockError], str]] = {
    "a rule": (
        "UPDATE plant SET frame_rate = -1", CommandRefused,
        "Do it: plant frame rate check does not allow that. Nothing was changed.",
    ),
    "evidence": ("DELETE FROM audit_log", CommandRefused, "Do it failed: audit_log is append-only: its rows are "
                 "evidence and cannot be changed or deleted. Nothing was changed."),
    "a unique value": ("INSERT INTO plant (id) VALUES (1)", CommandRefused, 'Do it failed: duplicate key value '
                       'violates unique constraint "plant_pkey". Nothing was changed.'),
    "a fault of ours": ("SELECT nonsense", CommandRefused,
                        'Do it failed: column "nonsense" does not exist. Nothing was changed.'),
    "its session ended": ("SELECT pg_terminate_backend(pg_backend_pid())", DatabaseLost,
                          "Do it: the database cannot be reached, nothing was changed."),
}  # fmt: skip


async def test_a_refusal_of_the_database_is_one_sentence_and_changes_nothing(
    database: Database, connection: Connection, make_command: Any
) -> None:
    made = make_command(rename)
    for case, (statement, kind, sentence) in REFUSALS.items():
        with pytest.raises(kind) as said:
            await commander(database).do(made, "Half done", then=statement)
        assert str(said.value) == sentence and ONE_SENTENCE.fullmatch(sentence), case
        assert await plant_name(connection) == "Local plant" and not await audits(connection), case
    await commander(database).do(made, "Works again")


async def test_a_connection_lost_while_saving_asks_to_look_first(
    database: Database, connection: Connection, plant: str, make_command: Any
) -> None:
    """Ends the session inside COMMIT itself, where nobody can know whether it happened."""
    await connection.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_sleep(30); RETURN NULL; END $$; "
        "CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON plant DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "EXECUTE FUNCTION slow()"
    )
    doing = asyncio.create_task(commander(database).do(make_command(rename), "Maybe"))
    committing = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'airlock station%' AND query ~ '^COMMIT'"
    while (pid := await connection.fetchval(committing)) is None:
        assert not doing.done()
        await asyncio.sleep(0.01)
    await connection.execute("SELECT pg_terminate_backend($1)", pid)
    with pytest.raises(DatabaseLost) as said:
        await doing
    assert str(said.value) == (
        "Do it: the connection was lost while saving. Check what is shown before you try again."
    )


async def test_a_database_that_is_not_there_says_that_nothing_was_changed(make_command: Any) -> None:
    with pytest.raises(DatabaseLost) as said:
        await commander(Database("postgresql://x@127.0.0.1:9/x", "DESK")).do(make_command(rename), "x")
    assert str(said.value) == "Do it: the database cannot be reached, nothing was changed."


async def test_somebody_elses_lock_is_said_as_such(
    database: Database, connection: Connection, make_command: Any
) -> None:
    async def hurry(tx: Transaction) -> None:
        await tx.connection.execute("SET LOCAL lock_timeout = '50ms'")
        await rename(tx, "x")

    async with connection.transaction():
        await connection.execute("SELECT * FROM plant FOR UPDATE")
        with pytest.raises(Changed) as said:
            await commander(database).do(make_command(hurry))
    assert str(said.value) == "Do it: somebody else is changing it at this moment. Try again."


async def test_two_commands_in_each_others_way_are_not_a_fault(
    database: Database, connection: Connection, make_command: Any
) -> None:
    """Each holds what the other wants: the database ends one of them."""
    await connection.execute("INSERT INTO nodes (name, base_url) VALUES ('A', 'x'), ('B', 'x')")
    met = asyncio.Barrier(2)

    async def cross(tx: Transaction, first: str, second: str) -> None:
        await tx.connection.execute("SET LOCAL deadlock_timeout = '50ms'")
        for name in (first, second):
            await tx.connection.execute("UPDATE nodes SET base_url = $2 WHERE name = $1", name, first)
            if name == first:
                await met.wait()
        await tx.audit("node", None, first)

    made = make_command(cross)
    done = await asyncio.gather(
        commander(database).do(made, "A", "B"), commander(database).do(made, "B", "A"), return_exceptions=True
    )
    assert sorted(type(d) for d in done if d is not None) == [Changed]


def test_an_edit_of_what_has_changed_meanwhile_is_refused() -> None:
    require_version(3, 3, "The window")
    require_version(None, 3, "The window")
    with pytest.raises(Changed) as said:
        require_version(2, 3, "The window")
    assert (
        str(said.value) == "The window was changed by somebody else meanwhile. Look at it again, then decide."
    )


TYPED = (
    "'; DROP TABLE plant; --",
    "x', 'y'); DELETE FROM audit_log; --",
    "$1 %s {0} \\ <b>&amp;</b>",
    "' || pg_sleep(60) || '",
    "Ünïcödé 🎬 \u202e",
)


async def test_what_an_operator_types_is_text_and_nothing_else(
    database: Database, connection: Connection, make_command: Any
) -> None:
    made = make_command(rename)
    for text in TYPED:
        await commander(database).do(made, text)
        assert await plant_name(connection) == text
        assert (await audits(connection))[-1]["subject_name"] == text
        await raise_alarm(connection, Condition(text, Priority.LOW, text, text, text, text, text))
        alarm = await connection.fetchrow("SELECT * FROM alarms ORDER BY id DESC LIMIT 1")
        assert alarm["key"] == alarm["message"] == text
        await commander(database).do(shelve_alarm, alarm["id"], timedelta(hours=1), text)
        reason = await connection.fetchval("SELECT shelve_reason FROM alarms WHERE id = $1", alarm["id"])
        assert reason == text.strip()


async def test_text_that_no_database_can_hold_is_refused(
    database: Database, connection: Connection, make_command: Any
) -> None:
    made = make_command(rename)
    for text in ("zero \0 byte", "half \ud800 character"):
        with pytest.raises(CommandRefused) as said:
            await commander(database).do(made, text)
        assert not isinstance(said.value, DatabaseLost) and ONE_SENTENCE.fullmatch(str(said.value))
    assert await plant_name(connection) == "Local plant"


async def test_every_kind_of_value_can_be_audited(
    database: Database, connection: Connection, make_command: Any
) -> None:
    instant = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    values = {
        "time": instant, "day": instant.date(), "span": timedelta(minutes=1), "money": Decimal("1.50"),
        "id": UUID(int=1), "list": [instant, {"deep": instant}], "map": {"at": instant, 1: {instant.date()}},
        "nan": float("nan"), "bytes": b"x", "none": None, "yes": True, "changed_xid": 7, "row_version": 9,
    }  # fmt: skip

    async def note(tx: Transaction) -> None:
        await tx.audit("thing", None, "made", None, values)
        await tx.audit("thing", None, "gone", values, None)
        await tx.audit("thing", None, "same", values, dict(values))

    await commander(database).do(make_command(note))
    made, gone, same = await audits(connection)
    assert made["before"] is None and gone["after"] is None and made["after"] == gone["before"]
    assert made["after"]["map"] == {"at": "2030-01-02T03:04:05+00:00", "1": ["2030-01-02"]}
    assert made["after"]["span"] == 60 and made["after"]["money"] == "1.50" and made["after"]["none"] is None
    assert "changed_xid" not in made["after"] and "row_version" not in made["after"]
    assert same["before"] == same["after"] == {}


def test_the_registry_knows_every_command_by_its_name(make_command: Any) -> None:
    made = make_command(rename, "Rename")
    assert commands.REGISTRY["rename"] is made and made.title == "Rename"
    with pytest.raises(RuntimeError, match="two commands called rename"):
        make_command(rename, "Rename again")
    for name, found in REGISTRY.items():
        assert found.name == name and found.title and found.role >= Role.OPERATOR
