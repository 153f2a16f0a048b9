"""The steps that undo and redo know: windows made, changed and taken away, and series as they were entered.

A window that comes back has another id: steps share a `Ref`, so that older steps still find it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.errors import AirlockError
from core.recording.commands import create_window, delete_window, edit_window, move_windows
from core.recording.model import Window
from core.recording.series_commands import SeriesForm, edit_series
from gui.session import Session
from gui.undo import Done


@dataclass
class Ref:
    id: int


@dataclass(frozen=True)
class Fields:
    """What an operator can change about a window."""

    name: str
    recorder: int
    start: datetime
    end: datetime
    source: str | None

    @classmethod
    def of(cls, window: Window) -> Fields:
        return cls(window.name, window.recorder_id, window.start_at, window.end_at, window.source)


def why_not(session: Session, ref: Ref, left: Fields, title: str) -> str | None:
    """A window may be touched again while it is as this operator left it and nothing has happened to it."""
    window = session.model.windows.get(ref.id)
    if window is None:
        return f"{title} no longer exists."
    if window.status not in ("pending", "running"):
        return f"{window.name} is {window.status}."
    if Fields.of(window) != left:
        return f"{window.name} was changed by somebody else meanwhile."
    return None


class WindowStep:
    """One window: made (no before), taken away (no after), or changed."""

    def __init__(
        self, session: Session, name: str, ref: Ref, before: Fields | None, after: Fields | None
    ) -> None:
        self._session = session
        self.name = name
        self.ref = ref
        self.before, self.after = before, after

    def _ends(self, back: bool) -> tuple[Fields | None, Fields | None]:
        return (self.after, self.before) if back else (self.before, self.after)

    def why_not(self, back: bool) -> str | None:
        have, want = self._ends(back)
        if have is None:
            return None
        if (why := why_not(self._session, self.ref, have, have.name)) is not None:
            return why
        window = self._session.model.windows[self.ref.id]
        if window.status == "running" and (
            want is None or (want.start, want.recorder) != (have.start, have.recorder)
        ):
            return f"{window.name} has started."
        return None

    def run(self, back: bool, done: Done) -> None:
        session, ref = self._session, self.ref
        have, want = self._ends(back)
        windows = session.model.windows

        def answered(error: AirlockError | None, result: object) -> None:
            if error is None and have is None and isinstance(result, int):
                ref.id = result
            done(None if error is None else str(error))

        key = (("window", ref.id),)
        if want is None:
            version = windows[ref.id].row_version
            session.do(
                delete_window,
                ref.id,
                version,
                keys=key,
                until=lambda: ref.id not in windows,
                answered=answered,
            )
        elif have is None:
            session.do(
                create_window, want.name, want.recorder, want.start, want.end, want.source,
                until=lambda: ref.id in windows, answered=answered,
            )  # fmt: skip
        else:
            window = windows[ref.id]
            options: dict[str, object] = {"name": want.name, "end_at": want.end, "source": want.source or ""}
            if window.status == "pending":
                options |= {"recorder_id": want.recorder, "start_at": want.start}
            session.do(
                edit_window, ref.id, window.row_version, options=options, keys=key, answered=answered,
                until=lambda: ref.id not in windows or Fields.of(windows[ref.id]) == want,
            )  # fmt: skip


class ManyStep:
    """Many windows moved by one span, all or none."""

    def __init__(self, session: Session, refs: Sequence[tuple[Ref, Fields]], by: timedelta) -> None:
        self._session = session
        self.name = f"move {len(refs)} windows"
        self._refs = list(refs)  # as they were before
        self._by = by

    def _as(self, fields: Fields, moved: bool) -> Fields:
        by = self._by if moved else timedelta()
        return Fields(fields.name, fields.recorder, fields.start + by, fields.end + by, fields.source)

    def why_not(self, back: bool) -> str | None:
        for ref, fields in self._refs:
            if why := why_not(self._session, ref, self._as(fields, back), fields.name):
                return why
            if self._session.model.windows[ref.id].status != "pending":
                return f"{fields.name} has started."
        return None

    def run(self, back: bool, done: Done) -> None:
        windows = self._session.model.windows
        ids = [(ref.id, windows[ref.id].row_version) for ref, _ in self._refs]
        first, fields = self._refs[0]
        want = self._as(fields, not back)
        self._session.do(
            move_windows, ids, -self._by if back else self._by, keys=tuple(("window", id) for id, _ in ids),
            until=lambda: first.id not in windows or Fields.of(windows[first.id]) == want,
            answered=lambda error, _: done(None if error is None else str(error)),
        )  # fmt: skip


class SeriesStep:
    """A whole series, as it was entered before and after."""

    def __init__(self, session: Session, name: str, id: int, before: SeriesForm, after: SeriesForm) -> None:
        self._session = session
        self.name = name
        self._id = id
        self._before, self._after = before, after

    def why_not(self, back: bool) -> str | None:
        series = self._session.model.series.get(self._id)
        if series is None:
            return "The series no longer exists."
        if SeriesForm.of(series) != (self._after if back else self._before):
            return f"The series {series.name} was changed by somebody else meanwhile."
        return None

    def run(self, back: bool, done: Done) -> None:
        model = self._session.model
        want = self._before if back else self._after
        id = self._id
        self._session.do(
            edit_series, id, model.series[id].row_version, want, keys=(("series", id),),
            until=lambda: id not in model.series or SeriesForm.of(model.series[id]) == want,
            answered=lambda error, _: done(None if error is None else str(error)),
        )  # fmt: skip
