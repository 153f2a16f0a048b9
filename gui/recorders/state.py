"""What a recorder's row says, worked out from the read model. Words in, words out: nothing here paints.

A row is painted again only when its `Look` is another one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.alarms.model import Alarm
from core.recording.model import Asset, Node, Recorder, Window
from core.recording.rules import held
from core.recording.sources import shown
from gui.recorders.growth import free_words, rate_words, size_words
from gui.words import clock, signed_milliseconds, span

READY = timedelta(minutes=5)
LATE = timedelta(seconds=1)
STILL = timedelta(seconds=5)  # without growth for so long, a live file is called not growing
FAULTS = {"black": "black", "freeze": "frozen", "silence": "silent", "stalled": "not growing"}
MINUS = "\u2212"


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a row is made of."""

    recorder: Recorder
    node: Node | None
    current: Window | None
    coming: tuple[Window, ...]
    asset: Asset | None
    rate: float | None
    alarm: Alarm | None
    asked: str  # what an operator asked for and nobody confirmed yet: start, stop, mode, extend
    refusal: str


@dataclass(frozen=True, slots=True)
class Look:
    lamp: str  # a mark, or "alarm"
    priority: int
    flashes: bool
    name: str
    source: str
    fault: str
    place: str
    manual: bool
    bar: str  # empty, pending, ready, held, due, starting, running, stopping, foreign
    title: str
    repeats: bool
    state: str  # the bold words of the second line
    span: str
    figure: str  # the large figure
    progress: int  # thousandths
    figures: str
    worry: bool  # whether a figure is abnormal
    trouble: str
    refusal: str
    following: str

    @property
    def recording(self) -> bool:
        return self.bar in ("running", "stopping", "foreign")


def look(facts: Facts, now: datetime, local: Callable[[datetime], datetime]) -> Look:
    recorder, window = facts.recorder, facts.current or (facts.coming[0] if facts.coming else None)
    bar = bar_of(facts, now)
    lamp = _lamp(facts, bar)
    after = facts.coming if facts.current is not None else facts.coming[1:]
    words = _state_words(facts, bar, now)
    figures, worry = _figures(facts, bar, now)
    return Look(
        lamp=lamp,
        priority=2 if facts.alarm is None else int(facts.alarm.rank),
        flashes=facts.alarm is not None and facts.alarm.unacked,
        name=recorder.name,
        source=shown((facts.current.source if facts.current is not None else None) or recorder.source),
        fault=_fault(facts),
        place=_place(facts),
        manual=recorder.mode == "manual",
        bar=bar,
        title=_title(facts, bar, window),
        repeats=window is not None and window.series_id is not None,
        state=words,
        span="" if window is None or bar in ("foreign", "empty") else span_words(window, now, local),
        figure=_figure(window, bar, now),
        progress=_progress(window, bar, now),
        figures=figures,
        worry=worry,
        trouble=_trouble(facts, bar),
        refusal=facts.refusal,
        following=_following(after, now, local),
    )


def bar_of(facts: Facts, now: datetime) -> str:
    window = facts.current
    if window is None:
        if facts.recorder.status == "recording":
            return "foreign"
        if facts.asked == "start":
            return "starting"
        if not facts.coming:
            return "empty"
        return "ready" if facts.coming[0].start_at - now < READY else "pending"
    if window.status == "pending":
        waits = held("pending", facts.recorder.mode, window.by_hand, window.start_at, now)
        return "held" if waits and facts.asked != "start" else "due"
    if facts.asked == "stop":
        return "stopping"
    return window.status


def offline(facts: Facts) -> bool:
    return facts.recorder.status == "offline" or (facts.node is not None and facts.node.status == "offline")


def _lamp(facts: Facts, bar: str) -> str:
    if facts.alarm is not None or facts.recorder.signal.get("faults") or facts.recorder.status == "error":
        return "alarm"
    if bar in ("running", "stopping", "foreign"):
        return "recording"
    if offline(facts):
        return "offline"
    return "ready" if bar in ("ready", "due", "starting") else "idle"


def _fault(facts: Facts) -> str:
    faults = facts.recorder.signal.get("faults") or []
    return ", ".join(FAULTS.get(str(f), str(f)) for f in faults)


def _place(facts: Facts) -> str:
    if facts.node is None:
        where = "External recorder"
        return f"{where} · offline" if offline(facts) else where
    if offline(facts):
        return f"{facts.node.name} · offline"
    free = [v.get("free") for v in facts.node.volumes if isinstance(v.get("free"), int | float)]
    return f"{facts.node.name} · {free_words(int(min(free)))} free" if free else facts.node.name  # type: ignore[type-var, arg-type]


def _title(facts: Facts, bar: str, window: Window | None) -> str:
    if bar == "foreign":
        return "Recording outside the schedule"
    if bar == "empty":
        return "Nothing scheduled"
    if facts.current is None and facts.asked == "start":
        return f"Manual {facts.recorder.name}"
    return "" if window is None else window.name


def _state_words(facts: Facts, bar: str, now: datetime) -> str:
    window = facts.current
    if bar in ("running", "stopping") and window is not None:
        elapsed = clock((now - (window.started_at or window.start_at)).total_seconds())
        return f"REC {elapsed}" if bar == "running" else f"Stopping {elapsed}"
    if bar == "foreign":
        return "REC"
    if bar == "starting":
        return "Starting…" if window is None or window.attempt < 2 else f"Starting, attempt {window.attempt}"
    return {"held": "held: manual mode", "due": "Waiting to start", "empty": ""}.get(bar, "")


def span_words(window: Window, now: datetime, local: Callable[[datetime], datetime]) -> str:
    start, end = local(window.start_at), local(window.end_at)
    if window.open_ended:
        return f"since {start:%H:%M}, until stopped"
    day = f"{start:%a} " if start.date() != local(now).date() else ""
    return f"{day}{start:%H:%M}–{end:%H:%M}  {span((window.end_at - window.start_at).total_seconds())}"


def _figure(window: Window | None, bar: str, now: datetime) -> str:
    if window is None or bar in ("empty", "foreign", "stopping"):
        return ""
    if bar in ("pending", "ready"):
        return clock((window.start_at - now).total_seconds())
    if window.open_ended or (bar == "starting" and window.status == "pending" and window.start_at > now):
        return ""
    return MINUS + clock((window.end_at - now).total_seconds())


def _progress(window: Window | None, bar: str, now: datetime) -> int:
    if window is None or bar not in ("running", "stopping"):
        return 0
    if window.open_ended:
        return 1000
    whole = (window.end_at - window.start_at).total_seconds()
    return min(1000, max(0, int((now - window.start_at).total_seconds() / whole * 1000)))


def _figures(facts: Facts, bar: str, now: datetime) -> tuple[str, bool]:
    window, asset = facts.current, facts.asset
    if window is None or bar not in ("running", "stopping", "starting", "due"):
        return "", False
    parts, worry = [], False
    if window.started_at is not None:
        late = window.started_at - window.start_at
        parts.append(f"started {signed_milliseconds(late.total_seconds() * 1000)}")
        worry = late > LATE
    if asset is not None:
        parts.append(size_words(asset.size_bytes))
        if asset.last_growth_at is not None and now - asset.last_growth_at > STILL and bar == "running":
            parts.append("not growing")
            worry = True
        elif facts.rate is not None:
            parts.append(rate_words(facts.rate))
    if window.attempt > 1:
        parts.append(f"attempt {window.attempt}")
        worry = True
    return " · ".join(parts), worry


def _trouble(facts: Facts, bar: str) -> str:
    if facts.current is not None and facts.current.error_message:
        return facts.current.error_message
    if facts.recorder.error_message:
        return facts.recorder.error_message
    if offline(facts) and facts.node is not None and facts.node.error_message:
        return facts.node.error_message
    if facts.alarm is not None and bar != "running":
        return facts.alarm.message
    return ""


def _following(after: tuple[Window, ...], now: datetime, local: Callable[[datetime], datetime]) -> str:
    if not after:
        return ""
    window = after[0]
    start = local(window.start_at)
    day = f"{start:%a} " if start.date() != local(now).date() else ""
    wait = clock((window.start_at - now).total_seconds())
    return f"Next {day}{start:%H:%M} {window.name} · in {wait}"
