"""The demonstration plant: laid down at first run, real in every part, marked as such, removable.

Four recorders on test sources with a burnt-in timecode, on the two local nodes; windows around now; one daily
series; four channels that play real clips, one of which is tied to a card that is not there.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from core.commands import Transaction, command
from core.db.database import AnyConnection
from core.db.queries import beside
from core.embedded.clips import BARS, COAST, COUNTDOWN, GARDEN, HARBOUR, IDENT, TIDES
from core.errors import CommandRefused
from core.recording.recurrence import daily
from core.roles import Role

SQL = beside(__file__, "demo.sql")

NODES = ("node-a", "node-b")
# name, node, source, container
RECORDERS = (
    ("REC-1", "node-a", "test:clock", "mp4"),
    ("REC-2", "node-a", "test:motion", "ts"),
    ("REC-3", "node-b", "test:bars", "mkv"),
    ("REC-4", "node-b", "test:clock", "mp4"),
)
# recorder, title, minutes from now to the start, minutes it lasts
WINDOWS = (
    ("REC-1", "Council Session", 0.2, 25),
    ("REC-1", "Late Bulletin", 40, 20),
    ("REC-2", "Match Feed A", 1, 12),
    ("REC-2", "Post-match Interviews", 20, 15),
    ("REC-2", "Studio Debate", 60, 45),
    ("REC-3", "Press Briefing", 4, 10),
    ("REC-3", "Arts Review", 30, 30),
    ("REC-4", "Overnight Loop", 90, 60),
)

# Small pictures: three channels and what records beside them share an ordinary machine.
RASTER = {"width": 512, "height": 288, "rate": 25}
REPLAY = "CH-3"
LONGEST_REPLAY = 12  # items
# name, title, node, output, address, clips; the card's channel waits for somebody who has one
CHANNELS = (
    ("CH-1", "Harbour One", "node-a", "udp", "udp://127.0.0.1:23101", (IDENT, HARBOUR, COUNTDOWN, COAST)),
    ("CH-2", "Tidewater", "node-b", "udp", "udp://127.0.0.1:23102", (IDENT, TIDES, GARDEN, BARS)),
    (REPLAY, "Recordings", "node-a", "udp", "udp://127.0.0.1:23103", (IDENT, COUNTDOWN)),
    ("CH-4", "Card", "node-b", "decklink", "DeckLink Mini Monitor", (BARS,)),
)


async def lay(connection: AnyConnection, now: datetime, timezone: str) -> None:
    """Fills a plant that was never used. In one transaction: a first run that is cut off leaves nothing
    behind; and under a lock: of two first runs at once, one does it."""
    async with connection.transaction():
        await connection.execute(SQL.lock)
        if not await connection.fetchval(SQL.is_fresh):
            return
        await connection.execute(SQL.mark_plant, timezone)
        nodes = {name: await connection.fetchval(SQL.add_node, name) for name in NODES}
        recorders = {}
        for position, (name, node, source, container) in enumerate(RECORDERS):
            recorders[name] = await connection.fetchval(
                SQL.add_recorder, name, nodes[node], name.lower(), source, {"container": container}, position
            )
        for recorder, title, starts_in, lasts in WINDOWS:
            start = (
                _tidy(now + timedelta(minutes=starts_in))
                if starts_in >= 2
                else now + timedelta(minutes=starts_in)
            )
            await connection.execute(
                SQL.add_window, title, recorders[recorder], start, start + timedelta(minutes=lasts)
            )
        # Twelve hours away, so that it meets none of the windows above whenever the first run is.
        local = _tidy(now + timedelta(hours=12)).astimezone(ZoneInfo(timezone))
        made = daily(local.time(), timezone)
        await connection.execute(
            SQL.add_series, "Evening News", recorders["REC-4"], made.cron, timezone, timedelta(minutes=35)
        )
        for position, (name, title, node, output, address, clips) in enumerate(CHANNELS):
            channel = await connection.fetchval(
                SQL.add_channel,
                name,
                title,
                output,
                address,
                RASTER,
                nodes[node],
                position,
                output != "decklink",
            )
            columns = ([c.name for c in clips], [c.path for c in clips], [float(c.seconds) for c in clips])
            await connection.execute(SQL.add_items, channel, *columns)


def _tidy(instant: datetime) -> datetime:
    """The next full five minutes, as a person would plan."""
    over = timedelta(minutes=instant.minute % 5, seconds=instant.second, microseconds=instant.microsecond)
    return instant if not over else instant - over + timedelta(minutes=5)


@command("Remove the demonstration plant", Role.ENGINEER)
async def remove_demo(tx: Transaction) -> None:
    """Takes away what the first run laid down. Files that were recorded stay in the media folder; a channel that was
    on air goes off air and stays, because its as-run log does."""
    running = await tx.connection.fetch(SQL.running)
    if running:
        names = ", ".join(r["name"] for r in running)
        raise CommandRefused(f"Stop these first: {names}.")
    for statement in (
        SQL.drop_items, SQL.drop_channels, SQL.keep_channels, SQL.forget_assets, SQL.drop_windows, SQL.drop_series,
        SQL.drop_recorders, SQL.drop_nodes, SQL.keep_nodes, SQL.unmark_plant,
    ):  # fmt: skip
        await tx.connection.execute(statement)
    await tx.audit("plant", 1, "Demonstration plant", {"demo": True}, {"demo": False})
