"""Every IANA zone, 2020 to 2035, around every clock change: no difference from the oracle.

Zones whose clocks show the same in all these years share one full set of questions. With
AIRLOCK_TEST_EVERYTHING=1 each gets its own, and also fixed times at every minute around each change;
that takes many minutes, so add `-o faulthandler_timeout=0`.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from core.recording.recurrence import Recurrence, between, next_after
from tests.core.recording.recurrence_oracle import (
    DAYS,
    HOURS,
    Change,
    Neighbourhood,
    as_instant,
    as_minute,
    due,
    look,
    wall_at,
    zones_by_changes,
)

AROUND = 25 * HOURS
NO_LIMIT = 10_000
EVERYTHING = bool(os.environ.get("AIRLOCK_TEST_EVERYTHING"))


def expressions(change: Change) -> Iterator[str]:
    first, end = change.skipped_or_repeated
    inside = (first + end) // 2
    for wall in (first - 1, first, first + 1, inside, end - 1, end, end + 1):
        yield f"{at(wall)} * * *"
    if EVERYTHING:
        for wall in range(first - 61, end + 62):
            yield f"{at(wall)} * * *"
    day, hour = date.fromordinal(inside // DAYS), hour_of(inside)
    weekday = day.isoweekday() % 7
    yield "0 0 * * *"
    yield "59 23 * * *"
    yield f"{at(inside)} * * {weekday}"
    yield f"{at(inside)} {day.day} {day.month} *"
    yield f"{at(inside)} {day.day} * {(weekday + 1) % 7}"
    yield f"*/10 {hour} * * *"
    yield f"0,30 {','.join(str(h) for h in sorted({hour, (hour + 1) % 24, (hour + 23) % 24}))} * * *"
    yield "0 * * * *"
    yield "*/15 * * * *"
    yield f"7 * {day.day} {day.month} *"


def at(wall: int) -> str:
    return f"{wall % HOURS} {hour_of(wall)}"


def hour_of(wall: int) -> int:
    return wall // HOURS % 24


def differences(
    name: str, change: Change, around: Neighbourhood, expected: dict[str, list[int]]
) -> Iterator[str]:
    for expression, minutes in expected.items():
        recurrence = Recurrence(expression, name)
        got = between(recurrence, as_instant(around.start), as_instant(around.end), NO_LIMIT)
        if [as_minute(instant) for instant in got] != minutes or any(instant.second for instant in got):
            yield f"{name} {expression!r} around {as_instant(change.minute)}: {got}"
        if any(later <= earlier for earlier, later in pairwise(got)):
            yield f"{name} {expression!r} around {as_instant(change.minute)} is not increasing"
        yield from differences_one_by_one(recurrence, change, minutes)


def differences_one_by_one(recurrence: Recurrence, change: Change, minutes: list[int]) -> Iterator[str]:
    shift = abs(change.wall_to - change.wall_from)
    questions = {change.minute + minutes for minutes in (-shift, -1, 0, 1, shift // 2, shift)}
    questions.update(minute for minute in minutes if abs(minute - change.minute) <= shift)
    for question in sorted(questions):
        for second in (-1, 0):
            index = bisect_right(minutes, question + second)
            if index < len(minutes):
                got = next_after(recurrence, as_instant(question) + timedelta(seconds=second))
                if got != as_instant(minutes[index]):
                    yield f"{recurrence} after {as_instant(question)} {second:+} s: {got}"


def test_every_zone_around_every_change() -> None:
    wrong: list[str] = []
    zones = asked = 0
    for (_, table), names in zones_by_changes().items():
        zones += len(names)
        # Zones whose clock never changes are asked too, around a day like any other.
        for change in (*table, ordinary_day(ZoneInfo(names[0]))):
            around = look(ZoneInfo(names[0]), change.minute - AROUND, change.minute + AROUND)
            expected = {expression: due(expression, around) for expression in expressions(change)}
            sample = {expression: expected[expression] for expression in list(expected)[3:4]}
            for name in names:
                # The same clock under another name gives the same answers: one question each is enough.
                questions = expected if name == names[0] or EVERYTHING else sample
                asked += len(questions)
                wrong += differences(name, change, around, questions)
    assert not wrong, f"{len(wrong)} differences, the first ones:\n" + "\n".join(wrong[:10])
    assert zones > 400
    assert asked > 20_000


def ordinary_day(zone: ZoneInfo) -> Change:
    noon = as_minute(datetime(2026, 6, 15, 12, tzinfo=UTC))
    return Change(noon, wall_at(zone, noon), wall_at(zone, noon))
