"""When a recurrence is due, by example: clock changes, days, the ends of a span and of the calendar."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

import pytest

from core.recording.recurrence import Recurrence, between, daily, next_after


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def due(recurrence: Recurrence, start: str, end: str) -> list[str]:
    return [f"{instant:%d %H:%M}" for instant in between(recurrence, utc(start), utc(end), 1000)]


class TestClockChanges:
    def test_wall_time_stays_when_the_offset_changes(self) -> None:
        found = due(daily(time(20), "Europe/Prague"), "2026-03-27", "2026-03-31")
        assert found == ["27 19:00", "28 19:00", "29 18:00", "30 18:00"]

    def test_time_left_out_is_due_at_the_next_existing_instant(self) -> None:
        found = due(daily(time(2, 30), "Europe/Prague"), "2026-03-28", "2026-03-31")
        assert found == ["28 01:30", "29 01:00", "30 00:30"]

    def test_time_that_comes_twice_is_due_once_the_first_time(self) -> None:
        found = due(daily(time(2, 30), "Europe/Prague"), "2026-10-24", "2026-10-27")
        assert found == ["24 00:30", "25 00:30", "26 01:30"]

    def test_asked_inside_the_second_pass_the_first_is_not_given_again(self) -> None:
        series = daily(time(2, 30), "Europe/Prague")
        assert next_after(series, utc("2026-10-25T01:10")) == utc("2026-10-26T01:30")

    def test_several_times_in_a_gap_become_one(self) -> None:
        series = Recurrence("*/10 1-3 * * *", "Europe/Prague")
        assert due(series, "2026-03-29T00:40", "2026-03-29T01:20") == [
            "29 00:50",
            "29 01:00",
            "29 01:10",
            "29 01:20",
        ]

    def test_fixed_hours_are_silent_in_the_second_pass(self) -> None:
        series = Recurrence("*/20 1-3 * * *", "Europe/Prague")
        found = due(series, "2026-10-25T00:00", "2026-10-25T02:00")
        assert found == ["25 00:20", "25 00:40", "25 02:00"]

    def test_every_hour_is_a_pace_and_goes_on_through_the_repeated_hour(self) -> None:
        job = Recurrence("*/20 * * * *", "Europe/Prague")
        found = due(job, "2026-10-25T00:20", "2026-10-25T02:00")
        assert found == ["25 00:40", "25 01:00", "25 01:20", "25 01:40", "25 02:00"]

    @pytest.mark.parametrize("hours", ["*", "0-23", "*/1", "0,1-23", "0-11,12-23"])
    def test_any_way_to_write_every_hour_is_a_pace(self, hours: str) -> None:
        found = due(Recurrence(f"30 {hours} * * *", "Europe/Prague"), "2026-10-25T00:00", "2026-10-25T02:00")
        assert found == ["25 00:30", "25 01:30"]

    def test_a_pace_is_not_moved_out_of_a_gap(self) -> None:
        job = Recurrence("30 * * * *", "Europe/Prague")
        assert due(job, "2026-03-29T00:00", "2026-03-29T02:00") == ["29 00:30", "29 01:30"]

    def test_a_pace_of_odd_minutes_does_not_fire_at_the_gap_end(self) -> None:
        # 02:00 to 02:30 does not exist, so 02:00 is dropped and nothing falls on 02:30.
        job = Recurrence("0 * * * *", "Australia/Lord_Howe")
        assert due(job, "2026-10-03T14:00", "2026-10-03T17:00") == ["03 14:30", "03 16:00", "03 17:00"]

    def test_half_hour_gap(self) -> None:
        series = daily(time(2, 10), "Australia/Lord_Howe")
        assert due(series, "2026-10-03", "2026-10-04T23:00") == ["03 15:30", "04 15:10"]

    def test_two_hour_gap(self) -> None:
        series = daily(time(1, 30), "Antarctica/Troll")
        assert due(series, "2026-03-29", "2026-03-30") == ["29 01:00", "29 23:30"]

    @pytest.mark.parametrize(
        "zone,before,expected",
        [
            ("America/Santiago", "2026-09-05T05:00", "2026-09-06T04:00"),
            ("Africa/Cairo", "2026-04-23T00:00", "2026-04-23T22:00"),
            ("Asia/Beirut", "2026-03-28T00:00", "2026-03-28T22:00"),
        ],
    )
    def test_midnight_that_does_not_exist(self, zone: str, before: str, expected: str) -> None:
        assert next_after(daily(time(0), zone), utc(before)) == utc(expected)

    def test_a_date_that_does_not_exist(self) -> None:
        # Samoa had no 30 December 2011: what was planned for it is due when the 31st begins.
        found = due(daily(time(0), "Pacific/Apia"), "2011-12-28", "2012-01-01")
        assert found == ["28 10:00", "29 10:00", "30 10:00", "31 10:00"]
        found = due(daily(time(12), "Pacific/Apia"), "2011-12-29T00:00", "2012-01-01")
        assert found == ["29 22:00", "30 10:00", "30 22:00", "31 22:00"]
        assert due(Recurrence("0 * 30 12 *", "Pacific/Apia"), "2011-12-28", "2012-01-02") == []

    def test_a_fold_across_midnight_interleaves_two_days_of_a_pace(self) -> None:
        # At 00:01 on 7 November the clock went back to 23:01 on the 6th.
        job = Recurrence("*/20 * * * *", "America/St_Johns", last_day=date(2010, 11, 6))
        found = due(job, "2010-11-07T02:00", "2010-11-08")
        assert found == ["07 02:10", "07 02:50", "07 03:10"]
        every = Recurrence("*/20 * * * *", "America/St_Johns")
        assert due(every, "2010-11-07T02:00", "2010-11-07T03:40") == [
            "07 02:10", "07 02:30", "07 02:50", "07 03:10", "07 03:30",
        ]  # fmt: skip


class TestDays:
    SERIES = Recurrence(
        "0 20 * * *", "Europe/Prague", date(2026, 6, 2), date(2026, 6, 6), frozenset({date(2026, 6, 4)})
    )

    def test_first_last_and_skipped_days(self) -> None:
        assert due(self.SERIES, "2026-01-01", "2027-01-01") == [
            "02 18:00",
            "03 18:00",
            "05 18:00",
            "06 18:00",
        ]

    def test_nothing_after_the_last_day(self) -> None:
        assert next_after(self.SERIES, utc("2026-06-06T18:00")) is None
        assert next_after(self.SERIES, utc("2029-06-06T18:00")) is None

    def test_days_are_those_of_the_zone(self) -> None:
        series = Recurrence("0 8 * * *", "Pacific/Auckland", date(2026, 6, 2), date(2026, 6, 3))
        assert due(series, "2026-05-30", "2026-06-09") == ["01 20:00", "02 20:00"]

    def test_a_time_moved_by_a_gap_belongs_to_its_planned_day(self) -> None:
        # On 29 March 2025 the clock went from 23:00 straight to midnight.
        planned = {"cron": "30 23 * * *", "timezone": "America/Scoresbysund"}
        moved = utc("2025-03-30T01:00")
        assert next_after(Recurrence(**planned), utc("2025-03-29T12:00")) == moved
        assert moved.astimezone(ZoneInfo("America/Scoresbysund")).date() == date(2025, 3, 30)
        skipped = Recurrence(**planned, skips=frozenset({date(2025, 3, 29)}))
        assert next_after(skipped, utc("2025-03-29T12:00")) == utc("2025-03-31T00:30")
        last = Recurrence(**planned, last_day=date(2025, 3, 29))
        assert next_after(last, utc("2025-03-29T12:00")) == moved

    def test_start_is_excluded_and_end_included(self) -> None:
        series = daily(time(20), "UTC")
        assert due(series, "2026-06-01T20:00", "2026-06-03T20:00") == ["02 20:00", "03 20:00"]

    def test_limit(self) -> None:
        assert len(between(daily(time(20), "UTC"), utc("2026-06-01"), utc("2027-06-01"), 3)) == 3

    def test_rare_days_are_found(self) -> None:
        assert next_after(Recurrence("0 0 29 2 *", "UTC"), utc("2096-03-01")) == utc("2104-02-29")
        assert next_after(Recurrence("0 * 29 2 *", "UTC"), utc("2096-03-01")) == utc("2104-02-29")
        assert next_after(Recurrence("0 0 * 2 mon#5", "UTC"), utc("2026-01-01")) == utc("2044-02-29")

    @pytest.mark.parametrize("cron", ["0 20 * * *", "* * * * *", "0 0 29 2 *"])
    @pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
    def test_the_ends_of_the_calendar(self, cron: str, zone: str) -> None:
        first = next_after(Recurrence(cron, zone), datetime.min.replace(tzinfo=UTC))
        assert first is not None
        assert first.year < 10
        assert next_after(Recurrence(cron, zone), datetime.max.replace(tzinfo=UTC)) is None

    def test_an_instant_without_a_zone_is_a_mistake(self) -> None:
        with pytest.raises(ValueError, match="aware"):
            next_after(self.SERIES, datetime(2026, 1, 1))

    def test_other_zones_may_ask(self) -> None:
        asked = datetime(2026, 6, 1, 20, tzinfo=ZoneInfo("Europe/Prague"))
        assert next_after(daily(time(20), "Europe/Prague"), asked) == utc("2026-06-02T18:00")


@pytest.mark.parametrize(
    "cron", ["0 0 29 2 *", "0 0 30 2 mon", "0 0 31 4,5 *", "0 0 31,l 2 *", "0 0 31w 2 *"]
)
def test_days_that_come_at_times(cron: str) -> None:
    assert next_after(Recurrence(cron, "UTC"), utc("2026-01-01")) is not None
