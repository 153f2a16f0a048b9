"""The program's own typefaces, in pixels.

Numbers that change have tabular figures, so that they never move: `figures`, `display` and `mono`. Names have
`text`, because tabular figures widen the hyphen too. The style sheet names no font: that would drop them.
"""

from __future__ import annotations

import logging
from functools import lru_cache

from PySide6.QtGui import QFont, QFontDatabase

from gui.resources import FONTS

log = logging.getLogger(__name__)

TEXT = "Inter"
DISPLAY = "Inter Display"
MONO = "JetBrains Mono"


def load() -> None:
    """Registers the bundled fonts. Without them Qt falls back to the system's: readable, but not ours."""
    for path in sorted(FONTS.glob("*.?tf")):
        if QFontDatabase.addApplicationFont(str(path)) < 0:
            log.warning("the font %s cannot be loaded", path.name)


@lru_cache(maxsize=256)
def _font(family: str, size: int, weight: int, spacing: float, tabular: bool) -> QFont:
    font = QFont(family)
    font.setPixelSize(size)
    font.setWeight(QFont.Weight(weight))
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    font.setStyleStrategy(QFont.StyleStrategy.PreferAntialias)
    font.setFeature(QFont.Tag("calt"), 0)  # no ligatures, and no colon that climbs between figures
    if tabular:
        font.setFeature(QFont.Tag("tnum"), 1)
    if spacing:
        font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, spacing)
    return font


def text(size: int = 13, weight: int = 400, spacing: float = 0.0) -> QFont:
    return QFont(_font(TEXT, size, weight, spacing, tabular=False))


def figures(size: int = 13, weight: int = 400) -> QFont:
    return QFont(_font(TEXT, size, weight, 0.0, tabular=True))


def display(size: int, weight: int = 600, spacing: float = 0.0) -> QFont:
    return QFont(_font(DISPLAY, size, weight, spacing, tabular=True))


def mono(size: int = 13, weight: int = 400) -> QFont:
    return QFont(_font(MONO, size, weight, 0.0, tabular=False))
