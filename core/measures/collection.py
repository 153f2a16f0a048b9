"""What a station has seen of its plant's figures in the last hour.

Only a station's own picture is looked at: nothing is asked of the database, and nothing is stored. Every
line is a ring, and the number of lines is bounded too, so a station that runs for months stays as small.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from math import nan

from core.measures import rules
from core.measures.model import Ring, spread
from core.playout.model import Channel
from core.read_model import ReadModel

EVERY = 2.0  # seconds between two samples
HOUR = round(3600 / EVERY)
STARTS = 2000
VOLUMES = 16  # lines; more cannot be told apart anyway
QUEUES = ("live", "default", "batch")


class Collection:
    def __init__(self, model: ReadModel) -> None:
        self._model = model
        self.starts = Ring(STARTS)
        self.heartbeat = {"median": Ring(HOUR), "slowest": Ring(HOUR)}
        self.lag = {"this station": Ring(HOUR), "worst of all": Ring(HOUR)}
        self.disks: dict[str, Ring] = {}
        self.queues = {name: Ring(HOUR) for name in QUEUES}
        self._known_starts: dict[int, datetime] = {}
        self._depth: dict[str, int] | None = None
        for window in sorted(model.windows.values(), key=lambda w: w.started_at or w.start_at):
            self._start(window.id)

    def windows_changed(self, ids: Iterable[int]) -> bool:
        """Takes in starts. Whether there was one."""
        return sum(self._start(window) for window in ids) > 0  # every one, not up to the first

    def _start(self, id: int) -> bool:
        window = self._model.windows.get(id)
        if window is None:
            self._known_starts.pop(id, None)  # out of sight: it will not start again
            return False
        late = rules.start_lateness(window)
        if late is None or window.started_at is None or self._known_starts.get(id) == window.started_at:
            return False
        self._known_starts[id] = window.started_at
        self.starts.add(window.started_at.timestamp(), late)
        return True

    def depth(self, queues: dict[str, int]) -> None:
        """What the last look at the jobs found: how many wait, by queue."""
        self._depth = queues

    @property
    def has_jobs(self) -> bool:
        return self._depth is not None

    def sample(self, now: datetime, here: str, own_lag_ms: float, *, stale: bool) -> None:
        """One point of each line. While the picture is old, what comes from it is a gap, not a guess."""
        at = now.timestamp()
        found = None if stale else spread(rules.latencies(self._channels(), now))
        self.heartbeat["median"].add(at, nan if found is None else found.p50)
        self.heartbeat["slowest"].add(at, nan if found is None else found.worst)
        others = [s.loop_lag_ms for s in self._model.stations.values() if s.loop_lag_ms is not None]
        self.lag["this station"].add(at, own_lag_ms)
        self.lag["worst of all"].add(at, nan if stale else max([own_lag_ms, *others]))
        used = {} if stale else rules.disks(self._model.nodes.values())
        for name in used:
            if name not in self.disks and len(self.disks) < VOLUMES:
                self.disks[name] = Ring(HOUR)
        for name, ring in self.disks.items():
            ring.add(at, used.get(name, nan))
        if self._depth is not None:
            for name, ring in self.queues.items():
                ring.add(at, nan if stale else float(self._depth.get(name, 0)))

    def _channels(self) -> Iterable[Channel]:
        return self._model.channels.values()
