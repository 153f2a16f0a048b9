"""One plot: a title, what the figures say in words, and lines over time. It draws what it is given, no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QVBoxLayout

from gui import fonts
from gui.parts import Label, Surface
from gui.theme import theme

# Greys that can be told apart, and dashes for those who cannot: no line is a colour, because none is an alarm.
LOOKS = (
    ("t1", Qt.PenStyle.SolidLine),
    ("t3", Qt.PenStyle.SolidLine),
    ("t2", Qt.PenStyle.DashLine),
    ("t3", Qt.PenStyle.DotLine),
)


@dataclass(frozen=True)
class Line:
    name: str
    at: Sequence[float]
    values: Sequence[float]
    dots: bool = False  # single events, not a course


class _Clock(pg.AxisItem):
    def __init__(self, local: Callable[[float], datetime]) -> None:
        super().__init__("bottom")
        self._local = local

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        form = "%H:%M:%S" if spacing < 60 else "%H:%M"
        return [f"{self._local(value):{form}}" for value in values]


class Chart(Surface):
    def __init__(
        self, name: str, unit: str, empty: str, local: Callable[[float], datetime], limit: float | None = None
    ) -> None:
        super().__init__("panel")
        self.name = name
        self.setAccessibleName(name)
        self._limit = limit
        self.drawn = 0
        title = Label(name, fonts.text(13, 600))
        self.words = Label("", fonts.figures(12), "second", elide=True)
        head = QHBoxLayout()
        head.setSpacing(12)
        head.addWidget(title)
        head.addWidget(self.words, 1)
        self.plot = pg.PlotWidget(axisItems={"bottom": _Clock(local)})
        self.plot.setMenuEnabled(False)
        self.plot.setMouseEnabled(False, False)
        self.plot.hideButtons()
        self.plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.plot.setAccessibleName(f"{name}, {unit}")
        self.plot.getPlotItem().setContentsMargins(0, 0, 8, 0)
        self.plot.getAxis("left").setWidth(44)
        self.empty = Label(empty, fonts.text(13), "second")
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._stack = QStackedLayout()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.plot)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 4, 4)
        column.setSpacing(4)
        column.addLayout(head)
        column.addLayout(self._stack, 1)
        self._curves: list[pg.PlotDataItem] = []
        self._limit_line = None
        if limit is not None:
            self._limit_line = pg.InfiniteLine(limit, angle=0)
            self.plot.addItem(self._limit_line, ignoreBounds=True)
        theme.changed.connect(self._dress)
        self._dress()

    def show_lines(
        self, lines: Sequence[Line], words: str, begin: float, end: float, floor: float = 1.0
    ) -> None:
        """Draws the lines between two instants; `floor` is the least height of the scale, so that noise of
        a tenth of a millisecond does not look like a mountain."""
        self.drawn += 1
        self.words.show_text(words)
        self.setAccessibleDescription(words)
        if not any(len(line.at) for line in lines):
            self._stack.setCurrentWidget(self.empty)
            return
        self._stack.setCurrentWidget(self.plot)
        while len(self._curves) < len(lines):
            curve = pg.PlotDataItem(connect="finite", antialias=False, symbolSize=5)
            self._curves.append(curve)
            self.plot.addItem(curve)
            self._dress_curve(len(self._curves) - 1)
        top = floor
        for curve, line in zip(self._curves, lines, strict=False):
            curve.opts["symbol"] = "s" if line.dots else None
            if line.dots:
                curve.setPen(None)
            curve.setData(line.at, line.values)
            top = max([top, *(v for v in line.values if v == v)])
        self.plot.setXRange(begin, end, padding=0)
        self.plot.setYRange(0, top * 1.08, padding=0)

    def _dress(self) -> None:
        self.plot.setBackground(theme.colour("bg1"))
        font: QFont = fonts.figures(12)
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            axis.setPen(theme.colour("line2"))
            axis.setTextPen(theme.colour("t2"))
            axis.setTickFont(font)
        for index in range(len(self._curves)):
            self._dress_curve(index)
        if self._limit_line is not None:
            self._limit_line.setPen(pg.mkPen(theme.colour("line3"), style=Qt.PenStyle.DotLine))

    def _dress_curve(self, index: int) -> None:
        token, style = LOOKS[index % len(LOOKS)]
        curve = self._curves[index]
        curve.setPen(pg.mkPen(theme.colour(token), width=1, style=style))
        curve.setSymbolBrush(theme.colour(token))
        curve.setSymbolPen(None)
