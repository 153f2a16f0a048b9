"""What cannot be a recurrence is refused in a sentence that says what to change."""

from __future__ import annotations

from datetime import date, time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import AirlockError
from core.recording.recurrence import Recurrence, daily, describe, weekly
from core.recording.recurrence_errors import NeverHappens, UnknownTimeZone, WrongCronExpression, WrongDays


@pytest.mark.parametrize(
    "cron,said",
    [
        ("", "is empty"),
        (
            "0 25 * * *",
            'The hour part of the cron expression "0 25 .*" has "25", which cannot be used. Use 0 to 23',
        ),
        ("0,61 * * * *", 'The minute part .* has "61"'),
        ("*/0 * * * *", 'The minute part .* has "\\*/0"'),
        ("0 0 32 * *", 'The day of month part .* has "32"'),
        ("0 0 0 * *", 'The day of month part .* has "0"'),
        ("0 0 * 13 *", 'The month part .* has "13"'),
        ("0 0 * * mon,funday", 'The weekday part .* has "funday"'),
        ("0 0 * * mon#6", 'The weekday part .* has "mon#6"'),
        ("0 , * * *", "The hour part .* has nothing between two commas"),
        ("0 8 * *", "has 4 parts, and five are needed"),
        ("20:00", "has 1 part, and five are needed"),
        ("0 0 8 * * *", "has 6 parts, and five are needed .*: leave out the seconds"),
        ("0 0 8 * * * 2026", "has 7 parts, and five are needed .*: leave out the seconds and the year"),
        ("@reboot", '"@reboot" names no time of day'),
        ("@fortnightly", '"@fortnightly" is not known. Use one of @hourly'),
        ("H 3 * * *", 'The minute part "h" asks for a value chosen at random'),
        ("0 R(1-5) * * *", 'The hour part "r\\(1-5\\)" asks for a value chosen at random'),
        ("0 0 H/2 * *", 'The day of month part "h/2" asks for a value chosen at random'),
        ("59/1 * * * *", '"59/1" starts and ends at the same value'),
        ("5-5 * * * *", '"5-5" starts and ends at the same value'),
        ("0 0 * * 1-mon", '"1-mon" starts and ends at the same value'),
        ("0 0 * * 7-sun", '"7-sun" starts and ends at the same value'),
        ("0 0 * dec/2 *", '"dec/2" starts and ends at the same value'),
        ("0 0 * * mon,tue#2", '"mon,tue#2" mixes plain weekdays with numbered ones'),
        ("0 0 * * *,tue#2", "mixes plain weekdays with numbered ones"),
        ("0 0 * * 0-6,tue#2", "mixes plain weekdays with numbered ones"),
        ("0 0 15 * mon#1", 'The day of month "15" cannot be combined with the weekday "mon#1"'),
        ("0 0 15w * mon", 'The day of month "15w" cannot be combined with the weekday "mon"'),
        ("0 " * 600, "longer than 1000 characters"),
    ],
)
def test_wrong_expressions_say_what_is_wrong(cron: str, said: str) -> None:
    with pytest.raises(WrongCronExpression, match=said):
        Recurrence(cron, "UTC")


@pytest.mark.parametrize("cron", ["0 0 30 2 *", "0 0 30,31 feb *", "* * 31 4,6,9,11 *"])
def test_days_that_never_come(cron: str) -> None:
    with pytest.raises(NeverHappens, match="never comes in month"):
        Recurrence(cron, "UTC")


@pytest.mark.parametrize(
    "zone,said",
    [
        ("europe/prague", "Did you mean Europe/Prague\\?"),
        ("Prague", "Did you mean Europe/Prague\\?"),
        ("Europe/Pragve", "Did you mean Europe/Prague"),
        ("America/New York", "Did you mean America/New_York\\?"),
        ("CEST", "Use an IANA name such as"),
        ("Europe", "Use an IANA name such as"),
        ("../../etc/passwd", "Use an IANA name such as"),
        ("localtime", "Use an IANA name such as"),
        ("x" * 5000, "Use an IANA name such as"),
        ("a\0b", "Use an IANA name such as"),
        ("", "Use an IANA name such as"),
    ],
)
def test_unknown_time_zones(zone: str, said: str) -> None:
    with pytest.raises(UnknownTimeZone, match=said):
        Recurrence("0 20 * * *", zone)


def test_days_and_times_that_contradict_themselves() -> None:
    with pytest.raises(WrongDays, match="is before the first day"):
        Recurrence("0 20 * * *", "UTC", date(2026, 2, 1), date(2026, 1, 1))
    with pytest.raises(WrongDays, match="at least one day of the week"):
        weekly([], time(20), "UTC")
    with pytest.raises(WrongDays, match="at least one day of the week"):
        weekly([7], time(20), "UTC")
    with pytest.raises(WrongDays, match=r"20:00:30 has seconds\. Choose 20:00"):
        daily(time(20, 0, 30), "UTC")


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789*/-,#?LWHR@mondecl() \t\n\0é", max_size=30), st.text(max_size=12))
def test_whatever_is_typed_is_read_or_refused_in_a_sentence(cron: str, zone: str) -> None:
    for typed_cron, typed_zone in ((cron, "UTC"), (f"{cron} * * * *", "UTC"), ("0 0 * * *", zone)):
        assert in_a_sentence(typed_cron, typed_zone)


def in_a_sentence(cron: str, zone: str) -> bool:
    try:
        return bool(describe(Recurrence(cron, zone)))
    except AirlockError as refusal:
        return str(refusal).endswith((".", "?"))
