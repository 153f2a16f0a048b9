"""What the window remembers between two starts: an ini file, one section for each operator."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSettings

log = logging.getLogger(__name__)


class Preferences:
    def __init__(self, folder: Path, operator: str) -> None:
        self.path = folder / "desktop.ini"
        self._section = "".join(c if c.isalnum() else "_" for c in operator) or "operator"
        self._store = QSettings(str(self.path), QSettings.Format.IniFormat)

    def _get(self, name: str, default: str) -> str:
        return str(self._store.value(f"{self._section}/{name}", default))

    def _set(self, name: str, value: str) -> None:
        self._store.setValue(f"{self._section}/{name}", value)

    @property
    def theme(self) -> str:
        return self._get("theme", "dark")

    @theme.setter
    def theme(self, choice: str) -> None:
        self._set("theme", choice)

    @property
    def sound(self) -> bool:
        return self._get("sound", "on") == "on"

    @sound.setter
    def sound(self, on: bool) -> None:
        self._set("sound", "on" if on else "off")

    @property
    def welcomed(self) -> bool:
        """Whether the operator has had enough of the welcome."""
        return self._get("welcomed", "no") == "yes"

    @welcomed.setter
    def welcomed(self, done: bool) -> None:
        self._set("welcomed", "yes" if done else "no")

    @property
    def layout(self) -> dict[str, Any]:
        """Where the panels stand. Anything unreadable counts as never saved."""
        text = self._get("layout", "{}")
        try:
            found = json.loads(text)
        except ValueError:
            log.warning("the saved layout cannot be read; the panels stand as at first")
            return {}
        return found if isinstance(found, dict) else {}

    @layout.setter
    def layout(self, layout: dict[str, Any]) -> None:
        self._set("layout", json.dumps(layout))

    def save(self) -> None:
        self._store.sync()
        if self._store.status() != QSettings.Status.NoError:
            log.warning("the preferences cannot be written to %s", self.path)
