"""Every command, as every role, by a station that lies about its role; and hostile text in every text it takes.

Commands are found in the registry: a new one is covered by being there.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import typing
from collections.abc import AsyncIterator, Callable
from datetime import date, datetime, timedelta
from typing import Any

import pytest

import core
from core.alarms.model import Condition, Priority
from core.alarms.store import raise_alarm
from core.commands import REGISTRY, Actor, Command, Commander
from core.db.database import Connection, Database
from core.errors import AirlockError, NotAllowed
from core.recording.series_commands import SeriesForm
from core.roles import Role
from tests.core.conftest import Login
from tests.security.conftest import HOSTILE, everything

for _module in pkgutil.walk_packages(core.__path__, "core."):
    if _module.name.endswith("commands"):
        importlib.import_module(_module.name)
COMMANDS = sorted(
    (c for c in REGISTRY.values() if c.body.__module__.startswith("core.")), key=lambda c: c.name
)


class Seed:
    """Rows that commands can be about, made anew for each call."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._slot = 0

    async def arguments(
        self, command: Command[..., Any], text: str | None = None, at: str = ""
    ) -> dict[str, Any]:
        """One value for each parameter, by its name or else by its type; `text` goes into the parameter `at`."""
        given = await self._known()
        found: dict[str, Any] = {}
        hints = typing.get_type_hints(command.body)
        for name, parameter in list(inspect.signature(command.body).parameters.items())[1:]:
            if name == at:
                form = SeriesForm("S", given["recorder_id"], "0 3 * * *", "UTC", timedelta(hours=1))
                found[name] = text if name != "form" else _with_text(form, text)
            elif name in given:
                found[name] = given[name]
            elif parameter.default is inspect.Parameter.empty:
                found[name] = _by_type(hints[name])
        return found

    async def _known(self) -> dict[str, Any]:
        self._slot += 1
        one = self._connection
        recorder = await one.fetchval(
            "INSERT INTO recorders (name, base_url, external_id) VALUES ($1, 'http://127.0.0.1:1', $1) RETURNING id",
            f"R{self._slot}",
        )
        channel = await one.fetchval(
            "INSERT INTO playout_channels (name, output_type, output_url) "
            "VALUES ($1, 'udp', 'udp://127.0.0.1:9') RETURNING id", f"C{self._slot}",
        )  # fmt: skip
        item = await one.fetchval(
            "INSERT INTO playout_items (channel_id, position, clip_name, path) "
            "VALUES ($1, 1, 'x', 'x.mp4') RETURNING id",
            channel,
        )
        start = await one.fetchval("SELECT now() + interval '3 days'")
        window = await one.fetchval(
            "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) "
            "VALUES ('W', $1, $2::timestamptz, $2::timestamptz + interval '1 hour') RETURNING id", recorder, start,
        )  # fmt: skip
        series = await one.fetchval(
            "INSERT INTO recorder_series (name, recorder_id, cron, timezone, duration, enabled) "
            "VALUES ('S', $1, '0 3 * * *', 'UTC', '1 hour', false) RETURNING id", recorder,
        )  # fmt: skip
        key = f"k{self._slot}"
        await raise_alarm(one, Condition(key, Priority.LOW, "test", "T", "Something"))
        alarm = await one.fetchval("SELECT id FROM alarms WHERE key = $1", key)
        later = start + timedelta(hours=5)
        return {
            "recorder_id": recorder, "channel_id": channel, "window_id": window, "series_id": series, "node_id": None,
            "alarm_id": alarm, "alarm_ids": [alarm], "item_ids": [item], "before_id": None, "row_version": None,
            "windows": [(window, None)], "start_at": later, "end_at": later + timedelta(hours=1), "mode": "manual",
            "by": timedelta(minutes=5), "duration": timedelta(hours=1), "output_type": "udp", "looping": True,
            "output_url": "udp://127.0.0.1:9", "path": "x.mp4",
            "form": SeriesForm("S", recorder, "0 3 * * *", "UTC", timedelta(hours=1)),
        }  # fmt: skip


def _by_type(hint: Any) -> Any:
    simple = {
        str: "text",
        int: 1,
        float: 1.0,
        bool: True,
        timedelta: timedelta(minutes=1),
        date: date(2030, 1, 1),
    }
    for kind, value in simple.items():
        if kind in (hint, *typing.get_args(hint)):
            return value
    return datetime.fromisoformat("2030-01-01T00:00:00+00:00") if hint is datetime else None


def _with_text(form: SeriesForm, text: str | None) -> SeriesForm:
    wrong: Any = text
    return SeriesForm(wrong, form.recorder_id, wrong, wrong, form.duration, source=wrong)


def texts(command: Command[..., Any]) -> list[str]:
    """The parameters that take text from a person."""
    hints = typing.get_type_hints(command.body)
    hints.pop("return", None)
    return [n for n, h in hints.items() if h is str or str in typing.get_args(h) or h is SeriesForm]


@pytest.fixture
async def commander_for() -> AsyncIterator[Callable[..., Any]]:
    opened: list[Database] = []

    async def make(url: str, claims: Role) -> Commander:
        database = Database(url, "DESK")
        await database.open()
        opened.append(database)
        return Commander(database, lambda: Actor("Olga", "DESK", claims))

    yield make
    for database in opened:
        await database.close()


def test_commands_were_found() -> None:
    assert len(COMMANDS) >= 25 and {c.role for c in COMMANDS} == {Role.OPERATOR, Role.ENGINEER}


async def test_a_role_that_may_not_is_told_so_and_changes_nothing(
    connection: Connection, login: Login, commander_for: Callable[..., Any]
) -> None:
    seed = Seed(connection)
    for role in (Role.VIEWER, Role.OPERATOR):
        url = await login(f"airlock_{role.name.lower()}")
        honest, lying = await commander_for(url, role), await commander_for(url, Role.ENGINEER)
        for command in (c for c in COMMANDS if c.role > role):
            arguments = await seed.arguments(command)
            before = await everything(connection)
            assert not honest.may(command)
            with pytest.raises(NotAllowed, match=r"needs the role \w+; you are \w+\.$"):
                await honest.do(command, **arguments)
            with pytest.raises(NotAllowed, match=r"the database refuses this"):
                await lying.do(command, **arguments)
            assert await everything(connection) == before, command.name


async def test_a_role_that_may_is_not_refused_by_the_database(
    connection: Connection, login: Login, commander_for: Callable[..., Any]
) -> None:
    seed, done = Seed(connection), 0
    for role in (Role.OPERATOR, Role.ENGINEER):
        commander = await commander_for(await login(f"airlock_{role.name.lower()}"), role)
        for command in (c for c in COMMANDS if c.role <= role):
            entries = await connection.fetchval("SELECT count(*) FROM audit_log")
            arguments = await seed.arguments(command)
            try:
                await commander.do(command, **arguments)
            except NotAllowed as error:
                pytest.fail(f"{command.name} as {role.title}: {error}")
            except AirlockError:
                assert await connection.fetchval("SELECT count(*) FROM audit_log") == entries
            else:
                done += 1
                assert await connection.fetchval("SELECT count(*) FROM audit_log") > entries, command.name
    assert done >= len(COMMANDS), "most of them can really be done with these arguments"


async def test_text_is_only_ever_text(
    plant: str, connection: Connection, commander_for: Callable[..., Any]
) -> None:
    commander, seed, tried = await commander_for(plant, Role.ENGINEER), Seed(connection), 0
    tables = set(await everything(connection))
    for command in COMMANDS:
        for name in texts(command):
            for text in HOSTILE:
                arguments = await seed.arguments(command, text, name)
                tried += 1
                said = await _said(commander, command, arguments)
                about = (command.name, name, text[:30], said[:300])
                assert "\n" not in said and len(said) < 1000 and "cannot be reached" not in said, about
    assert tried > 100
    assert set(await everything(connection)) == tables
    await connection.execute("SELECT 1 FROM recorders LIMIT 1")


async def _said(commander: Commander, command: Command[..., Any], arguments: dict[str, Any]) -> str:
    """What the operator is told; nothing when it was done. Anything but a sentence of ours is raised."""
    try:
        await commander.do(command, **arguments)
    except AirlockError as error:
        return str(error)
    return ""
