"""The last minute of a channel's heartbeats, as this window saw them.

A sample is what one probe found: an answer with its latency, a miss, or, when nobody probed for a second,
nothing at all. Nothing is made up: what was before the window opened is not known and stays empty.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime

from core.playout.model import Channel

SAMPLES = 60
SILENT_AFTER = 2.5  # seconds without a beat or a miss after which nobody seems to probe
MANY = 3  # misses in a row that make a failover


@dataclass(frozen=True, slots=True)
class Sample:
    ms: float | None = None
    missed: bool = False
    failover: bool = False  # the channel was placed anew just before it


@dataclass(frozen=True, slots=True)
class Gap:
    """Misses in a row: the first of them and the last."""

    first: int
    last: int

    @property
    def many(self) -> bool:
        return self.last - self.first + 1 >= MANY


def gaps(samples: tuple[Sample, ...]) -> list[Gap]:
    found: list[Gap] = []
    for i, sample in enumerate(samples):
        if sample.missed:
            if found and found[-1].last == i - 1:
                found[-1] = Gap(found[-1].first, i)
            else:
                found.append(Gap(i, i))
    return found


@dataclass
class Beats:
    _samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    _beat_at: datetime | None = None
    _misses: int = 0
    _generation: int | None = None
    _moved: bool = False
    _heard: datetime | None = None

    @property
    def samples(self) -> tuple[Sample, ...]:
        return tuple(self._samples)

    @property
    def missed(self) -> int:
        return sum(s.missed for s in self._samples)

    def note(self, channel: Channel, now: datetime) -> bool:
        """Takes in what a row says; whether there is something new to draw."""
        if self._generation is not None and channel.generation != self._generation and channel.on_air:
            self._moved = True
        self._generation = channel.generation
        before = len(self._samples), self._heard
        more = channel.misses - self._misses
        self._misses = channel.misses
        for _ in range(min(max(more, 0), SAMPLES)):
            self._add(Sample(missed=True), now)
        if channel.last_heartbeat_at is not None and channel.last_heartbeat_at != self._beat_at:
            first = self._beat_at is None
            self._beat_at = channel.last_heartbeat_at
            # A beat from before the window opened would be drawn as if it had just come.
            if not first or (now - channel.last_heartbeat_at).total_seconds() < SILENT_AFTER:
                self._add(Sample(channel.heartbeat_ms), now)
        return (len(self._samples), self._heard) != before

    def second(self, channel: Channel, now: datetime) -> bool:
        """Once a second: while nobody probes a channel that should run, time passes empty."""
        silent = self._heard is not None and (now - self._heard).total_seconds() > SILENT_AFTER
        if silent and self._samples:
            self._samples.append(Sample())
        return silent

    def _add(self, sample: Sample, now: datetime) -> None:
        if self._moved and not sample.missed:
            sample, self._moved = replace(sample, failover=True), False
        self._samples.append(sample)
        self._heard = now
