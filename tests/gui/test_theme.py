"""The theme: every text can be read on its ground, and nothing is left unstyled."""

from __future__ import annotations

import re

import pytest
from PySide6.QtGui import QFont, QFontDatabase, QFontMetricsF
from PySide6.QtWidgets import QApplication

from gui import fonts
from gui.palette import DARK, LIGHT, TEXT_PAIRS, Palette, contrast
from gui.stylesheet import style_sheet
from gui.theme import theme


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda p: p.name)
def test_every_text_has_a_contrast_of_4_5(palette: Palette) -> None:
    low = {
        (text, ground): round(contrast(getattr(palette, text), getattr(palette, ground)), 2)
        for text, ground in TEXT_PAIRS
        if contrast(getattr(palette, text), getattr(palette, ground)) < 4.5
    }
    assert not low
    assert contrast("#FFFFFF", palette.live) >= 4.5


def test_contrast_is_the_one_of_wcag() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda p: p.name)
def test_alarms_are_told_apart_from_live(palette: Palette) -> None:
    colours = {palette.live_line, palette.p1, palette.p2, palette.p3, palette.p4}
    assert len(colours) == 5
    for shape in (palette.p1, palette.p2, palette.p3, palette.live_line):
        assert contrast(shape, palette.selbg) >= 3.0


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda p: p.name)
def test_the_style_sheet_has_no_open_token_no_radius_and_no_gradient(palette: Palette) -> None:
    sheet = style_sheet(palette)
    assert "@" not in sheet
    assert "gradient" not in sheet
    assert "font" not in sheet
    # The one round thing is a radio button.
    assert set(re.findall(r"border-radius: (\d+)", sheet)) == {"0", "8"}


def test_the_bundled_fonts_are_there_and_figures_are_tabular(dressed: QApplication) -> None:
    families = set(QFontDatabase.families())
    assert {fonts.TEXT, fonts.DISPLAY, fonts.MONO} <= families
    for font in (fonts.figures(13), fonts.figures(13, 600), fonts.display(40), fonts.mono(13)):
        metrics = QFontMetricsF(font)
        widths = {metrics.horizontalAdvance(f"{d}{d}{d}{d}") for d in range(10)}
        assert max(widths) - min(widths) < 0.01
    assert QFont(fonts.display(40)).weight() == QFont.Weight.DemiBold


def test_the_theme_is_switched_while_it_runs(dressed: QApplication) -> None:
    heard = []
    theme.changed.connect(lambda: heard.append(theme.palette.name))
    theme.apply(dressed, "light")
    assert theme.colour("bg1").name().upper() == LIGHT.bg1
    theme.apply(dressed, "dark")
    assert heard == ["light", "dark"]
    assert theme.colour("bg1").name().upper() == DARK.bg1
