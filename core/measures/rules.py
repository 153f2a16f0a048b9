"""From rows to figures. Pure: what the picture holds goes in, numbers come out."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from core.playout.model import Channel
from core.recording.model import Node, Window

FRESH = timedelta(seconds=3)  # a heartbeat older than this is no longer news


def start_lateness(window: Window) -> float | None:
    """Milliseconds from when a window was to begin until it recorded; None where that says nothing.

    A recording started by hand begins when the hand moved, and a later attempt is late by what made the
    first one fail.
    """
    if window.started_at is None or window.by_hand or window.attempt > 1:
        return None
    return (window.started_at - window.start_at).total_seconds() * 1000


def latencies(channels: Iterable[Channel], now: datetime) -> list[float]:
    """Milliseconds that the channels on air took to answer just now, of those that answered."""
    return [
        c.heartbeat_ms
        for c in channels
        if c.on_air
        and c.heartbeat_ms is not None
        and c.last_heartbeat_at is not None
        and now - c.last_heartbeat_at < FRESH
    ]


def disks(nodes: Iterable[Node]) -> dict[str, float]:
    """How full each volume is, in per cent, by the name to be shown. What a node garbles is left out."""
    found: dict[str, float] = {}
    for node in nodes:
        if node.status != "online":
            continue
        for volume in node.volumes:
            try:
                total, free = float(volume["total"]), float(volume["free"])
            except (KeyError, TypeError, ValueError):
                continue
            if total > 0:
                name = (
                    node.name if len(node.volumes) == 1 else f"{node.name} {volume.get('path', '')}".strip()
                )
                found[name] = 100 * (1 - free / total)
    return found
