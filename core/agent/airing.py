"""One generation of a channel on this node, and its state on disk.

The state is written, in one step, before the sidecar is started and at every change after it, so
whichever moment the agent dies at, the next one knows which process to look for and what was asked
of it. The folder also holds the sidecar's own journal: what really went to air, however it ended.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from core.agent.session import stamp

log = logging.getLogger(__name__)
STATE, ORDER, END, LOG, ALIVE = "airing.json", "order.json", "end.json", "sidecar.log", "alive"
OVER = "over.json"
KEPT_DAYS = 7


@dataclass
class Airing:
    """What is kept of a sidecar. Times are seconds since the epoch by this machine."""

    folder: Path
    channel: int
    generation: int
    name: str
    url: str
    begun_at: float
    argv: list[str] = field(default_factory=list)
    pid: int | None = None
    asked_to_end: bool = False  # by this agent or one before it
    ended_at: float | None = None
    why: str | None = None
    died: bool = False  # it ended unasked
    reported: bool = False  # whether the database knows that it died

    @property
    def running(self) -> bool:
        return self.ended_at is None

    def save(self) -> None:
        write_json(
            self.folder / STATE, {name: value for name, value in asdict(self).items() if name != "folder"}
        )

    def exit(self) -> dict[str, Any] | None:
        """What the contract says of its end."""
        if self.running:
            return None
        return {
            "generation": self.generation,
            "at": stamp(self.ended_at),
            "why": self.why,
            "asked": not self.died,
        }

    def note_end(self, *, seen: bool) -> None:
        """Finds out how it ended. One whose end nobody saw was alive when it last touched its file."""
        said = read_json(self.folder / END)
        at, why = said.get("at"), said.get("why")
        if isinstance(at, int | float):
            self.ended_at = float(at)
        elif seen:
            self.ended_at = time.time()
        else:
            self.ended_at = _touched(self.folder / ALIVE) or self.begun_at
        self.died = not (self.asked_to_end or said.get("asked") is True)
        self.why = why if isinstance(why, str) and why else self._last_words()
        self.save()

    def _last_words(self) -> str:
        return "It was ended by force." if self.asked_to_end else "The sidecar died."


class AiringStore:
    """The folder that holds, for each channel, a folder for each generation and the last one that is over."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder(self, channel: int, generation: int) -> Path:
        return self._folder / str(channel) / str(generation)

    def over(self, channel: int) -> int:
        found = read_json(self._folder / str(channel) / OVER).get("over")
        return found if isinstance(found, int) else 0

    def save_over(self, channel: int, generation: int) -> None:
        (self._folder / str(channel)).mkdir(parents=True, exist_ok=True)
        write_json(self._folder / str(channel) / OVER, {"over": generation})

    def channels(self) -> list[int]:
        if not self._folder.is_dir():
            return []
        return [int(f.name) for f in self._folder.iterdir() if f.name.isdecimal()]

    def load(self, channel: int) -> list[Airing]:
        return list(self._load(channel))

    def _load(self, channel: int) -> Iterator[Airing]:
        for folder in sorted((self._folder / str(channel)).iterdir()):
            if not folder.name.isdecimal():
                continue
            try:
                state = json.loads((folder / STATE).read_text(encoding="utf-8"))
                known = {f.name for f in fields(Airing)}
                yield Airing(folder=folder, **{n: v for n, v in state.items() if n in known})
            except (OSError, ValueError, TypeError, AttributeError) as error:
                log.error("the airing in %s cannot be read and is left alone: %s", folder, error)

    def forget(self, airing: Airing) -> None:
        shutil.rmtree(airing.folder, ignore_errors=True)


def read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_json(path: Path, content: object) -> None:
    """In one step, and for its owner alone: an order may hold a stream's password."""
    partial = path.with_name(f"{path.name}.part")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file)
    partial.replace(path)


def _touched(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None
