"""What the canvas shows of the plant, worked out from the read model and kept while it is true."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from core.alarms.model import Alarm
from core.playout.model import Item
from core.recording.model import Asset, Recorder, Window
from core.recording.sources import shown
from gui.recorders.plan import Plan
from gui.recorders.state import FAULTS
from gui.recorders.worries import Worries
from gui.session import Session
from gui.timeline.lanes import Lanes
from gui.timeline.looks import BarLook, bar_look, tip
from gui.timeline.paint_frame import HeaderLook
from gui.timeline.playlist import Block, blocks
from gui.timeline.rows import Row, Rows, arrange


class Knowledge:
    def __init__(self, session: Session, plan: Plan) -> None:
        self.session = session
        self.plan = plan
        self.lanes = Lanes(session.model)
        self.worries = Worries(session, plan)
        self.words = ""
        self.rows = Rows()
        self._looks: dict[int, tuple[Window, BarLook, float]] = {}
        self._items: dict[int, list[Item]] | None = None
        self._blocks: dict[int, list[Block]] = {}
        self.refresh_alarms()
        self.arrange()

    # Rows

    def arrange(self) -> None:
        model = self.session.model
        self.rows = arrange(
            list(model.recorders.values()), list(model.channels.values()), self.words, self._has_window
        )
        self._items = None
        self._blocks.clear()

    def _has_window(self, recorder: int, words: str) -> bool:
        return any(words in w.name.casefold() for w in self.lanes.lane(recorder).windows)

    def matches(self, window: Window) -> bool:
        """Whether a window is one that the filter asks for; all are while there is none."""
        if not self.words:
            return True
        recorder = self.session.model.recorders.get(window.recorder_id)
        texts = [window.name, window.source or ""]
        if recorder is not None:
            texts += [recorder.name, recorder.source]
        return any(self.words in text.casefold() for text in texts)

    def changed(self, changes: dict[str, frozenset[int]]) -> None:
        if changes.keys() & {"recorders", "playout_channels", "plant"} or (
            self.words and "recorder_schedules" in changes
        ):
            self.arrange()
        if changes.keys() & {"playout_items", "playout_as_run", "playout_channels"}:
            self._items = None
            self._blocks.clear()
        if changes.keys() & {"plant", "recorders"}:
            self._looks.clear()

    def refresh_alarms(self) -> None:
        self.worries.refresh()
        self._looks.clear()

    # Windows

    def look(self, window: Window, now: datetime) -> BarLook:
        """Kept until the window changes; what changes with time, for as long as the clock shows the same second."""
        second = self.session.ticker.whole_second
        known = self._looks.get(window.id)
        over = window.status in ("completed", "failed", "missed", "cancelled")
        if known is not None and known[0] is window and (over or known[2] > second):
            return known[1]
        alarm = None if over else self.alarm_of(window, now)
        made = bar_look(
            window,
            self.session.model.recorders.get(window.recorder_id),
            now,
            self.session.local,
            0 if alarm is None else int(alarm.rank),
            "" if alarm is None else alarm.message,
        )
        far = window.status == "pending" and (window.start_at - now).total_seconds() >= 600
        self._looks[window.id] = (window, made, second + (60 if far else 1))
        return made

    def alarm_of(self, window: Window, now: datetime) -> Alarm | None:
        """An alarm about this window, or about its recorder when the window is its next."""
        recorder = self.session.model.recorders.get(window.recorder_id)
        if recorder is None:
            return None
        alarm = self.worries.of(recorder, window)
        if alarm is None or alarm.key.startswith(f"window:{window.id}:"):
            return alarm
        coming = self.plan.coming(recorder.id, now, 1)
        return alarm if coming and coming[0].id == window.id else None

    def tip(self, window: Window) -> str:
        now = self.session.now()
        alarm = self.alarm_of(window, now)
        return tip(
            window,
            self.session.model.recorders.get(window.recorder_id),
            self.asset(window),
            now,
            self.session.local,
            "" if alarm is None else alarm.message,
        )

    def asset(self, window: Window) -> Asset | None:
        return self.plan.asset_of(window)

    # Headers

    def header(self, row: Row, now: datetime) -> HeaderLook | None:
        if row.kind == "channel":
            channel = self.session.model.channels.get(row.id)
            if channel is None:
                return None
            return HeaderLook(
                "on-air" if channel.on_air else "off-air", 0, False, channel.name, channel.title, "", "", "AUTO", False
            )  # fmt: skip
        recorder = self.session.model.recorders.get(row.id)
        return None if recorder is None else self._recorder_header(recorder, now)

    def _recorder_header(self, recorder: Recorder, now: datetime) -> HeaderLook:
        current = self.plan.current(recorder.id, now)
        coming = self.plan.coming(recorder.id, now, 1)
        alarm = self.worries.of(recorder, current, *coming)
        faults = recorder.signal.get("faults") or []
        manual = recorder.mode == "manual"
        if alarm is not None or faults or recorder.status == "error":
            lamp = "alarm"
        elif recorder.status == "recording" or (
            current is not None and current.status in ("running", "stopping")
        ):
            lamp = "recording"
        elif recorder.status == "offline":
            lamp = "offline"
        else:
            soon = bool(coming) and (coming[0].start_at - now).total_seconds() < 300
            lamp = "ready" if soon or current is not None else "idle"
        return HeaderLook(
            lamp,
            2 if alarm is None else int(alarm.rank),
            alarm is not None and alarm.unacked,
            recorder.name,
            "",
            shown(recorder.source) or "no source",
            ", ".join(FAULTS.get(str(f), str(f)) for f in faults),
            "MANUAL" if manual else "AUTO",
            manual,
        )

    # Channels

    def blocks(self, channel_id: int, until: float) -> list[Block]:
        """The playlist from the item on air; nothing when that is not known."""
        found = self._blocks.get(channel_id)
        if found and (not found[-1].known or found[-1].end < until):
            found = None
        if found is None:
            found = self._blocks[channel_id] = self._lay_out(channel_id, until)
        return found

    def _lay_out(self, channel_id: int, until: float) -> list[Block]:
        model = self.session.model
        channel = model.channels.get(channel_id)
        on_air: dict[int, Any] = getattr(model, "on_air", {})
        row = on_air.get(channel_id)
        if channel is None or not channel.on_air or row is None:
            return []
        if self._items is None:
            self._items = {}
            for item in model.items.values():
                self._items.setdefault(item.channel_id, []).append(item)
        since = row.started_at.timestamp()
        offset = float(getattr(row, "offset_s", 0) or 0)
        found = blocks(
            self._items.get(channel_id, []), row.item_id, since, offset, channel.looping, until + 86400
        )
        return found or [Block(None, row.clip_name, since, until, True, known=False)]
