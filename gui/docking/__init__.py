"""Panels in tab groups: moved between them, floated out of the window, put back where they were."""

from gui.docking.area import DockArea, rectangle
from gui.docking.group import Panel

__all__ = ["DockArea", "Panel", "rectangle"]
