"""The top bar: plant, clock, scheduler, next event, tallies, alarm lamp, operator."""

from gui.header.bar import HeaderBar

__all__ = ["HeaderBar"]
