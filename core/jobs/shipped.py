"""Which handlers ship, and when those that recur do so."""

from __future__ import annotations

from datetime import timedelta

from core.jobs.handlers.as_run_export import as_run_export
from core.jobs.handlers.asset_sync import asset_sync
from core.jobs.handlers.loudness import loudness
from core.jobs.handlers.proxy import proxy
from core.jobs.handlers.storage_cleanup import storage_cleanup
from core.jobs.handlers.thumbnails import thumbnails
from core.jobs.model import Definition
from core.jobs.registry import Registry

HOUR = timedelta(hours=1)
RECURRING = [
    Definition(
        "as-run export", "15 0 * * *", "as_run_export", arguments={"format": "csv"}, catch_up="every",
        overlap="queue", time_limit=HOUR,
    ),
    # The two below do nothing until an engineer has said where to push to, or how long to keep.
    Definition(
        "asset sync", "* * * * *", "asset_sync", arguments={"url": ""}, max_attempts=1, time_limit=HOUR,
        enabled=False,
    ),
    Definition(
        "storage cleanup", "40 3 * * *", "storage_cleanup", arguments={"keep_days": 30}, scope="node",
        queue="batch", time_limit=HOUR, enabled=False,
    ),
]  # fmt: skip


def shipped(discover: bool = True) -> Registry:
    """All handlers of this program, those of other installed packages too."""
    registry = Registry(definitions=list(RECURRING))
    for handler in (proxy, thumbnails, loudness, asset_sync, as_run_export, storage_cleanup):
        registry.add(handler.__name__, handler)
    if discover:
        registry.discover()
    return registry
