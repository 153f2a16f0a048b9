"""What holds for every recurrence, and croniter's second opinion where no clock change divides us."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from croniter import croniter
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.recording.recurrence import Recurrence, between, next_after
from core.recording.recurrence_errors import NeverHappens


def lists(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(values, min_size=1, max_size=3).map(",".join)


def numbers(lowest: int, highest: int) -> st.SearchStrategy[str]:
    number = st.integers(lowest, highest)
    return st.one_of(
        number.map(str),
        st.tuples(number, number)
        .filter(lambda ends: ends[0] < ends[1])
        .map(lambda ends: f"{ends[0]}-{ends[1]}"),
        st.integers(1, highest).map(lambda step: f"*/{step}"),
        st.tuples(st.integers(lowest, highest - 1), st.integers(1, 9)).map(
            lambda both: f"{both[0]}/{both[1]}"
        ),
    )


MINUTES = st.one_of(st.just("*"), lists(numbers(0, 59)))
HOURS = st.one_of(st.just("*"), lists(numbers(0, 23)))
MONTHS = st.one_of(
    st.just("*"), lists(numbers(1, 12)), st.sampled_from(["jan", "FEB,Mar", "oct-feb", "jun-aug/2"])
)
WEEKDAY_NAMES = st.sampled_from(["sun", "MON", "tue", "wed", "thu", "Fri", "sat"])
PLAIN_DAYS = st.one_of(st.sampled_from(["*", "?"]), lists(st.one_of(numbers(1, 31), st.just("L"))))
PLAIN_WEEKDAYS = st.one_of(
    st.just("*"),
    lists(numbers(0, 6)),
    lists(WEEKDAY_NAMES),
    st.sampled_from(["mon-fri", "sat-mon", "0-7", "7"]),
)
NUMBERED_WEEKDAYS = lists(
    st.one_of(
        st.tuples(WEEKDAY_NAMES, st.integers(1, 5)).map(lambda both: f"{both[0]}#{both[1]}"),
        st.integers(0, 6).map(lambda weekday: f"L{weekday}"),
        st.just("mon-wed#2"),
    )
)
DAY_KINDS = st.one_of(
    st.tuples(PLAIN_DAYS, PLAIN_WEEKDAYS),
    st.tuples(st.just("*"), NUMBERED_WEEKDAYS),
    st.tuples(st.integers(1, 31).map(lambda day: f"{day}W"), st.just("*")),
)
EXPRESSIONS = st.tuples(MINUTES, HOURS, DAY_KINDS, MONTHS).map(
    lambda p: f"{p[0]} {p[1]} {p[2][0]} {p[3]} {p[2][1]}"
)
ZONES = st.sampled_from(
    [
        "UTC",
        "Europe/Prague",
        "America/New_York",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "Africa/Cairo",
        "America/Santiago",
        "America/Havana",
        "Antarctica/Troll",
        "Asia/Tehran",
        "Pacific/Chatham",
        "Asia/Kathmandu",
    ]
)
INSTANTS = st.datetimes(datetime(2020, 1, 1), datetime(2035, 12, 31), timezones=st.just(UTC))
CLOCK_CHANGES = [
    datetime(2026, 3, 29, 1, tzinfo=UTC),
    datetime(2026, 10, 25, 1, tzinfo=UTC),
    datetime(2026, 4, 4, 15, tzinfo=UTC),
    datetime(2026, 10, 3, 15, 30, tzinfo=UTC),
]
NEAR_CHANGES = st.builds(
    lambda change, minutes: change + timedelta(minutes=minutes),
    st.sampled_from(CLOCK_CHANGES),
    st.integers(-200, 200),
)
START, END = datetime(2025, 12, 1, tzinfo=UTC), datetime(2027, 2, 1, tzinfo=UTC)
DATES = st.dates(date(2026, 1, 1), date(2026, 12, 31))


def readable(cron: str, zone: str = "UTC") -> Recurrence:
    try:
        return Recurrence(cron, zone)
    except NeverHappens:
        assume(False)
        raise


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS, INSTANTS)
def test_croniter_agrees_where_the_clock_never_changes(cron: str, start: datetime) -> None:
    recurrence = readable(cron)
    asked = start
    theirs = croniter(cron, start)
    for _ in range(4):
        ours = next_after(recurrence, asked)
        assert ours == theirs.get_next(datetime)
        assert ours is not None
        asked = ours


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS, ZONES, st.one_of(INSTANTS, NEAR_CHANGES))
def test_always_later_and_the_same_one_by_one_as_in_a_span(cron: str, zone: str, start: datetime) -> None:
    recurrence = readable(cron, zone)
    end = start + timedelta(days=40)
    span = between(recurrence, start, end, 40)
    assert all(earlier < later for earlier, later in pairwise([start, *span]))
    assert all(instant.tzinfo is UTC and instant <= end for instant in span)
    asked = start
    for expected in span:
        found = next_after(recurrence, asked)
        assert found == expected
        asked = found
    if len(span) < 40:
        found = next_after(recurrence, asked)
        assert found is None or found > end


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS, ZONES, NEAR_CHANGES, st.integers(0, 90), st.integers(0, 90))
def test_asking_later_never_answers_earlier(
    cron: str, zone: str, start: datetime, one: int, two: int
) -> None:
    recurrence = readable(cron, zone)
    near, far = sorted((start + timedelta(minutes=one), start + timedelta(minutes=two)))
    first, second = next_after(recurrence, near), next_after(recurrence, far)
    assert first is not None
    assert second is not None
    assert near < first <= second
    assert far < second
    assert first == second or first <= far


@settings(max_examples=100, deadline=None)
@given(st.times(), st.sampled_from(["*", None]), ZONES, DATES, DATES, st.frozensets(DATES, max_size=20))
def test_days_narrow_and_never_move(
    at: time, hours: str | None, zone: str, one: date, two: date, skips: frozenset[date]
) -> None:
    first, last = sorted((one, two))
    cron = f"{at.minute} {hours or at.hour} * * *"
    every = between(Recurrence(cron, zone), START, END, 20_000)
    some = between(Recurrence(cron, zone, first, last, skips), START, END, 20_000)
    assert set(some) <= set(every)

    def kept(instant: datetime) -> bool:
        day = instant.astimezone(ZoneInfo(zone)).date()
        return first <= day <= last and day not in skips

    # In none of these zones does a gap reach past midnight, so that the planned day is the day it is due.
    assert some == [instant for instant in every if kept(instant)]
