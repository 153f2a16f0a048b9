"""What an operator does about alarms, with the plant's alarms and this station's own treated alike."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from core.alarms.commands import acknowledge_alarm, acknowledge_alarms, shelve_alarm, unshelve_alarm
from core.alarms.model import Alarm
from core.alarms.rules import open_and_visible
from gui.words import span

if TYPE_CHECKING:
    from core.commands import Command
    from gui.session import Session

OWN = "It is this station's own alarm and ends by itself when the database is back."
NOTHING = "Nothing waits for an acknowledgement."


class AlarmDesk:
    def __init__(self, session: Session) -> None:
        self._session = session

    def waiting(self, alarms: Iterable[Alarm] | None = None) -> list[Alarm]:
        """Those of the given alarms, or of all that are open, that wait for an acknowledgement."""
        session = self._session
        found = open_and_visible(session.alarms(), session.now()) if alarms is None else alarms
        return [a for a in found if a.unacked and a.open and not session.is_pending(("alarm", a.id))]

    def why_not_acknowledge(self, alarms: Iterable[Alarm]) -> str | None:
        waiting = self.waiting(alarms)
        if not waiting:
            return NOTHING
        if any(a.local for a in waiting):
            return None
        return self._session.why_not(acknowledge_alarms)

    def why_not_shelve(self, alarm: Alarm | None, command: Command[..., Any] = shelve_alarm) -> str | None:
        if alarm is None:
            return "Select an alarm first."
        if alarm.local:
            return OWN
        if not alarm.open:
            return "It is over and acknowledged."
        return self._session.why_not(command)

    def acknowledge(self, alarms: Iterable[Alarm]) -> None:
        session = self._session
        waiting = self.waiting(alarms)
        if any(a.local for a in waiting):
            # Anybody may answer it: it is about this desk, and the database could not be asked.
            session.station.local_alarms.acknowledge(session.station.identity.operator)
        ids = [a.id for a in waiting if not a.local]
        if not ids or (session.stale and len(ids) < len(waiting)):
            return

        def answered() -> bool:
            return all((a := session.model.alarms.get(i)) is None or not a.unacked for i in ids)

        keys = tuple(("alarm", i) for i in ids)
        if len(ids) == 1:
            session.do(acknowledge_alarm, ids[0], keys=keys, until=answered)
        else:
            session.do(acknowledge_alarms, ids, keys=keys, until=answered)

    def shelve(self, alarm: Alarm, duration: timedelta, reason: str) -> None:
        session = self._session

        def shelved() -> bool:
            found = session.model.alarms.get(alarm.id)
            return found is None or found.shelved_until is not None

        words = f"Shelved for {span(duration.total_seconds())}: {alarm.message}."
        session.do(
            shelve_alarm, alarm.id, duration, reason, keys=(("shelf", alarm.id),), until=shelved, done=words
        )

    def unshelve(self, alarm: Alarm) -> None:
        session = self._session

        def back() -> bool:
            found = session.model.alarms.get(alarm.id)
            return found is None or found.shelved_until is None

        session.do(unshelve_alarm, alarm.id, keys=(("shelf", alarm.id),), until=back)
