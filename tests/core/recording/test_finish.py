"""What is entered when windows end."""

from __future__ import annotations

import asyncio
import time

import pytest


async def test_many_that_end_at_once_are_completed_and_their_recordings_ready(
    station, recorder, add_recorder, add_window, connection
):
    """These recorders have no agent: nobody else would say that the recording is complete."""
    units = [await add_recorder(f"REC-{n}") for n in range(20)]
    for unit in units:
        await add_window(unit, 0.5, 1.0)
    deadline = time.monotonic() + 6
    while (found := await connection.fetch("SELECT DISTINCT status FROM recorder_schedules")) and [
        r["status"] for r in found
    ] != ["completed"]:
        if time.monotonic() > deadline:
            pytest.fail(f"the windows are {found}")
        await asyncio.sleep(0.02)
    assets = await connection.fetch("SELECT status, count(*) AS n FROM assets GROUP BY status")
    assert [(a["status"], a["n"]) for a in assets] == [("ready", 20)]
