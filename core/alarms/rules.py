"""Pure rules of the alarm list: what stands above what, and what is a consequence of what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from core.alarms.model import Alarm, Priority


@dataclass(frozen=True, slots=True)
class Listed:
    """An alarm in its place on the list."""

    alarm: Alarm
    consequence: bool  # stands indented under its cause


@dataclass(frozen=True, slots=True)
class Summary:
    """What the lamp in the header says."""

    unacked: int
    active: int
    shelved: int
    worst: Priority | None  # of the unacknowledged ones; of the active ones when all are acknowledged


def _urgency(alarm: Alarm) -> tuple[bool, int, float]:
    return (not alarm.unacked, alarm.rank, -alarm.raised_at.timestamp())


def arrange(alarms: Iterable[Alarm]) -> list[Listed]:
    """Unacknowledged first, then by priority, then newest; consequences directly under their cause.

    A cause stands where its most urgent member would: an acknowledged cause does not drag an
    unacknowledged consequence down the list.
    """
    found = list(alarms)
    # A key may stand there twice: one alarm that is over, and the same again. The active one is the cause.
    by_key = {a.key: a for a in sorted(found, key=lambda a: (a.active, a.raised_at))}
    families: dict[int, tuple[Alarm, list[Alarm]]] = {}
    for alarm in found:
        root = _root(alarm, by_key)
        families.setdefault(root.id, (root, []))[1].append(alarm)
    listed: list[Listed] = []
    for root, members in sorted(families.values(), key=lambda f: min(_urgency(a) for a in f[1])):
        listed.append(Listed(root, consequence=False))
        others = sorted((a for a in members if a is not root), key=_urgency)
        listed.extend(Listed(a, consequence=True) for a in others)
    return listed


def _root(alarm: Alarm, by_key: dict[str, Alarm]) -> Alarm:
    if by_key[alarm.key] is not alarm:
        # Another one stands for its key, so nothing follows from this one; it may still follow from others.
        cause = by_key.get(alarm.cause_key or "")
        return alarm if cause is None or cause.key == alarm.key else _root(cause, by_key)
    path = [alarm]
    places = {alarm.key: 0}
    while (cause := by_key.get(path[-1].cause_key or "")) is not None:
        if cause.key in places:
            # They name each other in a ring: the oldest counts as the cause, for all of them alike.
            ring = path[places[cause.key] :]
            return min((by_key[a.key] for a in ring), key=lambda a: (a.raised_at, a.id))
        places[cause.key] = len(path)
        path.append(cause)
    return path[-1]


def open_and_visible(alarms: Iterable[Alarm], now: datetime) -> list[Alarm]:
    return [a for a in alarms if a.open and not a.shelved(now)]


def summarise(alarms: Iterable[Alarm], now: datetime) -> Summary:
    found = [a for a in alarms if a.open]
    visible = [a for a in found if not a.shelved(now)]
    unacked = [a for a in visible if a.unacked]
    active = [a for a in visible if a.active]
    worst = min((a.rank for a in unacked or active), default=None)
    return Summary(len(unacked), len(active), len(found) - len(visible), worst)
