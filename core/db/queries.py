"""Reads .sql files made of named statements.

A file is a sequence of blocks, each opened by `-- name: some_name`. Keeping SQL in such files lets
it be read, explained and reviewed as SQL; Python only ever says its name.
"""

from __future__ import annotations

import re
from pathlib import Path

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


class Queries:
    """The statements of one .sql file, as attributes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        parts = _NAME.split(path.read_text(encoding="utf-8"))
        self._statements: dict[str, str] = dict(
            zip(parts[1::2], (body.strip() for body in parts[2::2]), strict=True)
        )

    def __getattr__(self, name: str) -> str:
        try:
            return self._statements[name]
        except KeyError:
            raise AttributeError(f"{self._path.name} has no statement named {name}") from None

    def names(self) -> list[str]:
        return list(self._statements)


def beside(module_file: str, name: str) -> Queries:
    """The statements of the .sql file that lies beside a module."""
    return Queries(Path(module_file).with_name(name))
