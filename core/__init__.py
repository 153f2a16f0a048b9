"""The scheduler core: everything Airlock decides and does, with no Qt in it."""

__version__ = "0.1.0"
