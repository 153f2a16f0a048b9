"""What an operator reads about a recurrence."""

from __future__ import annotations

from datetime import date, time

import pytest

from core.recording.recurrence import Recurrence, daily, describe, weekly

HERE = "Europe/Zagreb"


@pytest.mark.parametrize(
    "recurrence,words",
    [
        (daily(time(20), HERE), "Every day at 20:00"),
        (weekly([0, 1, 2, 3, 4], time(19), HERE), "Every weekday at 19:00"),
        (weekly([3, 0], time(6, 30), HERE), "Mondays and Thursdays at 06:30"),
        (weekly([6], time(6, 30), HERE), "Sundays at 06:30"),
        (weekly(range(7), time(6, 30), HERE), "Every day at 06:30"),
        (Recurrence("0 0 1 * *", HERE), "On the 1st of every month at 00:00"),
        (Recurrence("0 0 2,l * *", HERE), "On the 2nd and last day of every month at 00:00"),
        (Recurrence("0 0 31 * *", HERE), "On the 31st of every month that has one at 00:00"),
        (Recurrence("0 0 30,31 * *", HERE), 'By the cron expression "0 0 30,31 * *"'),
        (Recurrence("0 18 24 12 *", HERE), "Every 24 December at 18:00"),
        (Recurrence("0 9 * * mon#1", HERE), "On the first Monday of every month at 09:00"),
        (Recurrence("0 9 * * L5", HERE), "On the last Friday of every month at 09:00"),
        (Recurrence("0 9 * * 5#5", HERE), "On the fifth Friday of every month that has one at 09:00"),
        (Recurrence("0 9 15W * *", HERE), "On the weekday nearest the 15th of every month at 09:00"),
        (Recurrence("0 6,12,18 * jun-jul *", HERE), "Every day in June and July at 06:00, 12:00 and 18:00"),
        (Recurrence("0 6-22/2 * * *", HERE), "Every day, every 2 hours from 06:00 to 22:00"),
        (Recurrence("* * * * *", HERE), "Every minute"),
        (Recurrence("*/10 * * * *", HERE), "Every 10 minutes"),
        (Recurrence("0 * * * *", HERE), "Every hour on the hour"),
        (Recurrence("@hourly", HERE), "Every hour on the hour"),
        (Recurrence("5,35 * * * sat", HERE), "Every hour at 05 and 35 past, on Saturdays"),
        (Recurrence("*/7 * * * *", HERE), 'By the cron expression "*/7 * * * *"'),
        (Recurrence("0 0 13 * fri", HERE), 'By the cron expression "0 0 13 * fri"'),
    ],
)  # fmt: skip
def test_in_plain_words(recurrence: Recurrence, words: str) -> None:
    assert describe(recurrence) == f"{words}, Europe/Zagreb"


def test_limits_in_plain_words() -> None:
    first, last = date(2026, 3, 1), date(2026, 6, 30)
    skips = frozenset({date(2026, 5, 1), date(2026, 4, 6)})
    many = frozenset(date(2026, 4, day) for day in range(1, 8))
    at_eight = ("0 20 * * *", "UTC")
    assert describe(Recurrence(*at_eight, first, last, skips)) == (
        "Every day at 20:00, UTC, from 1 March 2026 until 30 June 2026, except 6 April 2026 and 1 May 2026"
    )
    assert describe(Recurrence(*at_eight, None, last)) == "Every day at 20:00, UTC, until 30 June 2026"
    assert describe(Recurrence(*at_eight, skips=many)) == (
        "Every day at 20:00, UTC, except 7 dates between 1 April 2026 and 7 April 2026"
    )
