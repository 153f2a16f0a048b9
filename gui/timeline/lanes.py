"""The windows of each recorder as columns, so that a frame touches only what is in view. No Qt here.

It hears of changes from the read model itself and takes them in when it is next asked: a change of one window
costs the columns of one recorder, and nothing at all while that recorder is out of sight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from core.read_model import Changes, ReadModel
from core.recording.model import ACTIVE, Window

Floats = npt.NDArray[np.float64]

CODES = {
    "pending": 0, "starting": 1, "running": 2, "stopping": 3, "completed": 4, "failed": 5, "missed": 6,
    "cancelled": 7,
}  # fmt: skip


def shown_end(window: Window) -> float:
    """Where a bar ends: a recording that ended early is as long as it was."""
    if window.stopped_at is not None and window.status not in ACTIVE and window.stopped_at < window.end_at:
        return max(window.stopped_at.timestamp(), window.start_at.timestamp() + 1)
    return window.end_at.timestamp()


def is_shown(window: Window) -> bool:
    """A window that was cancelled before it began is gone; one that was recording is history."""
    return window.status != "cancelled" or window.started_at is not None


class Lane:
    """One recorder's windows by start. What is over lies under what is planned, should they overlap."""

    def __init__(self, windows: Iterable[Window]) -> None:
        shown = [w for w in windows if is_shown(w)]
        self.windows = sorted(shown, key=lambda w: (w.start_at, w.status in ACTIVE, w.id))
        count = len(self.windows)
        self.starts: Floats = np.fromiter((w.start_at.timestamp() for w in self.windows), np.float64, count)
        self.ends: Floats = np.fromiter((shown_end(w) for w in self.windows), np.float64, count)
        self.codes = np.fromiter((CODES[w.status] for w in self.windows), np.uint8, count)
        self.ids = np.fromiter((w.id for w in self.windows), np.int64, count)
        # Ends do not increase by themselves where windows overlap; the furthest so far does.
        self.reach: Floats = np.maximum.accumulate(self.ends) if count else self.ends

    def between(self, begin: float, end: float) -> range:
        """The places of the windows that may touch a stretch."""
        low = int(np.searchsorted(self.reach, begin, "right"))
        high = int(np.searchsorted(self.starts, end, "left"))
        return range(low, max(low, high))

    def at(self, instant: float) -> Window | None:
        """The uppermost window at an instant."""
        found = [i for i in self.between(instant, np.nextafter(instant, np.inf)) if self.ends[i] > instant]
        found.sort(key=lambda i: self.windows[i].status in ACTIVE)
        return self.windows[found[-1]] if found else None

    def active_between(self, begin: float, end: float) -> list[Window]:
        """What the database would call a collision with this stretch."""
        return [
            w
            for i in self.between(begin, end)
            if (w := self.windows[i]).status in ACTIVE and self.ends[i] > begin and self.starts[i] < end
        ]


_EMPTY = Lane(())


class Lanes:
    def __init__(self, model: ReadModel) -> None:
        self._model = model
        self._known: dict[int, Window] = {}
        self._by_recorder: dict[int, dict[int, Window]] = {}
        self._by_series: dict[int, set[int]] = {}
        self._lanes: dict[int, Lane] = {}
        self._changed: set[int] = set(model.windows)
        self.version = 0  # another one whenever anything changed
        self.close: Callable[[], None] = model.subscribe(self._heard)

    def _heard(self, changes: Changes) -> None:
        ids = changes.get("recorder_schedules")
        if ids:
            self._changed |= ids
            self.version += 1

    def _catch_up(self) -> None:
        if not self._changed:
            return
        changed, self._changed = self._changed, set()
        for id in changes_in_order(changed):
            old, new = self._known.pop(id, None), self._model.windows.get(id)
            if old is not None:
                self._by_recorder[old.recorder_id].pop(id, None)
                self._lanes.pop(old.recorder_id, None)
                if old.series_id is not None:
                    self._by_series.get(old.series_id, set()).discard(id)
            if new is not None:
                self._known[id] = new
                self._by_recorder.setdefault(new.recorder_id, {})[id] = new
                self._lanes.pop(new.recorder_id, None)
                if new.series_id is not None:
                    self._by_series.setdefault(new.series_id, set()).add(id)

    def lane(self, recorder: int) -> Lane:
        self._catch_up()
        found = self._lanes.get(recorder)
        if found is None:
            windows = self._by_recorder.get(recorder)
            found = self._lanes[recorder] = Lane(windows.values()) if windows else _EMPTY
        return found

    def window(self, id: int) -> Window | None:
        self._catch_up()
        return self._known.get(id)

    def of_series(self, series: int) -> list[Window]:
        """The occurrences that are known, by time."""
        self._catch_up()
        found = [self._known[id] for id in self._by_series.get(series, ())]
        return sorted(found, key=lambda w: (w.start_at, w.id))

    def ready(self, recorder: int) -> bool:
        """Whether the columns of a recorder are at hand, or would have to be made."""
        return not self._changed and recorder in self._lanes


def changes_in_order(ids: set[int]) -> list[int]:
    return sorted(ids)
