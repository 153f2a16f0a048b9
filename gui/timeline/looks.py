"""What a window's bar says: its kind, its mark and its second line. Words in, words out: nothing here paints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.recording.model import Asset, Recorder, Window
from core.recording.rules import held
from gui.recorders.growth import size_words
from gui.words import clock, signed_milliseconds, span

READY = timedelta(minutes=5)
Local = Callable[[datetime], datetime]

MARKS = {
    "pending": "idle", "ready": "ready", "held": "held", "starting": "ready", "running": "recording",
    "stopping": "recording", "completed": "completed", "failed": "failed", "missed": "missed",
    "cancelled": "cancelled",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BarLook:
    kind: str
    mark: str
    title: str
    state: str  # the bold words of the second line
    span: str
    length: str  # "" where the state says it better
    repeats: bool
    worry: str = ""  # what is wrong, in words
    priority: int = 0  # the alarm's, when there is one


def bar_look(
    window: Window, recorder: Recorder | None, now: datetime, local: Local, priority: int = 0, worry: str = ""
) -> BarLook:
    kind = kind_of(window, recorder, now)
    state = {"failed": "Failed", "missed": "Missed", "held": "Held", "cancelled": "Cancelled"}.get(kind, "")
    if kind in ("running", "stopping"):
        elapsed = clock((now - (window.started_at or window.start_at)).total_seconds())
        state = f"REC {elapsed}" if kind == "running" else f"Stopping {elapsed}"
    elif kind == "starting":
        state = "Starting" if window.attempt < 2 else f"Starting, attempt {window.attempt}"
    at_risk = priority if kind in ("pending", "ready", "starting", "held") else 0
    return BarLook(
        kind,
        MARKS[kind],
        window.name,
        state,
        times(window, local),
        "" if state else span((window.end_at - window.start_at).total_seconds()),
        window.series_id is not None,
        worry if at_risk else "",
        at_risk,
    )


def kind_of(window: Window, recorder: Recorder | None, now: datetime) -> str:
    if window.status != "pending":
        return window.status
    if recorder is not None and held("pending", recorder.mode, window.by_hand, window.start_at, now):
        return "held"
    if window.start_at <= now:
        return "starting"
    return "ready" if window.start_at - now < READY else "pending"


def times(window: Window, local: Local) -> str:
    start, end = local(window.start_at), local(window.end_at)
    if window.open_ended and window.status in ("starting", "running"):
        return f"since {start:%H:%M}, until stopped"
    return f"{start:%H:%M}–{end:%H:%M}"


def tip(
    window: Window, recorder: Recorder | None, asset: Asset | None, now: datetime, local: Local, worry: str
) -> str:
    """All that is known of a window, for its tooltip."""
    start, end = local(window.start_at), local(window.end_at)
    where = recorder.name if recorder is not None else "no recorder"
    kind = kind_of(window, recorder, now)
    lines = [
        window.name,
        f"{where} · {start:%a} {start.day} {start:%b} {start:%H:%M:%S}–{end:%H:%M:%S} · "
        f"{span((window.end_at - window.start_at).total_seconds())}",
        kind.capitalize() + (" · repeats" if window.series_id is not None else ""),
    ]
    if window.started_at is not None:
        late = (window.started_at - window.start_at).total_seconds() * 1000
        lines.append(f"Started {signed_milliseconds(late)}")
    if asset is not None:
        lines.append(f"Recorded {size_words(asset.size_bytes)}")
    if window.attempt > 1:
        lines.append(f"Attempt {window.attempt}")
    if window.error_message:
        lines.append(window.error_message)
    if worry:
        lines.append(worry)
    return "\n".join(lines)
