"""Every decision about channels, as pure functions: time, rows and answers in, decisions out.

A *generation* is one placement. Whatever a sidecar, an agent or a station does, it does for one generation; the
database gives each number out once, so two leaders can never place a channel twice for the same reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.model import SILENT_AFTER
from core.playout.model import AsRunRow, Channel, Item, Miss, Placement, Status
from core.recording.model import Node

MISSES = 3
MOST_RESTARTS = 5
RESTART_WINDOW = timedelta(minutes=10)
BACKOFF = tuple(timedelta(seconds=s) for s in (0, 0.5, 1, 2, 4))
START_PATIENCE = timedelta(seconds=4)  # a node that has not started it by then is left for another
SETTLE_PATIENCE = timedelta(seconds=3)  # how long a dead sidecar's last events are waited for
DRY_SOON = 60.0  # seconds of playlist left that are an alarm
CLOCK_NOISE = timedelta(milliseconds=250)  # a clock that differs less than this is taken as it is
ERROR_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Place:
    """Give it a new generation on a node, not before `at`."""

    reason: str
    why: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Begin:
    """Have the node of the current generation start it, or find out that it has."""


@dataclass(frozen=True, slots=True)
class Stop:
    pass


@dataclass(frozen=True, slots=True)
class GiveUp:
    why: str
    crash_loop: bool


@dataclass(frozen=True, slots=True)
class Drop:
    """A failover that cannot be: forget that it was asked for."""


Action = Place | Begin | Stop | GiveUp | Drop


def decide(
    channel: Channel, placement: Placement | None, restarts: Sequence[datetime], misses: int, now: datetime
) -> Action | None:
    """What a channel needs now. `placement` is its current one while that is not known to be over."""
    if channel.wanted == "off":
        return None if channel.status == "stopped" and placement is None else Stop()
    if channel.status == "error":
        return None
    if channel.failover_asked and channel.output_type == "decklink":
        return Drop()
    if channel.failover_asked:
        return Place("asked", "An operator asked for it.", now)
    if channel.status in ("stopped", "stopping") or placement is None:
        return Place("start", "", now)
    if channel.dead:
        return _failed(channel, channel.dead_reason or "Its sidecar ended.", placement, restarts, now)
    if channel.status == "starting":
        return Begin()
    if misses >= MISSES:
        why = f"Its sidecar did not answer {misses} times in a row."
        return _failed(channel, why, placement, restarts, now)
    return None


def _failed(
    channel: Channel, why: str, placement: Placement, restarts: Sequence[datetime], now: datetime
) -> Action:
    if channel.output_type == "decklink":
        return GiveUp(why, crash_loop=False)
    recent = recent_restarts(restarts, now)
    if recent >= MOST_RESTARTS:
        return GiveUp(f"{why} It was restarted {recent} times within 10 minutes.", crash_loop=True)
    return Place("failover", why, max(now, placement.placed_at + BACKOFF[min(recent, len(BACKOFF) - 1)]))


def recent_restarts(restarts: Iterable[datetime], now: datetime) -> int:
    return sum(now - at < RESTART_WINDOW for at in restarts)


def count_miss(misses: int, answer: Status | Miss) -> int:
    """Misses in a row: only an answer ends them, and only a miss adds to them, however much time passes."""
    return misses + 1 if isinstance(answer, Miss) else 0


def check_answer(answer: Status | Miss, generation: int) -> Status | Miss:
    """An answer by the sidecar of another generation is no sign of life of this one."""
    if isinstance(answer, Status) and answer.generation is not None and answer.generation != generation:
        return Miss(f"Generation {answer.generation} answers instead of {generation}.")
    return answer


# -- where ------------------------------------------------------------------------------------------


def capable(node: Node, output_type: str) -> bool:
    """A node that can play at all can send to the network or a file; a card it must have."""
    can = set(node.capabilities)
    if f"playout:{output_type}" in can:
        return True
    if output_type == "decklink":
        return "decklink" in can
    return "playout" in can


def healthy(node: Node, now: datetime) -> bool:
    return (
        node.status == "online"
        and node.last_heartbeat_at is not None
        and now - node.last_heartbeat_at <= SILENT_AFTER
    )


def choose_node(
    channel: Channel, nodes: Iterable[Node], load: Mapping[int, int], now: datetime, failed: Collection[int]
) -> Node | None:
    """The best node: capable, heard of lately, least loaded. One that just failed only when there is no other."""
    fit = [n for n in nodes if capable(n, channel.output_type) and healthy(n, now)]
    if channel.output_type == "decklink" and channel.node_id is not None:
        fit = [n for n in fit if n.id == channel.node_id]
    if channel.failover_asked and channel.failover_to is not None:
        return next((n for n in fit if n.id == channel.failover_to), None)
    fresh = [n for n in fit if n.id not in failed]
    return min(fresh or fit, key=lambda n: (load.get(n.id, 0), n.name), default=None)


# -- where it goes on -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Resume:
    item_id: int
    offset_s: float  # in the clip


def resume(
    items: Sequence[Item], looping: bool, last: AsRunRow | None, offset: float, at: datetime
) -> Resume | None:
    """Where to go on, by the last row of an item that as-run has. None: at the beginning.

    `offset` is where in its clip that item began, `at` when it was last known to be on air.
    """
    ordered = sorted(items, key=lambda i: i.position)
    place = next((n for n, i in enumerate(ordered) if last is not None and i.id == last.item_id), None)
    if place is None or last is None:
        return None
    item = ordered[place]
    interrupted = last.ended_at is None or last.result in ("interrupted", "unknown")
    if interrupted:
        reached = offset + max(0.0, ((last.ended_at or at) - last.started_at).total_seconds())
        if item.duration_s is None or reached < item.in_s + item.duration_s:
            return Resume(item.id, max(reached, item.in_s))
    if place + 1 < len(ordered):
        return Resume(ordered[place + 1].id, ordered[place + 1].in_s)
    if looping:
        return Resume(ordered[0].id, ordered[0].in_s)
    # The playlist was over: at the end of its last item, not once more from the start.
    return Resume(item.id, item.in_s + item.duration_s) if item.duration_s is not None else None


def clock_shift(known: timedelta | None, clock: datetime | None, now: datetime) -> timedelta:
    """What to add to a sidecar's instants. One figure is kept while it holds: rows must fit together."""
    if clock is None:
        return known or timedelta(0)
    found = now - clock
    if known is not None and abs(found - known) <= CLOCK_NOISE:
        return known
    return found if abs(found) > CLOCK_NOISE else timedelta(0)


def runs_dry(answer: Status) -> bool:
    return answer.runs_dry_in_s is not None and answer.runs_dry_in_s <= DRY_SOON
