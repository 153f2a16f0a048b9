"""When the items of a channel's playlist are on air, reckoned from the one that is. No Qt here.

A playlist has an order, not times: what follows begins when what is on air ends. Before the item on air there is
nothing to show, because what really aired is the as-run log's to say. An item of unknown length ends the reckoning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.playout.model import Item

MOST = 400  # items laid out for one channel


@dataclass(frozen=True, slots=True)
class Block:
    item: int | None
    title: str
    start: float
    end: float
    current: bool
    known: bool = True  # whether its length is


def blocks(
    items: Sequence[Item], on_air: int | None, since: float, offset: float, looping: bool, until: float
) -> list[Block]:
    """The items from the one on air up to an instant. `offset` is where in its clip it began."""
    order = sorted(items, key=lambda i: (i.position, i.id))
    place = next((n for n, i in enumerate(order) if i.id == on_air), None)
    if place is None:
        return []
    found: list[Block] = []
    at = since
    while at < until and len(found) < MOST:
        item = order[place]
        length = item.duration_s
        if length is None or length <= 0:
            found.append(Block(item.id, item.clip_name, at, until, not found, known=False))
            break
        end = at + max(0.0, length - (offset if not found else 0.0))
        found.append(Block(item.id, item.clip_name, at, end, not found))
        at = end
        place += 1
        if place == len(order):
            if not looping:
                break
            place = 0
    return found
