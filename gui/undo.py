"""Undo and redo by name. A step that can no longer be taken back says why and is forgotten.

A step is taken back by a command like any other: it is checked, audited, and refused by the database when
somebody else was faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject, Signal

MOST = 100

Done = Callable[[str | None], None]  # gets the refusal, or None


class Step(Protocol):
    name: str  # "move Evening News"

    def why_not(self, back: bool) -> str | None:
        """Why it cannot be taken back (or done again) now."""
        ...

    def run(self, back: bool, done: Done) -> None: ...


class UndoStack(QObject):
    changed = Signal()

    def __init__(self, say: Callable[[str], None], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._say = say
        self._past: list[Step] = []
        self._future: list[Step] = []
        self._busy = False

    @property
    def undo_name(self) -> str:
        return self._past[-1].name if self._past else ""

    @property
    def redo_name(self) -> str:
        return self._future[-1].name if self._future else ""

    def push(self, step: Step) -> None:
        self._past.append(step)
        del self._past[:-MOST]
        self._future.clear()
        self.changed.emit()

    def why_not_undo(self) -> str | None:
        return self._why_not(self._past, "undo")

    def why_not_redo(self) -> str | None:
        return self._why_not(self._future, "redo")

    def _why_not(self, steps: list[Step], word: str) -> str | None:
        if self._busy:
            return "Waiting for the answer to what was asked last."
        return None if steps else f"There is nothing to {word}."

    def undo(self) -> None:
        self._run(self._past, self._future, True)

    def redo(self) -> None:
        self._run(self._future, self._past, False)

    def _run(self, here: list[Step], there: list[Step], back: bool) -> None:
        if self._busy or not here:
            return
        step = here.pop()
        word = "Undo" if back else "Redo"
        if (why := step.why_not(back)) is not None:
            self._say(f"{word} {step.name}: {why}")
            self.changed.emit()
            return
        self._busy = True
        self.changed.emit()

        def done(refusal: str | None) -> None:
            self._busy = False
            if refusal is None:
                there.append(step)
            else:
                self._say(f"{word} {step.name}: {refusal}")
            self.changed.emit()

        step.run(back, done)
