"""Brings a database's tables to the shape this program needs.

Migrations are numbered .sql files that only go forward. Any station may run them at start: one at
a time, under a lock, each in a transaction of its own. A database that is ahead of the program is
refused, because an old program would misread it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from core.db.database import CONNECTION_ERRORS, SETTINGS, Connection, reason
from core.db.database import SQL as DATABASE_SQL
from core.db.queries import beside
from core.errors import DatabaseLost, SchemaError

log = logging.getLogger(__name__)
SQL = beside(__file__, "migrate.sql")
FOLDER = Path(__file__).with_name("migrations")
ROLES = Path(__file__).with_name("roles.sql")


@dataclass(frozen=True)
class Migration:
    version: int
    name: str
    sql: str


def migrations(folder: Path = FOLDER) -> list[Migration]:
    found = [
        Migration(int(path.stem[:4]), path.stem[5:], path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    ]
    if not found or [m.version for m in found] != list(range(1, len(found) + 1)):
        raise SchemaError(
            "The program's own migration files are not numbered without gaps: reinstall Airlock."
        )
    return found


async def version_of(connection: Connection) -> int:
    """The migration the database stands at; 0 when it holds no plant."""
    if not await connection.fetchval(SQL.has_plant):
        return 0
    version: int = await connection.fetchval(SQL.version)
    return version


async def migrate(connection: Connection, wanted: list[Migration] | None = None) -> list[Migration]:
    """Applies what is missing and returns it. The connection must not be in a transaction."""
    wanted = migrations() if wanted is None else wanted
    try:
        if not await _missing(connection, wanted) and not await _roles_wait(connection):
            return []
        # Long enough for another station to finish a migration of a plant full of data.
        await connection.execute(SQL.patience)
        await connection.execute(SQL.lock)
        try:
            return await _apply(connection, wanted)
        finally:
            if not connection.is_closed():
                await connection.execute(SQL.unlock)
                await connection.execute(DATABASE_SQL.set, list(SETTINGS), list(SETTINGS.values()))
    except asyncpg.LockNotAvailableError as error:
        raise SchemaError(
            "Another station has been changing the database's tables for two minutes: wait until it is done, "
            "then start again."
        ) from error
    except CONNECTION_ERRORS as error:
        raise DatabaseLost(
            f"The database was lost while its tables were looked at: {reason(error)}."
        ) from error


async def _missing(connection: Connection, wanted: list[Migration]) -> list[Migration]:
    try:
        at = await version_of(connection)
    except asyncpg.InsufficientPrivilegeError as error:
        raise SchemaError(
            "This login may not read the plant: let its owner grant it airlock_viewer, airlock_operator "
            "or airlock_engineer."
        ) from error
    target = wanted[-1].version
    if at > target:
        raise SchemaError(
            f"The database was made by a newer Airlock (version {at} of its tables, this program knows "
            f"{target}): update this program."
        )
    return wanted[at:]


async def _apply(connection: Connection, wanted: list[Migration]) -> list[Migration]:
    missing = await _missing(connection, wanted)
    for migration in missing:
        try:
            async with connection.transaction():
                await connection.execute(SQL.fix_path)
                await connection.execute(SQL.make_ledger)
                await connection.execute(migration.sql)
                await connection.execute(SQL.record, migration.version, migration.name)
        except (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidSchemaNameError) as error:
            raise SchemaError(
                f"The database needs Airlock's tables (version {wanted[-1].version}) and this login may not "
                f"make them: start Airlock once as the owner of the database."
            ) from error
        except CONNECTION_ERRORS:
            raise
        except asyncpg.PostgresError as error:
            raise SchemaError(
                f"Change {migration.version} of the database's tables ({migration.name}) failed and left "
                f"nothing behind: {reason(error)}."
            ) from error
        log.info("applied migration %04d %s", migration.version, migration.name)
    if missing or await _roles_wait(connection):
        # Makes the three roles where this login may. Without that right the plant still works for its owner.
        await connection.execute(ROLES.read_text(encoding="utf-8"))
    return missing


async def _roles_wait(connection: Connection) -> bool:
    """Whether an administrator has made the roles since, and this login can give them their rights."""
    return bool(await connection.fetchval(SQL.roles_wait))
