"""What the plant is told of this node's sidecars, and what they learn from it."""

from __future__ import annotations

import time

from core.agent.channels import Channels
from core.db.database import Connection
from core.db.queries import beside

SQL = beside(__file__, "report.sql")


async def report_deaths(connection: Connection, channels: Channels) -> None:
    for airing in channels.deaths():
        now = time.time()
        age = max(now - (airing.ended_at or now), 0.0)
        why = airing.why or "The sidecar died."
        await connection.execute(SQL.sidecar_died, airing.channel, airing.generation, age, why)
        airing.reported = True
        airing.save()


async def compare_generations(connection: Connection, channels: Channels) -> None:
    """A sidecar that is not the current one of its channel any more goes off air at once."""
    if mine := channels.running():
        rows = await connection.fetch(SQL.generations, list(mine))
        # A channel that the plant does not have any more has no current generation at all. One that was started
        # while the question was on its way was not asked about, and nothing is known of it.
        channels.compare({n: g + 1 for n, g in mine.items()} | {r["id"]: r["generation"] for r in rows})
