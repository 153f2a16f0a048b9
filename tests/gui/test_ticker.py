"""The pulse of the window: every frame, seconds on their boundary, flashing in halves, whatever the clock does.

The clock here moves by exactly what the pulse asks its timer for; whether Qt's timers are on time is the loop's test.
"""

from __future__ import annotations

import pytest

from gui.ticker import Ticker


class Pulse:
    """A ticker that is driven by hand."""

    def __init__(self, at: float, rate: float = 25.0) -> None:
        self.at = at
        self.ticker = Ticker(lambda: self.at)
        self.ticker.set_rate(rate)
        self.frames: list[int] = []
        self.seconds: list[float] = []
        self.flashes: list[tuple[bool, float]] = []
        self.ticker.frame.connect(lambda: self.frames.append(self.ticker.frame_of(self.at)))
        self.ticker.second.connect(lambda: self.seconds.append(self.at))
        self.ticker.flash.connect(lambda lit: self.flashes.append((lit, self.at % 1)))

    def run(self, until: float) -> None:
        while self.at < until:
            self.ticker._tick()
            interval = self.ticker._timer.interval()
            assert 1 <= interval <= 1001
            self.at += interval / 1000
        self.ticker.stop()


@pytest.mark.parametrize("rate, frames", [(25, 25), (50, 50), (29.97, 30), (24, 24)])
def test_every_frame_is_shown_once(qapp: object, rate: float, frames: int) -> None:
    pulse = Pulse(1000.0, rate)
    pulse.run(1003.0)
    expected = [frame for _ in range(3) for frame in range(frames)]
    assert [f for i, f in enumerate(pulse.frames) if i == 0 or f != pulse.frames[i - 1]] == expected


def test_seconds_come_just_after_their_boundary(qapp: object) -> None:
    pulse = Pulse(1000.37)
    pulse.run(1004.0)
    assert pulse.seconds[0] == 1000.37  # the first at once: something has to be shown
    assert [int(s) for s in pulse.seconds] == [1000, 1001, 1002, 1003]
    assert all(s % 1 < 0.002 for s in pulse.seconds[1:])
    assert pulse.ticker.whole_second == 1003


def test_flashing_changes_in_the_middle_and_at_the_end_of_a_second(qapp: object) -> None:
    pulse = Pulse(1000.1)
    pulse.run(1002.9)
    assert [lit for lit, _ in pulse.flashes] == [False, True, False, True, False]
    # The halves lie on frames, so at 25 frames the middle is half a frame late.
    assert all(fraction < 0.03 if lit else 0.5 <= fraction < 0.53 for lit, fraction in pulse.flashes)


def test_a_clock_set_back_shows_its_seconds(qapp: object) -> None:
    pulse = Pulse(1000.0)
    pulse.run(1001.5)
    pulse.at = 990.0
    pulse.run(991.5)
    assert [int(s) for s in pulse.seconds] == [1000, 1001, 990, 991]
