"""Dialogs in the manner of the window: opened, never executed."""
