"""What a channel's tile says, worked out from the rows. Pure: the same facts give the same look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.alarms.model import Alarm
from core.playout.model import SLATE, AsRunRow, Channel, Item
from core.recording.model import Asset, Node
from gui.words import clock, plural

OUTPUTS = {
    "srt": "SRT",
    "udp": "UDP",
    "rtmp": "RTMP",
    "hls": "HLS",
    "file": "File",
    "decklink": "DeckLink",
}
NO_TIME = "––:––:––"


@dataclass(frozen=True)
class Facts:
    channel: Channel
    node: Node | None
    items: Sequence[Item]  # its playlist, in order
    run: AsRunRow | None  # what is on air
    asset: Asset | None  # of the item on air
    alarm: Alarm | None
    asked: str = ""
    refusal: str = ""


@dataclass(frozen=True)
class Look:
    name: str
    title: str
    place: str  # output and node
    tally: str  # the word in the block
    lit: bool  # whether the block is red
    clip: str
    remaining: str  # without its sign; empty when it is not counted down
    elapsed: str
    total: str
    progress: int  # in thousandths
    following: str  # when the next clip begins
    next_clip: str
    words: str  # a sentence in place of the figures
    trouble: str  # one line that is not as it should be
    beat: str
    missed: str
    worry: bool  # three or more misses
    chip: str  # FAILED OVER, ERROR
    moved: bool  # it runs elsewhere now, and nothing worse is to be said: its place stands in the second line
    priority: int  # of its alarm, 0 for none
    flashes: bool
    tip: str


def phase(channel: Channel) -> str:
    """The status, ahead of it by what is wanted: a stop that was asked for is `stopping` before the leader acts."""
    if channel.wanted == "on" and channel.status == "stopped":
        return "starting"
    if channel.wanted == "off" and channel.status in ("starting", "running"):
        return "stopping"
    return channel.status


def length_of(item: Item | None, asset: Asset | None) -> float | None:
    """How long an item plays, when that is known."""
    if item is not None and item.duration_s is not None:
        return item.duration_s
    if asset is not None and asset.duration_s is not None:
        return max(0.0, asset.duration_s - (item.in_s if item is not None else 0.0))
    return None


def next_item(items: Sequence[Item], run: AsRunRow | None, looping: bool) -> Item | None:
    """What follows the item on air; the first one while none of the playlist is."""
    if not items:
        return None
    here = next((n for n, i in enumerate(items) if run is not None and i.id == run.item_id), None)
    if here is None:
        return items[0]
    if here + 1 < len(items):
        return items[here + 1]
    return items[0] if looping else None


def _tally(channel: Channel) -> tuple[str, bool]:
    return {
        "running": ("ON AIR", True),
        "starting": ("STARTING", False),
        "stopping": ("STOPPING", channel.on_air),
    }.get(phase(channel), ("OFF AIR", False))


def _words(facts: Facts) -> str:
    """The sentence of a tile that has nothing to count down."""
    channel, items = facts.channel, facts.items
    status = phase(channel)
    if status == "error":
        return channel.error_message or "It stopped with an error. Look at its node, then press Start."
    if status == "starting":
        where = f" on {facts.node.name}" if facts.node is not None else ""
        return f"The sidecar is being placed{where}."
    if status == "stopping" and facts.run is None:
        return "Going off air."
    if status == "stopped":
        if not items:
            return "The playlist is empty. Add clips in Playlist, then press Start."
        return f"{plural(len(items), 'clip')} in the playlist. Start puts it on air."
    return "" if facts.run is not None else "Waiting for what its sidecar reports."


def _trouble(facts: Facts) -> str:
    channel = facts.channel
    if facts.refusal:
        return facts.refusal
    if channel.on_air and channel.misses >= 1:
        return f"No answer, {channel.misses} in a row"
    if channel.on_air and channel.error_message:
        return channel.error_message
    if (
        channel.on_air
        and facts.run is not None
        and facts.run.clip_name == SLATE
        and facts.run.item_id is None
    ):
        return "Nothing to play: slate on air"
    return facts.alarm.message if facts.alarm is not None else ""


def _chip(facts: Facts) -> str:
    if facts.channel.status == "error":
        return "ERROR"
    alarm = facts.alarm
    moved = alarm is not None and any(
        w in f"{alarm.key} {alarm.message}".casefold() for w in ("failover", "failed over")
    )
    return "FAILED OVER" if moved and facts.channel.on_air else ""


def look(facts: Facts, now: datetime, local: Callable[[datetime], datetime], missed: int) -> Look:
    channel, run = facts.channel, facts.run
    tally, lit = _tally(channel)
    place = " · ".join(
        part
        for part in (
            OUTPUTS.get(channel.output_type, channel.output_type),
            facts.node.name if facts.node is not None else "",
            plural(channel.restart_count, "restart") if channel.restart_count else "",
        )
        if part
    )
    playing = run if channel.on_air else None
    item = next((i for i in facts.items if playing is not None and i.id == playing.item_id), None)
    length = length_of(item, facts.asset) if playing is not None else None
    gone = 0.0 if playing is None else max(0.0, (now - playing.started_at).total_seconds())
    left = None if length is None else max(0.0, length - gone)
    following = next_item(facts.items, playing, channel.looping)
    starts = "" if left is None else f" {local(now + timedelta(seconds=left)):%H:%M}"
    words = _words(facts)
    beats = channel.on_air and channel.heartbeat_ms is not None
    latency = f"{channel.heartbeat_ms:.0f} ms" if beats and channel.heartbeat_ms is not None else "–"
    alarm, trouble, chip = facts.alarm, _trouble(facts), _chip(facts)
    tips = [
        f"{channel.name} {channel.title}".strip(),
        place,
        channel.output_url,
        trouble,
        channel.error_message or "",
    ]
    if alarm is not None:
        tips += [alarm.message, alarm.action]
    return Look(
        name=channel.name,
        title=channel.title,
        place=place,
        tally=tally,
        lit=lit,
        clip=(playing.clip_name or "Unknown clip") if playing is not None else "",
        remaining="" if playing is None else NO_TIME if left is None else clock(left + 0.999),
        elapsed=clock(gone) if playing is not None else "",
        total="" if length is None else f"of {clock(length)}",
        progress=0 if not length else min(1000, round(gone / length * 1000)),
        following=(f"Next{starts}" if playing is not None else "First") if following is not None else "",
        next_clip=following.clip_name if following is not None else ("Nothing follows" if playing else ""),
        words=words,
        trouble=trouble,
        beat=latency,
        missed=f"{missed} missed",
        worry=channel.on_air and max(missed, channel.misses) >= 3,
        chip=chip,
        moved=chip == "FAILED OVER" and not facts.refusal and not channel.misses,
        priority=int(alarm.rank) if alarm is not None else 0,
        flashes=alarm is not None and alarm.unacked,
        tip="\n".join(dict.fromkeys(t for t in tips if t)),
    )
