"""The one table that every part of the bench fills: what was measured, beside whom, and whether the bar holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    part: str
    case: str
    ours: float
    unit: str
    peers: dict[str, float] = field(default_factory=dict)
    ratio: float | None = None
    """Ours to what it is measured against, or that to ours: `bar` says which. Below 1 is not always better."""
    bar: str = ""
    """What must hold, in words. Empty: only reported."""
    ok: bool | None = None


def percentile(values: Sequence[float], share: float) -> float:
    """Nearest rank: a value that was measured, never one between two."""
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered) - 1, round(share * len(ordered) + 0.5) - 1))]


def figure(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def lines(rows: Iterable[Row]) -> list[str]:
    cells = [("ratio", "", "part", "case", "ours", "unit", "bar", "beside")]
    for row in rows:
        verdict = {True: "ok", False: "MISSED", None: ""}[row.ok]
        beside = ", ".join(f"{name} {figure(value)}" for name, value in row.peers.items())
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        cells.append((ratio, verdict, row.part, row.case, figure(row.ours), row.unit, row.bar, beside))
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]) - 1)]
    return [
        "  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=False)] + [row[-1]]).rstrip()
        for row in cells
    ]


def as_json(rows: Iterable[Row], about: dict[str, Any]) -> str:
    return json.dumps({**about, "rows": [asdict(row) for row in rows]}, indent=2) + "\n"
