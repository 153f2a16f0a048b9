"""Nodes that fall silent: marked, alarmed, and cleared when they are back."""

from __future__ import annotations

from core.db.database import Connection
from core.leadership import Lead
from tests.core.test_housekeeping import lead, round_of

__all__ = ["lead"]


async def add_node(connection: Connection, name: str, seen: str, signed_off: bool = False) -> int:
    node: int = await connection.fetchval(
        "INSERT INTO nodes (name, base_url, status, last_heartbeat_at, signed_off_at) VALUES "
        "($1, 'http://x', 'online', now() - $2::text::interval, CASE WHEN $3 THEN now() END) RETURNING id",
        name, seen, signed_off,
    )  # fmt: skip
    await connection.execute(
        "INSERT INTO recorders (name, node_id, external_id, status) VALUES ($1, $2, $1, 'idle')",
        f"R-{name}",
        node,
    )
    return node


async def test_a_silent_node_is_marked_and_alarmed_and_its_recorders_are_offline(
    connection: Connection, lead: Lead
) -> None:
    node = await add_node(connection, "gone", "10 s")
    await add_node(connection, "here", "1 s")
    await add_node(connection, "ended", "10 s", signed_off=True)
    await round_of(lead)
    rows = await connection.fetch("SELECT name, status FROM nodes ORDER BY name")
    assert [(r["name"], r["status"]) for r in rows] == [
        ("ended", "offline"),
        ("gone", "offline"),
        ("here", "online"),
    ]
    assert await connection.fetchval("SELECT status FROM recorders WHERE node_id = $1", node) == "offline"
    alarms = await connection.fetch("SELECT key FROM alarms WHERE state = 'active_unacked'")
    assert [a["key"] for a in alarms] == ["node:silent:gone"]
    await connection.execute("UPDATE nodes SET last_heartbeat_at = now() WHERE id = $1", node)
    await round_of(lead)
    assert await connection.fetchval("SELECT state FROM alarms") == "cleared_unacked"
