"""Full collections happen when nothing is about to start, and not by themselves."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from core import pauses
from core.read_model import ReadModel
from core.station import Identity, Station


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    seen: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            seen.append(1)

    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)


def test_none_happens_by_itself(full: list[int]) -> None:
    pauses.Collector()
    kept = [[n] for n in range(300_000)]
    assert full == []
    gc.set_threshold(700, 10, 10)
    kept += [[n] for n in range(300_000)]
    assert full, "the same without it would have had some"


def test_one_is_made_when_it_is_time_and_quiet(full: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(pauses, "steady", lambda: now)
    collector = pauses.Collector()
    collector.rest(quiet=True)
    assert gc.get_freeze_count() > 0 and full == []
    now += 61
    collector.rest(quiet=False)
    assert full == []
    collector.rest(quiet=True)
    collector.rest(quiet=True)
    assert len(full) == 1
    now += 601
    collector.rest(quiet=False)
    assert len(full) == 2


def test_what_made_it_long_is_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0

    def steady() -> float:
        nonlocal now
        now += 0.02  # each look at the clock comes after a long time
        return now

    monkeypatch.setattr(pauses, "steady", steady)
    collector = pauses.Collector()
    collector.rest(quiet=True)
    kept = [[n] for n in range(1000)]
    before = gc.get_freeze_count()
    now += 61
    collector.rest(quiet=True)
    assert gc.get_freeze_count() >= before + len(kept)


@pytest.mark.parametrize(
    "status, start, end, expected",
    [
        ("pending", 0.5, 60, False),
        ("pending", -0.5, 60, False),  # due, and not yet seen to have started
        ("pending", 5, 60, True),
        ("pending", -30, 60, True),  # held: its recorder is in manual mode
        ("starting", -1, 60, False),
        ("running", -60, 0.5, False),
        ("running", -60, 30, True),
        ("stopping", -60, -1, False),
        ("completed", -60, 0, True),
    ],
)
def test_quiet_is_when_nothing_begins_or_ends(status: str, start: float, end: float, expected: bool) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    at = [now + timedelta(seconds=s) for s in (start, end)]
    model = ReadModel()
    model.windows[1] = SimpleNamespace(status=status, start_at=at[0], end_at=at[1])  # type: ignore[assignment]
    assert pauses.quiet(model, now) is expected


async def test_every_station_collects_leader_or_not(plant: str) -> None:
    leader = Station(plant, Identity("A", "headless", ""))
    observer = Station(plant, Identity("B", "headless", ""))
    await leader.start()
    await observer.start(observe=True)
    try:
        assert gc.get_threshold()[2] == pauses.NEVER
        for station in (leader, observer):
            assert station._collector_task is not None and not station._collector_task.done()
    finally:
        await observer.stop()
        await leader.stop()
    assert all(s._collector_task is not None and s._collector_task.done() for s in (leader, observer))
