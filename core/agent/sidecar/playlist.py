"""Which item comes next, also when the list is changed under the item on air. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from core.agent.sidecar.order import Item


def following(items: Sequence[Item], looping: bool, after: int | None) -> Item | None:
    """The item behind the one with that id; None: the list is at its end, or empty."""
    if not items:
        return None
    places = {item.id: place for place, item in enumerate(items)}
    place = 0 if after is None else places.get(after, -1) + 1
    if place < len(items):
        return items[place]
    return items[0] if looping else None


def anchor(old: Sequence[Item], new: Sequence[Item], current: int | None) -> int | None:
    """After which id the new list goes on: the item on air, or the last one before it that is still there."""
    kept = {item.id for item in new}
    ids = [item.id for item in old]
    if current is None or current in kept:
        return current
    before = ids[: ids.index(current)] if current in ids else []
    return next((i for i in reversed(before) if i in kept), None)
