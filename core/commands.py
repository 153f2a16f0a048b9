"""The one way in for operators: every action is a command.

A command checks the role, runs in one transaction together with its audit row, and either happens
or says why not. A command that audits nothing is a fault of ours and is rolled back.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar
from uuid import UUID

import asyncpg

from core.db.database import CONNECTION_ERRORS, AnyConnection, Database, reason
from core.db.queries import beside
from core.errors import Changed, CommandRefused, DatabaseLost, NotAllowed
from core.roles import Role

log = logging.getLogger(__name__)
LONGEST_TEXT = 4000
SQL = beside(__file__, "commands.sql")
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Actor:
    """Who commands, from where."""

    operator: str
    station: str
    role: Role


class Transaction:
    """What a command works with: the connection, who asks, and the audit."""

    def __init__(self, connection: AnyConnection, actor: Actor, action: str) -> None:
        self.connection = connection
        self.actor = actor
        self._action = action
        self.audited = 0

    async def audit(
        self,
        kind: str,
        subject_id: int | None,
        name: str,
        before: object = None,
        after: object = None,
        reason: str | None = None,
    ) -> None:
        """Enters what changed. Before and after may be whole rows: only the differences are kept."""
        was, now = _differences(_plain(before), _plain(after))
        await self.connection.execute(
            SQL.audit,
            self.actor.operator,
            self.actor.station,
            self._action,
            kind,
            subject_id,
            name,
            was,
            now,
            reason,
        )
        self.audited += 1


@dataclass(frozen=True)
class Command(Generic[P, R]):
    name: str
    title: str
    role: Role
    body: Callable[Concatenate[Transaction, P], Awaitable[R]]


REGISTRY: dict[str, Command[..., Any]] = {}


def command(
    title: str, role: Role = Role.OPERATOR
) -> Callable[[Callable[Concatenate[Transaction, P], Awaitable[R]]], Command[P, R]]:
    """Registers a coroutine as an operator's command under its own name."""

    def register(body: Callable[Concatenate[Transaction, P], Awaitable[R]]) -> Command[P, R]:
        made: Command[P, R] = Command(body.__name__, title, role, body)
        if made.name in REGISTRY:
            raise RuntimeError(f"there are two commands called {made.name}")
        REGISTRY[made.name] = made
        return made

    return register


class Commander:
    """Carries out commands for the operator of this station."""

    def __init__(self, database: Database, actor: Callable[[], Actor]) -> None:
        self._database = database
        self._actor = actor

    def may(self, wanted: Command[P, R]) -> bool:
        return self._actor().role >= wanted.role

    async def do(self, wanted: Command[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        actor = self._actor()
        if actor.role < wanted.role:
            raise NotAllowed(
                f"{wanted.title} needs the role {wanted.role.title}; you are {actor.role.title}."
            )
        _refuse_unusable_text(wanted.title, (args, kwargs))
        committing = False
        try:
            async with self._database.acquire() as connection:
                transaction = connection.transaction()
                await transaction.start()
                try:
                    tx = Transaction(connection, actor, wanted.name)
                    result = await wanted.body(tx, *args, **kwargs)
                    if not tx.audited:
                        raise RuntimeError(f"the command {wanted.name} left no audit row")
                except BaseException:
                    if not connection.is_closed():
                        await transaction.rollback()
                    raise
                committing = True
                await transaction.commit()
                return result
        except DatabaseLost as error:
            if committing:
                raise DatabaseLost(
                    f"{wanted.title}: the connection was lost while saving. Check what is shown before you "
                    f"try again."
                ) from error
            raise DatabaseLost(
                f"{wanted.title}: the database cannot be reached, nothing was changed."
            ) from error
        except asyncpg.InsufficientPrivilegeError as error:
            raise NotAllowed(
                f"{wanted.title}: the database refuses this to the role {actor.role.title}."
            ) from error
        except (
            asyncpg.SerializationError,
            asyncpg.DeadlockDetectedError,
            asyncpg.LockNotAvailableError,
        ) as error:
            raise Changed(
                f"{wanted.title}: somebody else is changing it at this moment. Try again."
            ) from error
        except asyncpg.CheckViolationError as error:
            rule = (error.constraint_name or "a rule of the database").replace("_", " ")
            raise CommandRefused(
                f"{wanted.title}: {rule} does not allow that. Nothing was changed."
            ) from error
        except (asyncpg.PostgresError, *CONNECTION_ERRORS) as error:
            log.exception("command %s failed", wanted.name)
            raise CommandRefused(f"{wanted.title} failed: {reason(error)}. Nothing was changed.") from error


def _refuse_unusable_text(title: str, value: object) -> None:
    """No field of ours holds several lines; what cannot be stored or shown is said here, once for all commands."""
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise CommandRefused(f"{title}: a text is longer than {LONGEST_TEXT} characters.")
        if any(unicodedata.category(c) in ("Cc", "Cs") for c in value):
            raise CommandRefused(f"{title}: a text contains a line break or another invisible character.")
    elif isinstance(value, Mapping):
        _refuse_unusable_text(title, [*value.keys(), *value.values()])
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            _refuse_unusable_text(title, part)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        _refuse_unusable_text(title, [getattr(value, f.name) for f in dataclasses.fields(value)])


def require_version(shown: int | None, found: int, what: str) -> None:
    """Refuses an edit of something that changed since the operator saw it."""
    if shown is not None and shown != found:
        raise Changed(f"{what} was changed by somebody else meanwhile. Look at it again, then decide.")


def _plain(value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return {key: _json(item) for key, item in dict(value).items()}  # type: ignore[call-overload]


def _json(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


NOISE = frozenset({"changed_xid", "updated_at", "row_version", "claim_token", "epoch"})


def _differences(
    was: dict[str, Any], now: dict[str, Any]
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    keys = [k for k in {**was, **now} if k not in NOISE and (not was or not now or was.get(k) != now.get(k))]
    return _only(was, keys), _only(now, keys)


def _only(row: dict[str, Any], keys: list[str]) -> dict[str, Any] | None:
    return {k: row.get(k) for k in keys} if row else None
