"""What went on air, numbered and dated, in memory and in a file that survives the sidecar."""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FILE, OLDER = "events.jsonl", "events.older.jsonl"
LARGEST = 8 * 1024**2
MOST = 500
KEPT = 5000


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


class Journal:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._recent: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._lock = threading.Lock()
        self.seq = 0
        self.problem: str | None = None

    def note(self, kind: str, at: float, **what: Any) -> None:
        with self._lock:
            self.seq += 1
            event = {"seq": self.seq, "type": kind, "at": stamp(at), **what}
            self._recent.append(event)
            try:
                self._append(json.dumps(event).encode() + b"\n")
                self.problem = None
            except OSError as error:  # the channel stays on air; the events are still in memory
                self.problem = f"The journal cannot be written: {error.strerror or error}."

    def _append(self, line: bytes) -> None:
        path = self._folder / FILE
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, line)
            full = os.fstat(descriptor).st_size > LARGEST
        finally:
            os.close(descriptor)
        if full:
            path.replace(self._folder / OLDER)

    def after(self, seq: int) -> list[dict[str, Any]]:
        with self._lock:
            recent = list(self._recent)
        if recent and recent[0]["seq"] > seq + 1:
            return read(self._folder, seq)
        return [e for e in recent if e["seq"] > seq][:MOST]


def read(folder: Path, after: int) -> list[dict[str, Any]]:
    """Events from the files; a line that was cut off by a crash ends the reading of its file."""
    found = (e for name in (OLDER, FILE) for e in _lines(folder / name))
    return sorted((e for e in found if e.get("seq", 0) > after), key=lambda e: e["seq"])[:MOST]


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            return
        if isinstance(event, dict):
            yield event
