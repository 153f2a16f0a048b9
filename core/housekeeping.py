"""The leader's housekeeping: who is silent, whose clock is wrong, what may be thrown away.

The conditions are pure functions; the lane only fetches rows, raises and clears.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime

from core.alarms import store as alarms
from core.alarms.model import Condition, Priority
from core.db.database import AnyConnection
from core.db.queries import beside
from core.lanes import LaneContext
from core.leadership import Lead
from core.model import SILENT_AFTER, StationRow, builder
from core.recording.model import Node

SQL = beside(__file__, "housekeeping.sql")
EVERY = 1.0
CLOCK_LIMIT_MS = 1000.0
KEEP_TOMBSTONES = 24  # hours; a station that was away longer reloads everything anyway
build_station = builder(StationRow)
build_node = builder(Node)


def silent_stations(stations: Iterable[StationRow], now: datetime) -> list[Condition]:
    return [
        Condition(
            key=f"station:silent:{s.name}",
            priority=Priority.LOW,
            source_kind="station",
            source_id=s.id,
            source_name=s.name,
            message="Workstation not seen",
            effect=f"{s.operator or 'Its operator'} may be looking at an old picture. "
            "The plant is not affected.",
            action="Ask at the workstation. If it was switched off on purpose, acknowledge.",
        )
        for s in stations
        if s.status != "left" and now - s.last_seen_at > SILENT_AFTER
    ]


def silent_nodes(nodes: Iterable[Node], now: datetime) -> list[Condition]:
    """A node that was switched off in good order said so; one that fell silent did not."""
    return [
        Condition(
            key=f"node:silent:{n.name}",
            priority=Priority.HIGH,
            source_kind="node",
            source_id=n.id,
            source_name=n.name,
            message="Node not seen",
            effect="What records there goes on by itself, but cannot be watched, started or stopped.",
            action="Check the machine, its agent and the network to it.",
        )
        for n in nodes
        if n.signed_off_at is None
        and n.last_heartbeat_at is not None
        and now - n.last_heartbeat_at > SILENT_AFTER
    ]


def wrong_clocks(stations: Iterable[StationRow]) -> list[Condition]:
    return [
        Condition(
            key=f"station:clock:{s.name}",
            priority=Priority.LOW,
            source_kind="station",
            source_id=s.id,
            source_name=s.name,
            message="Workstation clock is off by more than a second",
            effect="Airlock goes by the database's clock, so recordings start on time. "
            "Other programs on that workstation may not.",
            action="Check the time service of that workstation.",
        )
        for s in stations
        if s.status == "online" and s.clock_offset_ms is not None and abs(s.clock_offset_ms) > CLOCK_LIMIT_MS
    ]


def hung_leader(station: str) -> Condition:
    return Condition(
        key="leader:hung",
        priority=Priority.HIGH,
        source_kind="station",
        source_name=station,
        message=f"{station} stopped responding while leading and was replaced",
        effect="For a few seconds nobody started or stopped anything. "
        "What came due meanwhile was handled first.",
        action=f"Check {station}: a paused or frozen machine, or a network that drops packets.",
    )


class Housekeeping:
    """The lane that runs the above while this station leads."""

    name = "housekeeping"

    async def run(self, context: LaneContext) -> None:
        lead: Lead = context.lead
        if lead.deposed is not None:
            async with lead.pool.acquire() as connection:
                # An event, not a lasting condition: it stays on the list until acknowledged.
                await alarms.record_past(connection, hung_leader(lead.deposed), lead.acquired_at)
        last_purge = None
        while not context.stopping.is_set():
            now = context.clock.now()
            async with lead.pool.acquire() as connection:
                await self._look_at_stations(connection, now, lead.acquired_at)
                await connection.execute(alarms.SQL.unshelve_due)
                if last_purge is None or (now - last_purge).total_seconds() > 3600:
                    await connection.execute(SQL.purge_tombstones, KEEP_TOMBSTONES)
                    last_purge = now
            try:
                async with asyncio.timeout(EVERY):
                    await context.stopping.wait()
            except TimeoutError:
                pass

    @staticmethod
    async def _look_at_stations(connection: AnyConnection, now: datetime, listening_since: datetime) -> None:
        # After an outage of the database everybody has been silent: they get the time to be heard again.
        heard_long_enough = now - listening_since > SILENT_AFTER
        if heard_long_enough:
            await connection.execute(SQL.mark_silent, SILENT_AFTER.total_seconds())
        stations = [build_station(r) for r in await connection.fetch(SQL.stations)]
        families = {"station:clock:": wrong_clocks(stations)}
        if heard_long_enough:
            families["station:silent:"] = silent_stations(stations, now)
            await connection.execute(SQL.mark_nodes_offline, SILENT_AFTER.total_seconds())
            nodes = [build_node(r) for r in await connection.fetch(SQL.nodes)]
            families["node:silent:"] = silent_nodes(nodes, now)
        for family, found in families.items():
            for condition in found:
                await alarms.raise_alarm(connection, condition, repeat=False)
            await alarms.clear_others(connection, family, [c.key for c in found])
