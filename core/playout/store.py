"""The statements on channels and on as-run, given types. The SQL itself is in queries.sql."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.db.database import AnyConnection
from core.db.queries import beside
from core.model import builder
from core.playout.as_run import Entry, Logged, Writing
from core.playout.model import AsRunRow, Channel, Item, Placement
from core.recording.model import Node

SQL = beside(__file__, "queries.sql")
build_channel = builder(Channel)
build_item = builder(Item)
build_placement = builder(Placement)
build_row = builder(AsRunRow)
build_node = builder(Node)


@dataclass(frozen=True, slots=True)
class LogState:
    logged: Logged
    node_id: int | None
    settled: bool
    unsettled_before: bool  # an earlier placement's events come first
    open_generation: int | None


async def log_state(connection: AnyConnection, channel_id: int, generation: int) -> LogState | None:
    """What as-run holds for a placement, whose row stays locked until the transaction ends."""
    row = await connection.fetchrow(SQL.log_state, channel_id, generation)
    if row is None:
        return None
    found = await connection.fetchrow(SQL.open_row, channel_id)
    opened = None
    if found is not None:
        opened = Entry(
            found["item_id"], found["asset_id"], found["clip_name"], found["started_at"], None, found["result"],
            found["event_seq"],
        )  # fmt: skip
    logged = Logged(
        opened,
        row["tail"],
        row["event_seq"],
        row["item_offset"],
        row["mark"],
        # Between a stop and the next start nothing was meant to be on air.
        row["event_seq"] > 0 or bool(row["mark"]) or row["reason"] in ("failover", "asked"),
        row["last_seen"],
    )
    return LogState(
        logged,
        row["node_id"],
        row["settled_at"] is not None,
        row["unsettled_before"],
        None if found is None else found["generation"],
    )


async def write(
    connection: AnyConnection, channel_id: int, generation: int, node_id: int | None, writing: Writing
) -> None:
    if writing.close is not None:
        await connection.execute(SQL.close_row, channel_id, *writing.close)
    if writing.rows:
        columns = zip(
            *((r.item_id, r.asset_id, r.clip, r.started_at, r.ended_at, r.result, r.event_seq) for r in writing.rows),
            strict=True,
        )  # fmt: skip
        await connection.execute(SQL.add_rows, channel_id, generation, node_id, *(list(c) for c in columns))
    after = writing.after
    await connection.execute(SQL.log_moved, channel_id, generation, after.seq, after.offset, after.mark)


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything the lane decides on, read at one moment."""

    channels: dict[int, Channel]
    nodes: list[Node]
    placements: list[Placement]
    restarts: dict[int, list[datetime]]


async def picture(connection: AnyConnection) -> Picture:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        channels = {r["id"]: build_channel(r) for r in await connection.fetch(SQL.channels)}
        placements = [build_placement(r) for r in await connection.fetch(SQL.open_placements)]
        restarts: dict[int, list[datetime]] = {}
        for row in await connection.fetch(SQL.restarts):
            restarts.setdefault(row["channel_id"], []).append(row["placed_at"])
        nodes = [build_node(r) for r in await connection.fetch(SQL.nodes)]
    return Picture(channels, nodes, placements, restarts)
