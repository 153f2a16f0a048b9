"""What an operator can do here, with the reason when it cannot be done, and what came of it.

Everything goes through the session and is pending until the feed shows it. A refusal is shown in the row
it belongs to as well as in the window's strip: the session says it in the same breath in which it lets go
of the pending key, which is how the two are matched.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import timedelta
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from core.commands import Command
from core.recording.commands import (
    cancel_window,
    delete_window,
    edit_window,
    extend_window,
    set_mode,
    start_now,
    stop_now,
)
from core.recording.model import Recorder, Window
from core.recording.series_commands import skip_occurrence
from gui.recorders.plan import Plan
from gui.session import Message, Session

KINDS = ("start", "stop", "mode", "extend")


class Deeds(QObject):
    refused = Signal(int, str)  # recorder, why

    def __init__(self, session: Session, plan: Plan, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._plan = plan
        self._asked: dict[Hashable, int] = {}
        self._let_go: int | None = None
        session.pending_changed.connect(self._pending_changed)
        session.message.connect(self._said)

    # Recorders

    def asked(self, recorder: int) -> str:
        return next((k for k in KINDS if self._session.is_pending(("recorder", recorder, k))), "")

    def why_not_start(self, recorder: Recorder) -> str | None:
        current = self._plan.current(recorder.id, self._session.now())
        if why := self._session.why_not(start_now) or self._busy(recorder):
            return why
        if current is not None and current.status == "pending":
            return f"{current.name} is due here: switch to auto mode, or cancel it first."
        if current is not None:
            return f"{recorder.name} is recording {current.name} already."
        return f"{recorder.name} is recording already." if recorder.status == "recording" else None

    def why_not_stop(self, recorder: Recorder) -> str | None:
        if why := self._session.why_not(stop_now):
            return why
        if self._session.is_pending(("recorder", recorder.id, "stop")):
            return "It is being stopped."
        current = self._plan.current(recorder.id, self._session.now())
        if current is None or current.status == "pending":
            if recorder.status == "recording":
                return "No window owns this recording: stop it at the recorder itself."
            return f"{recorder.name} is not recording."
        return "It is being stopped." if current.status == "stopping" else None

    def why_not_extend(self, recorder: Recorder) -> str | None:
        if why := self._session.why_not(extend_window) or self._busy(recorder):
            return why
        current = self._plan.current(recorder.id, self._session.now())
        if current is None or current.status not in ("starting", "running"):
            return f"{recorder.name} is not recording: there is nothing to extend."
        return "It runs until it is stopped." if current.open_ended else None

    def why_not_mode(self, recorder: Recorder) -> str | None:
        return self._session.why_not(set_mode) or self._busy(recorder)

    def _busy(self, recorder: Recorder) -> str | None:
        return "Waiting for the answer to what was asked last." if self.asked(recorder.id) else None

    def start(self, recorder: Recorder, length: timedelta | None = None) -> None:
        before = {w.id for w in self._plan.active(recorder.id)}
        id = recorder.id
        self._do(
            recorder, "start", start_now, id, "", length,
            until=lambda: any(w.id not in before and w.status != "pending" for w in self._plan.active(id)),
        )  # fmt: skip

    def stop(self, recorder: Recorder) -> None:
        windows = self._session.model.windows
        current = self._plan.current(recorder.id, self._session.now())

        def ends() -> bool:
            now = windows.get(current.id) if current is not None else None
            return now is None or now.status not in ("starting", "running")

        self._do(recorder, "stop", stop_now, recorder.id, until=ends)

    def extend(self, recorder: Recorder, minutes: int) -> None:
        current = self._plan.current(recorder.id, self._session.now())
        if current is None:
            return
        id, end = current.id, current.end_at
        windows = self._session.model.windows
        self._do(
            recorder, "extend", extend_window, id, timedelta(minutes=minutes),
            until=lambda: id not in windows or windows[id].end_at != end,
        )  # fmt: skip

    def switch_mode(self, recorder: Recorder) -> None:
        wanted = "auto" if recorder.mode == "manual" else "manual"
        recorders, id = self._session.model.recorders, recorder.id
        self._do(
            recorder, "mode", set_mode, id, wanted,
            until=lambda: id not in recorders or recorders[id].mode == wanted,
        )  # fmt: skip

    def _do(
        self, recorder: Recorder, kind: str, command: Command[..., Any], *args: Any, until: Callable[[], bool]
    ) -> None:
        key = ("recorder", recorder.id, kind)
        self._asked[key] = recorder.id
        self._session.do(command, *args, keys=(key,), until=until)

    # Windows

    def why_not_edit(self, window: Window | None) -> str | None:
        if window is None:
            return "Select a window first."
        if why := self._session.why_not(edit_window) or self._waiting(window):
            return why
        if window.status not in ("pending", "starting", "running"):
            return f"{window.name} is {window.status} and can no longer be edited."
        return None

    def why_not_cancel(self, window: Window | None) -> str | None:
        if window is None:
            return "Select a window first."
        if why := self._session.why_not(cancel_window) or self._waiting(window):
            return why
        return (
            None
            if window.status in ("pending", "starting", "running")
            else f"{window.name} is {window.status} already."
        )

    def why_not_delete(self, window: Window | None) -> str | None:
        if window is None:
            return "Select a window first."
        if why := self._session.why_not(delete_window) or self._waiting(window):
            return why
        if window.status != "pending":
            return "Only a window that has not begun can be deleted."
        return "It would be planned again: skip this occurrence instead." if window.series_id else None

    def why_not_skip(self, window: Window | None) -> str | None:
        if window is None:
            return "Select a window first."
        if why := self._session.why_not(skip_occurrence) or self._waiting(window):
            return why
        if window.series_id is None:
            return f"{window.name} does not repeat."
        return None if window.status == "pending" else f"{window.name} is {window.status} already."

    def _waiting(self, window: Window) -> str | None:
        waits = self._session.is_pending(("window", window.id))
        return "Waiting for the answer to what was asked last." if waits else None

    def cancel(self, window: Window) -> None:
        self._do_window(cancel_window, window, window.row_version, done=f"{window.name} is cancelled.")

    def delete(self, window: Window) -> None:
        self._do_window(delete_window, window, window.row_version, done=f"{window.name} is deleted.")

    def skip(self, window: Window) -> None:
        self._do_window(skip_occurrence, window, done=f"{window.name} is skipped that day.")

    def _do_window(self, command: Command[..., Any], window: Window, *args: Any, done: str) -> None:
        id, status, windows = window.id, window.status, self._session.model.windows
        self._session.do(
            command, id, *args, keys=(("window", id),),
            until=lambda: id not in windows or windows[id].status != status, done=done,
        )  # fmt: skip

    # Whose refusal it is

    def _pending_changed(self) -> None:
        for key in [k for k in self._asked if not self._session.is_pending(k)]:
            self._let_go = self._asked.pop(key)
        if self._let_go is not None:
            QTimer.singleShot(0, self, self._forget)

    def _forget(self) -> None:
        self._let_go = None

    def _said(self, message: Message) -> None:
        if message.refused and self._let_go is not None:
            self.refused.emit(self._let_go, message.text)
            self._let_go = None
