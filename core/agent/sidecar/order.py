"""What a sidecar is told to play, checked once. No heavy imports: a sidecar must be on air fast."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import CommandRefused


class OrderRefused(CommandRefused):
    """An order that cannot be understood."""


@dataclass(frozen=True, slots=True)
class Item:
    id: int
    asset_id: int | None
    clip: str
    path: str
    in_s: float
    duration_s: float | None


@dataclass(frozen=True, slots=True)
class Order:
    channel: int
    name: str
    generation: int
    output_type: str
    output_url: str
    settings: dict[str, Any]
    looping: bool
    version: int
    items: tuple[Item, ...]
    resume_id: int | None = None
    resume_s: float = 0.0

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> Order:
        settings, resume = (_object(body, name) for name in ("settings", "resume"))
        return cls(
            channel=whole(body, "channel"), name=text(body, "name"), generation=whole(body, "generation"),
            output_type=text(body, "output_type"), output_url=text(body, "output_url"), settings=settings,
            looping=bool(body.get("looping")), version=whole(body, "playlist_version", 0),
            items=items_of(body), resume_id=maybe(resume, "item_id"),
            resume_s=seconds(resume, "offset_s") or 0.0,
        )  # fmt: skip


def items_of(body: Mapping[str, Any]) -> tuple[Item, ...]:
    given = [] if body.get("items") is None else body["items"]
    if not isinstance(given, list) or any(not isinstance(item, dict) for item in given):
        raise OrderRefused("items must be a list of JSON objects.")
    return tuple(
        Item(
            whole(i, "id"), maybe(i, "asset_id"), text(i, "clip_name"), text(i, "path"),
            seconds(i, "in_s") or 0.0, seconds(i, "duration_s"),
        )
        for i in given
    )  # fmt: skip


def whole(body: Mapping[str, Any], name: str, default: int | None = None) -> int:
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise OrderRefused(f"{name} must be a whole number.")
    return value


def maybe(body: Mapping[str, Any], name: str) -> int | None:
    return None if body.get(name) is None else whole(body, name)


def _object(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = body.get(name)
    if value is not None and not isinstance(value, dict):
        raise OrderRefused(f"{name} must be a JSON object.")
    return value or {}


def text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise OrderRefused(f"{name} must be a text.")
    return value or ""


def seconds(body: Mapping[str, Any], name: str) -> float | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise OrderRefused(f"{name} must be a number of seconds.")
    return float(value)
