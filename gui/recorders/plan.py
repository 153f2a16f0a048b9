"""The plant's windows by recorder, so that no view has to look through all of them.

It hears of changes from the read model itself and takes them in when it is next asked, so that it is never
behind the model: whether a command was confirmed is asked before any panel has been told. `active` is in the
order of time; what has ended is kept for an hour, so that an operator sees how it went.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from core.read_model import Changes, ReadModel
from core.recording.model import ACTIVE, Asset, Window

AHEAD = timedelta(hours=24)
ENDED = timedelta(hours=1)
UNDER_WAY = ("running", "starting", "stopping")


class Plan:
    def __init__(self, model: ReadModel) -> None:
        self._model = model
        self._known: dict[int, Window] = {}
        self._active: dict[int, dict[int, Window]] = {}
        self._ended: dict[int, Window] = {}
        self._ordered: dict[int, tuple[Window, ...]] = {}
        self._assets: dict[int, int] = {}  # the newest recording, by window
        self._changed_windows: set[int] = set(model.windows)
        self._changed_assets: set[int] = set(model.assets)
        self._touched: set[int] = set()
        self.close = model.subscribe(self._heard)

    def _heard(self, changes: Changes) -> None:
        self._changed_windows |= changes.get("recorder_schedules", frozenset())
        self._changed_assets |= changes.get("assets", frozenset())

    def _catch_up(self) -> None:
        if self._changed_windows:
            changed, self._changed_windows = self._changed_windows, set()
            self._take_windows(changed)
        if self._changed_assets:
            changed, self._changed_assets = self._changed_assets, set()
            self._take_assets(changed)

    def touched(self) -> set[int]:
        """The recorders whose windows or recordings changed since this was last asked."""
        self._catch_up()
        touched, self._touched = self._touched, set()
        return touched

    def _take_windows(self, ids: Iterable[int]) -> None:
        touched: set[int] = set()
        for id in ids:
            old, new = self._known.pop(id, None), self._model.windows.get(id)
            self._ended.pop(id, None)
            if old is not None:
                self._active.get(old.recorder_id, {}).pop(id, None)
                touched.add(old.recorder_id)
            if new is not None:
                self._known[id] = new
                touched.add(new.recorder_id)
                if new.status in ACTIVE:
                    self._active.setdefault(new.recorder_id, {})[id] = new
                else:
                    self._ended[id] = new
            else:
                self._assets.pop(id, None)
        for recorder in touched:
            self._ordered.pop(recorder, None)
        self._touched |= touched

    def _take_assets(self, ids: Iterable[int]) -> None:
        for id in ids:
            asset = self._model.assets.get(id)
            if asset is None or asset.schedule_id is None:
                continue
            self._assets[asset.schedule_id] = max(id, self._assets.get(asset.schedule_id, 0))
            if asset.recorder_id is not None:
                self._touched.add(asset.recorder_id)

    def active(self, recorder: int) -> tuple[Window, ...]:
        self._catch_up()
        found = self._ordered.get(recorder)
        if found is None:
            windows = self._active.get(recorder, {}).values()
            found = self._ordered[recorder] = tuple(sorted(windows, key=lambda w: (w.start_at, w.id)))
        return found

    def current(self, recorder: int, now: datetime) -> Window | None:
        """What is under way; else what is due and waits."""
        windows = self.active(recorder)
        for status in UNDER_WAY:
            for window in windows:
                if window.status == status:
                    return window
                if window.start_at > now and window.status == "pending":
                    break
        return next((w for w in windows if w.status == "pending" and w.start_at <= now < w.end_at), None)

    def coming(self, recorder: int, now: datetime, count: int = 2) -> tuple[Window, ...]:
        found: list[Window] = []
        for window in self.active(recorder):
            if window.status == "pending" and window.start_at > now:
                found.append(window)
                if len(found) == count:
                    break
        return tuple(found)

    def asset_of(self, window: Window) -> Asset | None:
        self._catch_up()
        id = self._assets.get(window.id) or window.last_asset_id
        return None if id is None else self._model.assets.get(id)

    def listed(self, now: datetime) -> list[Window]:
        """What is under way, what ended within the hour, and what comes in the next day, by start."""
        self._catch_up()
        found = []
        for recorder in self._active:
            for window in self.active(recorder):
                if window.start_at > now + AHEAD:
                    break
                found.append(window)
        for window in list(self._ended.values()):
            ended = min(window.end_at, window.stopped_at or window.end_at)
            if ended <= now - ENDED:
                del self._ended[window.id]
            elif window.start_at <= now + AHEAD:
                found.append(window)
        found.sort(key=lambda w: (w.start_at, w.recorder_id, w.id))
        return found
