"""Long work on the as-run log, export and verify: in a strip with its progress, cancelled when asked.

An export is written beside its target and takes its place only when it is whole: one that was cancelled, or
failed, leaves what was there before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QWidget

from core.db.database import close_connection
from core.errors import AirlockError, CommandRefused
from core.playout import as_run_log
from core.playout.as_run_log import AsRunFilter
from core.playout.model import Channel
from gui import fonts
from gui.parts import Button, Label, Surface
from gui.session import Session
from gui.words import plural

LONGEST = {"statement_timeout": "600000"}  # the chain of a year takes longer than a screen may
FORMATS = {"csv": "CSV", "json": "JSON", "bxf": "BXF-style XML"}
ENDINGS = {"csv": "csv", "json": "json", "bxf": "xml"}


class WorkStrip(Surface):
    """Hidden while there is nothing to say."""

    changed = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__("well", parent)
        self.setFixedHeight(36)
        self._session = session
        self._task: asyncio.Task[None] | None = None
        self.words = Label("", fonts.figures(13), elide=True)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(120)
        self.button = Button("Cancel")
        self.button.setToolTip("Cancel; nothing is written")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 8, 0)
        row.setSpacing(12)
        row.addWidget(self.words, 1)
        row.addWidget(self.bar)
        row.addWidget(self.button)
        self.button.clicked.connect(self.dismiss)
        self.hide()

    @property
    def busy(self) -> bool:
        return self._task is not None

    def dismiss(self) -> None:
        """Cancels what runs; closes the strip when nothing does."""
        if self._task is not None:
            self._task.cancel()
        else:
            self.hide()

    # What can be done

    def export(self, filter: AsRunFilter, format: str, path: Path, total: int) -> None:
        self._run(partial(self._export, filter, format, path, total), "as-run export")

    def verify(self, channels: Sequence[Channel]) -> None:
        self._run(partial(self._verify, list(channels)), "as-run verify")

    def _run(self, work: Callable[[], Awaitable[str]], name: str) -> None:
        if self._task is not None:
            return

        async def run() -> None:
            try:
                self._say(await work(), done=True)
            except asyncio.CancelledError:
                self._say("Cancelled. Nothing was written.", done=True)
            except AirlockError as error:
                self._say(str(error), done=True)

        self._say("Beginning…", done=False)
        self.bar.setRange(0, 0)
        self._task = self._session.attempt(run, name)
        self._task.add_done_callback(self._done)
        self.changed.emit()

    def _done(self, _task: asyncio.Task[None]) -> None:
        self._task = None
        if not self._session.closed:
            self.changed.emit()

    def _say(self, words: str, *, done: bool) -> None:
        if self._session.closed:
            return
        self.words.show_text(words)
        self.bar.setVisible(not done)
        self.button.show_text("Close" if done else "Cancel")
        self.button.setToolTip("Close this line" if done else "Cancel; nothing is written")
        self.show()

    async def _export(self, filter: AsRunFilter, format: str, path: Path, total: int) -> str:
        part = path.with_name(path.name + ".part")

        def progress(done: int) -> None:
            self.bar.setRange(0, max(total, done))
            self.bar.setValue(done)
            self._say(f"Exporting {done:,} of {max(total, done):,} rows…", done=False)

        connection = await self._session.station.database.connect("as-run export", LONGEST)
        try:
            with part.open("w", encoding="utf-8", newline="") as file:
                count = await as_run_log.export(connection, filter, format, file, progress)
            part.replace(path)
        except OSError as error:
            raise CommandRefused(
                f"The export cannot be written to {path}: {error.strerror or error}. Choose another folder."
            ) from error
        finally:
            part.unlink(missing_ok=True)
            await asyncio.shield(close_connection(connection))
        return f"{plural(count, 'row')} exported to {path}."

    async def _verify(self, channels: list[Channel]) -> str:
        connection = await self._session.station.database.connect("as-run verify", LONGEST)
        found: list[str] = []
        try:
            for number, channel in enumerate(channels, 1):
                self.bar.setRange(0, len(channels))
                self.bar.setValue(number - 1)
                self._say(f"Verifying {channel.name}, {number} of {len(channels)}…", done=False)
                found += [f"{channel.name}: {f}" for f in await as_run_log.verify(connection, channel.id)]
        finally:
            await asyncio.shield(close_connection(connection))
        if found:
            return f"The log is not whole. {'; '.join(found)}."
        chains = "The chain of" if len(channels) == 1 else f"The chains of all {len(channels)} channels"
        name = f" {channels[0].name}" if len(channels) == 1 else ""
        verb = "is" if len(channels) == 1 else "are"
        return f"{chains}{name} {verb} whole: nothing was changed, added or removed."
