"""The area below the timeline: two tab groups side by side, and the panels that float outside.

What must stay true: every panel is in exactly one place, a group or a floating window, whatever a saved
layout says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QByteArray, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QMenu, QSplitter, QVBoxLayout, QWidget

from gui.docking.group import Group, Panel
from gui.glyphs import application_icon

SIDES = ("left", "right")
DEFAULT_SIZES = (796, 696)  # beside the channel wall, of 1920


def rectangle(window: QWidget) -> list[int]:
    frame = window.geometry()
    return [frame.x(), frame.y(), frame.width(), frame.height()]


class Floating(QWidget):
    """A panel in a window of its own; closing it puts the panel back."""

    closed = Signal(str)

    def __init__(self, panel: Panel, window: QWidget) -> None:
        super().__init__(window, Qt.WindowType.Window)
        self.panel = panel
        self.setWindowTitle(f"{panel.title} – Airlock")
        self.setWindowIcon(application_icon())
        self.setProperty("surface", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(panel.widget)
        panel.widget.show()

    def closeEvent(self, event: QCloseEvent) -> None:
        event.accept()
        self.closed.emit(self.panel.id)


class DockArea(QSplitter):
    floated = Signal(object)  # the new window, so that its keys can be set up

    def __init__(self, panels: dict[str, Sequence[Panel]], parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setHandleWidth(4)
        self.setChildrenCollapsible(False)
        self._home = {p.id: (side, i) for side in SIDES for i, p in enumerate(panels.get(side, ()))}
        self.panels = {p.id: p for side in SIDES for p in panels.get(side, ())}
        self.groups = {side: Group(side) for side in SIDES}
        self.floats: dict[str, Floating] = {}
        for side, group in self.groups.items():
            group.menu_wanted.connect(self._menu)
            self.addWidget(group)
            for panel in panels.get(side, ()):
                group.insert(panel)
        self.setStretchFactor(0, DEFAULT_SIZES[0])
        self.setStretchFactor(1, DEFAULT_SIZES[1])
        self.setSizes(list(DEFAULT_SIZES))

    # Where things are

    def group_of(self, id: str) -> Group | None:
        return next((g for g in self.groups.values() if self.panels[id] in g.panels), None)

    def reveal(self, id: str) -> None:
        """Brings a panel to the front and gives it the keyboard."""
        group = self.group_of(id)
        if group is not None:
            group.choose(self.panels[id])
        elif id in self.floats:
            self.floats[id].show()
            self.floats[id].raise_()
            self.floats[id].activateWindow()
        self.panels[id].widget.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def retitle(self, id: str, title: str) -> None:
        panel = self.panels[id]
        panel.title = title
        group = self.group_of(id)
        if group is not None:
            group.retitle(panel)
        elif id in self.floats:
            self.floats[id].setWindowTitle(f"{title} – Airlock")

    def update_marks(self) -> None:
        for group in self.groups.values():
            if any(p.paint_mark for p in group.panels):
                group.bar.update()

    # Moving

    def move_panel(self, id: str, side: str, at: int | None = None) -> None:
        panel = self.panels[id]
        group = self.group_of(id)
        if group is self.groups[side]:
            return
        if group is not None:
            group.remove(panel)
        floating = self.floats.pop(id, None)
        self.groups[side].insert(panel, at)
        self.groups[side].choose(panel)
        if floating is not None:
            floating.hide()
            floating.deleteLater()

    def float_panel(self, id: str, geometry: Sequence[int] | None = None) -> None:
        panel = self.panels[id]
        group = self.group_of(id)
        if group is None:
            return
        size = panel.widget.size().expandedTo(QSize(640, 360))
        group.remove(panel)
        floating = Floating(panel, self.window())
        self.floats[id] = floating
        floating.closed.connect(self.dock_panel)
        if geometry is not None and len(geometry) == 4:
            floating.setGeometry(*geometry)
        else:
            floating.resize(size)
        self.floated.emit(floating)
        floating.show()

    def dock_panel(self, id: str) -> None:
        side, at = self._home[id]
        self.move_panel(id, side, at)

    def toggle_float(self, id: str) -> None:
        if id in self.floats:
            self.dock_panel(id)
        else:
            self.float_panel(id)

    def _menu(self, id: str, at: QPoint) -> None:
        group = self.group_of(id)
        other = "right" if group is self.groups["left"] else "left"
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(f"Move to the {other}", lambda: self.move_panel(id, other))
        menu.addAction("Float in a window of its own", lambda: self.float_panel(id))
        menu.popup(at)

    # Remembering

    def saved(self) -> dict[str, Any]:
        return {
            "groups": {side: [p.id for p in g.panels] for side, g in self.groups.items()},
            "current": {side: c.id for side, g in self.groups.items() if (c := g.current()) is not None},
            "floats": {id: rectangle(f) for id, f in self.floats.items()},
            "split": bytes(self.saveState().toBase64().data()).decode(),
        }

    def restore(self, layout: dict[str, Any]) -> None:
        """Takes what it can of a saved layout; panels it does not know stay where they are."""
        groups = layout.get("groups", {})
        for side in SIDES:
            for at, id in enumerate(groups.get(side, ())):
                if id in self.panels:
                    self.move_panel(id, side, at)
        for id, geometry in layout.get("floats", {}).items():
            if id in self.panels:
                self.float_panel(id, geometry)
        if isinstance(split := layout.get("split"), str):
            self.restoreState(QByteArray.fromBase64(split.encode()))
        for side, id in layout.get("current", {}).items():
            if side in self.groups and id in self.panels and self.group_of(id) is self.groups[side]:
                self.groups[side].choose(self.panels[id])

    def reset(self) -> None:
        for id, (side, _) in sorted(self._home.items(), key=lambda h: h[1]):
            self.move_panel(id, side, self._home[id][1])
        for group in self.groups.values():
            if group.panels:
                group.choose(group.panels[0])
        self.setSizes(list(DEFAULT_SIZES))
