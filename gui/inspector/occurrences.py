"""The next occurrences of a recurrence, each with what it would run into. No Qt here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from core.recording.recurrence import Recurrence, between
from gui.timeline.lanes import Lanes
from gui.words import zone_offset

COUNT = 5
AHEAD = timedelta(days=370)


@dataclass(frozen=True, slots=True)
class Occurrence:
    day: str
    times: str
    check: str
    collides: bool


def next_five(
    rule: Recurrence,
    length: timedelta,
    recorder: int,
    lanes: Lanes,
    series: int | None,
    now: datetime,
    zone: tzinfo,
) -> list[Occurrence]:
    """In the plant's time. A day on the other side of a clock change names its offset."""
    found = []
    today = now.astimezone(zone).utcoffset()
    for at in between(rule, now, now + AHEAD, COUNT):
        start, end = at.astimezone(zone), (at + length).astimezone(zone)
        others = [
            w
            for w in lanes.lane(recorder).active_between(at.timestamp(), (at + length).timestamp())
            if series is None or w.series_id != series
        ]
        check = f"Conflict with {others[0].name}" if others else "Clear"
        if start.utcoffset() != today:
            check += f", {zone_offset(start)}"
        found.append(
            Occurrence(
                f"{start:%a} {start.day} {start:%b}", f"{start:%H:%M}–{end:%H:%M}", check, bool(others)
            )
        )
    return found
