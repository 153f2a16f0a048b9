"""Airlock itself. `headless`: a station as `main.py scheduler` runs it. `desktop`: the same station in a process
with a window of 1920 x 1080 that is painted anew sixty times a second.

Its windows are in the database already, as anybody may put them there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from datetime import timedelta

from core.recording.lane import RecordingLane
from core.recording.recorder_client import RecorderClient
from core.station import Identity, Station
from tests.bench.peers.contest import TOKEN, read_task, until_told


async def main(kind: str) -> None:
    task = read_task()
    client = RecorderClient(TOKEN)
    lane = RecordingLane(client, timedelta(milliseconds=5000), timedelta(minutes=120))
    station = Station(task.database, Identity("BENCH", kind, "bench"), [lane])
    if kind == "desktop":
        station.clock.beside_a_window()
    await station.start()
    while not (station.leading and station.feed.state.live):  # noqa: ASYNC110 - there is no event for both
        await asyncio.sleep(0.01)
    await until_told()
    await station.stop()
    await client.close()


def desktop() -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication

    from gui.loop import new_event_loop
    from tests.bench.peers.busy_window import BusyWindow

    app = QApplication([])
    window = BusyWindow()
    window.resize(1920, 1080)
    window.show()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main("desktop"))
    print(window.report(), file=sys.stderr)
    window.close()
    del app


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    if sys.argv[1] == "desktop":
        desktop()
    else:
        asyncio.run(main("headless"))
