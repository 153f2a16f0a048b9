"""Planned against actual: counted from when the channel went on air, item after item."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from core.playout.model import AsRunRow, Item
from core.playout.planned import Line, against_plan

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 19, tzinfo=UTC)


def item(id: int, lasts: float | None = 600.0) -> Item:
    return Item(id, 1, id, None, f"Clip {id}", f"/{id}.mp4", 0.0, lasts, 1)


def row(id: int | None, begins: float, lasts: float | None, result: str = "played") -> AsRunRow:
    start = NOON + timedelta(seconds=begins)
    end = None if lasts is None else start + timedelta(seconds=lasts)
    clip = "Slate" if id is None else f"Clip {id}"
    return AsRunRow(int(begins) + 1, 1, None, id, clip, start, end, lasts, result, 1, 1, 1, None, None)


def compare(
    rows: list[AsRunRow], items: list[Item], looping: bool = False, until: datetime = MIDNIGHT
) -> list[Line]:
    return against_plan(rows, items, lambda i: i.duration_s, looping, until)


def test_what_ran_as_planned_is_neither_late_nor_over() -> None:
    lines = compare([row(1, 0, 600), row(2, 600, 600)], [item(1), item(2)])
    assert [(line.late_s, line.over_s) for line in lines] == [(0, 0), (0, 0)]


def test_a_skip_makes_what_follows_early_and_itself_short() -> None:
    lines = compare(
        [row(1, 0, 200, "skipped"), row(2, 200, 600), row(3, 800, 600)], [item(1), item(2), item(3)]
    )
    assert [line.late_s for line in lines] == [0, -400, -400]
    assert [line.over_s for line in lines] == [-400, 0, 0]


def test_a_clip_that_failed_takes_none_of_its_time() -> None:
    lines = compare(
        [row(1, 0, 600), row(2, 600, 0, "failed"), row(3, 600.2, 600)], [item(1), item(2), item(3)]
    )
    assert lines[1].over_s == -600 and round(lines[2].late_s or 0) == -600


def test_after_a_failover_an_item_goes_on_and_what_follows_is_late_by_the_gap() -> None:
    rows = [row(1, 0, 100, "interrupted"), row(1, 100.5, 503.5), row(2, 604, 600)]
    lines = compare(rows, [item(1), item(2)])
    assert [line.planned_at is None for line in lines] == [False, True, False]
    assert lines[2].late_s == 4


def test_off_air_begins_the_plan_anew() -> None:
    lines = compare([row(1, 0, 300, "interrupted"), row(2, 5000, 600)], [item(1), item(2)])
    assert [line.late_s for line in lines] == [0, 0]


def test_a_slate_is_in_no_plan_and_makes_what_follows_late() -> None:
    lines = compare([row(1, 0, 600), row(None, 600, 60), row(2, 660, 600)], [item(1), item(2)])
    assert [line.late_s for line in lines] == [0, None, 60]


def test_without_a_length_the_plan_goes_on_from_what_was() -> None:
    lines = compare([row(9, 0, 100), row(2, 100, 600)], [item(2)])
    assert (lines[0].planned_s, lines[0].over_s, lines[1].late_s) == (None, None, 0)


def test_behind_what_is_on_air_stands_what_is_to_come() -> None:
    until = NOON + timedelta(seconds=2000)
    lines = compare([row(2, 0, None)], [item(1), item(2)], looping=True, until=until)
    assert [(line.clip, line.row is None) for line in lines] == [
        ("Clip 2", False), ("Clip 1", True), ("Clip 2", True), ("Clip 1", True)
    ]  # fmt: skip
    assert lines[1].planned_at == NOON + timedelta(seconds=600)
    assert len(compare([row(2, 0, None)], [item(1), item(2)], until=until)) == 1, "it does not loop"
    unknown = compare([row(1, 0, None)], [item(1), item(2, None), item(3)], until=until)
    assert [line.clip for line in unknown] == ["Clip 1", "Clip 2"], "nobody can say when the third begins"
    assert compare([], [item(1)]) == []
