"""A tab group: a bar of 36 px and the panel of its current tab."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QStackedWidget,
    QStyle,
    QStyleOptionTab,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from gui import fonts
from gui.parts import Surface
from gui.theme import theme

HEIGHT = 36
GLYPH = 16


@dataclass
class Panel:
    """Something that can stand in a group or float. `paint_mark` draws a sign before its title."""

    id: str
    title: str
    widget: QWidget
    paint_mark: Callable[[QPainter, QRectF], bool] | None = None


class TabBar(QTabBar):
    """Tabs painted by us, because a mark that flashes stands in one of them."""

    def __init__(self, group: Group) -> None:
        super().__init__(group)
        self._group = group
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setUsesScrollButtons(True)
        self.setFont(fonts.figures(13, 600))
        self.setFixedHeight(HEIGHT)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        theme.changed.connect(self.update)

    def _marked(self, index: int) -> bool:
        return self._group.panels[index].paint_mark is not None

    def tabSizeHint(self, index: int) -> QSize:
        width = self.fontMetrics().horizontalAdvance(self.tabText(index)) + 33
        return QSize(width + (GLYPH + 8 if self._marked(index) else 0), HEIGHT)

    minimumTabSizeHint = tabSizeHint

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.colour("bg2"))
        for index in range(self.count()):
            option = QStyleOptionTab()
            self.initStyleOption(option, index)
            rect = self.tabRect(index)
            current = index == self.currentIndex()
            hover = bool(option.state & QStyle.StateFlag.State_MouseOver)
            if current:
                painter.fillRect(rect, theme.colour("bg1"))
                painter.fillRect(
                    rect.left(), 0, rect.width(), 2, theme.colour("sel" if self.hasFocus() else "t3")
                )
            painter.fillRect(rect.right(), 0, 1, HEIGHT, theme.colour("gap"))
            x = float(rect.left() + 16)
            mark = self._group.panels[index].paint_mark
            if mark is not None and mark(painter, QRectF(x, (HEIGHT - GLYPH) / 2, GLYPH, GLYPH)):
                x += GLYPH + 8
            painter.setFont(fonts.figures(13, 600 if current else 500))
            painter.setPen(theme.colour("t1" if current or hover else "t2"))
            painter.drawText(
                QRectF(x, 0, rect.right() - x, HEIGHT), Qt.AlignmentFlag.AlignVCenter, self.tabText(index)
            )
        painter.end()


class Group(Surface):
    menu_wanted = Signal(str, QPoint)  # panel, where on the screen

    def __init__(self, name: str) -> None:
        super().__init__("bar")
        self.name = name
        self.panels: list[Panel] = []
        self.bar = TabBar(self)
        self.bar.setAccessibleName(f"Panels, {name}")
        self.stack = QStackedWidget()
        top = QHBoxLayout()
        top.setContentsMargins(0, 0, 0, 0)
        top.addWidget(self.bar)
        top.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(top)
        column.addWidget(self.stack, 1)
        self.bar.currentChanged.connect(self.stack.setCurrentIndex)
        self.bar.customContextMenuRequested.connect(self._menu)

    def minimumSizeHint(self) -> QSize:
        return QSize(360, 160)

    def insert(self, panel: Panel, at: int | None = None) -> None:
        index = len(self.panels) if at is None else min(at, len(self.panels))
        self.panels.insert(index, panel)
        self.stack.insertWidget(index, panel.widget)
        self.bar.insertTab(index, panel.title)
        self.bar.setTabToolTip(index, panel.title)
        self.setVisible(True)

    def remove(self, panel: Panel) -> None:
        index = self.panels.index(panel)
        # The tab first: its bar asks the list about each of its tabs.
        self.bar.blockSignals(True)
        self.bar.removeTab(index)
        self.bar.blockSignals(False)
        self.panels.remove(panel)
        self.stack.removeWidget(panel.widget)
        self.stack.setCurrentIndex(self.bar.currentIndex())
        self.setVisible(bool(self.panels))

    def choose(self, panel: Panel) -> None:
        self.bar.setCurrentIndex(self.panels.index(panel))

    def current(self) -> Panel | None:
        index = self.bar.currentIndex()
        return self.panels[index] if 0 <= index < len(self.panels) else None

    def retitle(self, panel: Panel) -> None:
        index = self.panels.index(panel)
        if self.bar.tabText(index) != panel.title:
            self.bar.setTabText(index, panel.title)

    def _menu(self, at: QPoint) -> None:
        index = self.bar.tabAt(at)
        if index >= 0:
            self.menu_wanted.emit(self.panels[index].id, self.bar.mapToGlobal(at))
