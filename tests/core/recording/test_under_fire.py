"""Three hundred windows under fire, with real schedulers. `make faults` does two thousand."""

from __future__ import annotations

from tests.faults.recording_campaign import campaign


async def test_nothing_starts_twice_and_nothing_is_lost(plant):
    report = await campaign(plant, windows=300, seed=20261118)
    print(report)
    assert not report.problems
    assert report.windows == 300
    assert sum(report.states.values()) == 300
