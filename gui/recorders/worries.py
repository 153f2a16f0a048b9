"""Which alarm a recorder's lamp shows: the worst about the recorder itself, or about its current or next window."""

from __future__ import annotations

from core.alarms.model import Alarm
from core.recording.model import Recorder, Window
from gui.recorders.plan import Plan
from gui.session import Session


class Worries:
    def __init__(self, session: Session, plan: Plan) -> None:
        self._session = session
        self._plan = plan
        self._of: dict[int, list[Alarm]] = {}

    def refresh(self) -> None:
        """Sorts the active alarms by recorder, the worst first."""
        now, found = self._session.now(), dict[int, list[Alarm]]()
        for alarm in self._session.alarms():
            if alarm.source_kind != "recorder" or not alarm.active or alarm.shelved(now):
                continue
            id = alarm.source_id if alarm.source_id is not None else self._named(alarm.source_name)
            if id is not None:
                found.setdefault(id, []).append(alarm)
        for alarms in found.values():
            alarms.sort(key=lambda a: (a.rank, not a.unacked, a.id))
        self._of = found

    def of(self, recorder: Recorder, *windows: Window | None) -> Alarm | None:
        """A window that failed an hour ago says nothing about the recorder now."""
        about = {f"window:{w.id}:" for w in windows if w is not None}
        for alarm in self._of.get(recorder.id, ()):
            if not alarm.key.startswith("window:") or any(alarm.key.startswith(a) for a in about):
                return alarm
        return None

    def _named(self, name: str) -> int | None:
        return next((r.id for r in self._session.model.recorders.values() if r.name == name), None)
