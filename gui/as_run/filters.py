"""What of the as-run log is shown: by channel, result, words and time."""

from __future__ import annotations

from datetime import datetime, timedelta

from core.playout.as_run_log import AsRunFilter
from gui.as_run.columns import RESULTS

TIMES = {
    "all": "All times",
    "hour": "Last hour",
    "today": "Today",
    "yesterday": "Yesterday",
    "week": "Last 7 days",
}


def span_of(choice: str, local_now: datetime) -> tuple[datetime | None, datetime | None]:
    """From when to when; days are those of the plant, of 23 or 25 hours where they are."""
    midnight = local_now.replace(hour=0, minute=0, second=0, microsecond=0)
    # Wall-clock arithmetic: both ends are midnights of the plant's zone.
    return {
        "hour": (local_now - timedelta(hours=1), None),
        "today": (midnight, None),
        "yesterday": (midnight - timedelta(days=1), midnight),
        "week": (midnight - timedelta(days=6), None),
    }.get(choice, (None, None))


def made(channel: int | None, result: str | None, text: str, time: str, local_now: datetime) -> AsRunFilter:
    since, until = span_of(time, local_now)
    return AsRunFilter(
        () if channel is None else (channel,), () if result is None else (result,), text.strip(), since, until
    )


def is_all(filter: AsRunFilter) -> bool:
    return filter == AsRunFilter()


RESULT_CHOICES: dict[str | None, str] = {
    None: "All results",
    **{key: words for key, (words, _) in RESULTS.items()},
}
