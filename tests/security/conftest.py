"""What the security tests share: a real agent, logins of each role, and a look at everything a plant holds."""

from __future__ import annotations

from core.db.database import Connection
from tests.core.agent.conftest import rig  # noqa: F401 - a fixture
from tests.core.conftest import login  # noqa: F401 - a fixture

HOSTILE = (
    "'; DROP TABLE recorders; --",
    "$1 %s {0} \\' \\x00 /* */",
    '"; SELECT pg_sleep(60); --',
    "zero\0byte",
    "half a \ud800 pair",
    "right\u202eleft\u0007bell\nline",
    "-i /etc/passwd",
    "../../../etc/passwd",
    "x" * 200_000,
)


async def everything(connection: Connection) -> dict[str, list[str]]:
    """Every row of every table, as text."""
    names = await connection.fetch(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
    )
    return {
        n: sorted([r[0] for r in await connection.fetch(f'SELECT t::text FROM "{n}" t')])
        for (n,) in sorted(map(tuple, names))
    }
