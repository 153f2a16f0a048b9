"""The three roles. The database enforces them; this is how the program knows what to offer."""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    VIEWER = 1
    OPERATOR = 2
    ENGINEER = 3

    @property
    def title(self) -> str:
        return self.name.capitalize()

    @classmethod
    def named(cls, name: str) -> Role:
        return cls[name.upper()]
