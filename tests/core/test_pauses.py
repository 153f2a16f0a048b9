"""Full collections happen when nothing is about to start, and not by themselves."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from core import pauses


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
