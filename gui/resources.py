"""Where the files are that come with the program."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "resources"
FONTS = ROOT / "fonts"
ICONS = ROOT / "icons"
SOUNDS = ROOT / "sounds"
THEME = ROOT / "theme"
