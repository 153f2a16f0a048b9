"""How fast a recording grows, from what the feed reports of its size."""

from __future__ import annotations

from collections import deque
from datetime import timedelta

from core.recording.model import Asset

OVER = timedelta(seconds=10)  # the rate is that of the last ten seconds
KEPT = 32


class Growth:
    def __init__(self) -> None:
        self._sizes: dict[int, deque[tuple[float, int]]] = {}

    def note(self, asset: Asset) -> None:
        if asset.status != "live" or asset.last_growth_at is None:
            self._sizes.pop(asset.id, None)
            return
        seen = self._sizes.setdefault(asset.id, deque(maxlen=KEPT))
        at = asset.last_growth_at.timestamp()
        if not seen or seen[-1][0] < at:
            seen.append((at, asset.size_bytes))
        while seen and seen[0][0] < at - OVER.total_seconds():
            seen.popleft()

    def rate(self, asset: Asset) -> float | None:
        """Bytes a second; None while it is not known."""
        seen = self._sizes.get(asset.id)
        if not seen or len(seen) < 2 or seen[-1][0] - seen[0][0] < 0.5:
            return None
        return (seen[-1][1] - seen[0][1]) / (seen[-1][0] - seen[0][0])


def size_words(size: int) -> str:
    """123.4 MB; from 10 GB on 12.34 GB, so that it keeps growing before one's eyes."""
    return f"{size / 1e6:.1f} MB" if size < 10e9 else f"{size / 1e9:.2f} GB"


def free_words(free: int) -> str:
    if free >= 1e12:
        return f"{free / 1e12:.1f} TB"
    return f"{free / 1e9:.0f} GB" if free >= 10e9 else f"{free / 1e9:.1f} GB"


def rate_words(rate: float) -> str:
    return f"{rate * 8 / 1e6:.1f} Mb/s"
