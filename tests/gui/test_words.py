"""How times and spans are written."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from gui import words


@pytest.mark.parametrize(
    "seconds, expected",
    [(0, "00:00:00"), (59.9, "00:00:59"), (3661, "01:01:01"), (-5, "00:00:00"), (90061, "1 d 01:01")],
)
def test_clock(seconds: float, expected: str) -> None:
    assert words.clock(seconds) == expected


@pytest.mark.parametrize(
    "zone, expected",
    [
        ("UTC", "UTC"),
        ("Europe/Berlin", "UTC+1"),
        ("Asia/Kolkata", "UTC+5:30"),
        ("America/St_Johns", "UTC−3:30"),
    ],
)
def test_zone_offset(zone: str, expected: str) -> None:
    assert words.zone_offset(datetime(2026, 1, 15, tzinfo=ZoneInfo(zone))) == expected


def test_another_day_has_its_name() -> None:
    today = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)
    assert words.time_of_day(datetime(2026, 11, 18, 8, 30, 5, tzinfo=UTC), today) == "08:30:05"
    assert words.time_of_day(datetime(2026, 11, 17, 23, 30, tzinfo=UTC), today) == "Tue 23:30"


def test_offsets_have_a_sign_only_when_there_is_one() -> None:
    assert words.signed_milliseconds(-0.3) == "0 ms"
    assert words.signed_milliseconds(-140) == "−140 ms"
    assert words.signed_milliseconds(2300) == "+2.3 s"
    assert words.signed_milliseconds(None) == "–"
