"""One recording attempt and its state on disk.

The state is written, in one step, before the process is started and at every change after it; so
whichever moment the agent dies at, the next one knows what was asked, under which key, and which
process to look for. A session is kept for some days after its end, because the same key may be
asked for again.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)
STATE = "session.json"
LOG = "ffmpeg.log"
PREVIEW = "preview.jpg"
KEPT_DAYS = 7


class Phase(StrEnum):
    STARTING = "starting"
    RECORDING = "recording"
    STOPPING = "stopping"
    ENDED = "ended"


@dataclass
class Session:
    """What is kept of a session. Times are seconds since the epoch by this machine."""

    folder: Path
    id: str
    key: str
    external_id: str
    recorder_id: int
    recorder_name: str
    window: int | None
    attempt: int | None
    name: str
    source: str
    planned_end: str | None
    requested_at: float
    phase: Phase = Phase.STARTING
    container: str = "mp4"
    path: str = ""
    argv: list[str] = field(default_factory=list)
    pid: int | None = None
    began_at: float | None = None  # when the first bytes were there
    ended_at: float | None = None
    recorded_s: float | None = None  # how long it recorded: what its file must cover
    exit_code: int | None = None
    stopped_by_us: bool = False
    size: int = 0
    error: str | None = None
    proof: dict[str, Any] | None = None
    reported: bool = False  # whether the database knows how it ended

    @property
    def log(self) -> Path:
        return self.folder / LOG

    @property
    def preview(self) -> Path:
        return self.folder / PREVIEW

    @property
    def never_began(self) -> bool:
        return self.phase == Phase.ENDED and self.began_at is None

    def save(self) -> None:
        state = {name: value for name, value in asdict(self).items() if name != "folder"}
        partial = self.folder / f"{STATE}.part"
        # The arguments may hold a stream's password.
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(state, file)
        partial.replace(self.folder / STATE)

    def summary(self) -> dict[str, Any]:
        """What the contract says of a session."""
        return {
            "session_id": self.id,
            "state": str(self.phase),
            "window": self.window,
            "attempt": self.attempt,
            "name": self.name,
            "path": self.path,
            "container": self.container,
            "size": self.size,
            "began_at": stamp(self.began_at),
            "ended_at": stamp(self.ended_at),
            "stopped_by_us": self.stopped_by_us,
            "exit_code": self.exit_code,
            "error": self.error,
            **({} if self.proof is None else self.proof),
        }


class SessionStore:
    """The folder that holds every session's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def new(self, **what: Any) -> Session:
        session_id = str(uuid.uuid4())
        return Session(folder=self._folder / session_id, id=session_id, **what)

    def load(self) -> Iterator[Session]:
        if not self._folder.is_dir():
            return
        for folder in sorted(self._folder.iterdir()):
            try:
                yield _read(folder)
            except (OSError, ValueError, TypeError, KeyError) as error:
                log.error("the session in %s cannot be read and is left alone: %s", folder, error)

    def forget(self, session: Session) -> None:
        shutil.rmtree(session.folder, ignore_errors=True)


def _read(folder: Path) -> Session:
    state = json.loads((folder / STATE).read_text(encoding="utf-8"))
    known = {f.name for f in fields(Session)}
    values = {name: value for name, value in state.items() if name in known}
    values["phase"] = Phase(values["phase"])
    return Session(folder=folder, **values)


def file_name(session: Session, extension: str) -> str:
    """A name that sorts by time, says what it is, and cannot collide or climb out of its folder."""
    at = datetime.fromtimestamp(session.requested_at, UTC)
    return f"{at:%Y%m%d-%H%M%S}_{slug(session.name)}_{session.id[:8]}.{extension}"


def slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:60] or "recording"


def stamp(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
