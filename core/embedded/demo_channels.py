"""The demonstration's channels come and go with the window, or the headless station, that shows them.

Their clips are made beside the start, once; then they go on air. When the last station leaves and nothing else is at
work they go off air first, in good order, and rest until somebody comes again: nobody looks at a demonstration that
nobody has open. What people made themselves is never touched. A demonstration channel that somebody stopped stays so.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import asyncpg
import imageio_ffmpeg

from core.clock import steady
from core.db.database import CONNECTION_ERRORS, Database, close_connection
from core.embedded import demo
from core.embedded.clips import make_clips
from core.errors import AirlockError

log = logging.getLogger(__name__)
REPLAY_EVERY = 15.0
REST_LIMIT = 10.0


async def keep_on_air(database: Database, media: Path) -> None:
    """Runs until it is cancelled. Whatever goes wrong here is logged: it is a demonstration, not the plant."""
    try:
        if not await _wanted(database) or not await make_clips(imageio_ffmpeg.get_ffmpeg_exe(), media):
            return
        woken = await _ask(database, demo.SQL.wake_channels)
        if woken:
            log.info("the demonstration's channels go on air: %s", ", ".join(r["name"] for r in woken))
        while True:
            await _ask(database, demo.SQL.replay_recordings, demo.REPLAY, demo.LONGEST_REPLAY)
            await asyncio.sleep(REPLAY_EVERY)
    except (AirlockError, OSError, asyncpg.PostgresError, *CONNECTION_ERRORS) as error:
        log.warning("the demonstration's channels are not looked after: %s", error)


async def rest(database: Database) -> None:
    """Takes them off air and waits, within reason, until they are. A station must still lead."""
    resting = await _ask(database, demo.SQL.rest_channels)
    since = steady()
    while steady() - since < REST_LIMIT:
        found = await _ask(database, demo.SQL.channels_at_rest)
        if found[0][0]:
            break
        await asyncio.sleep(0.05)
    if resting:
        log.info("the demonstration's channels rest: %s", ", ".join(r["name"] for r in resting))


async def _wanted(database: Database) -> bool:
    return bool((await _ask(database, demo.SQL.has_channels))[0][0])


async def _ask(database: Database, statement: str, *arguments: object) -> list[asyncpg.Record]:
    connection = await database.connect("demonstration")
    try:
        found: list[asyncpg.Record] = await connection.fetch(statement, *arguments)
        return found
    finally:
        await close_connection(connection)
