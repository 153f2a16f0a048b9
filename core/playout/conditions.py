"""The alarms that playout raises: each says what happened, what it means, and what to do."""

from __future__ import annotations

from core.alarms.model import Condition, Priority
from core.playout.model import Channel


def _of(channel: Channel, kind: str, priority: Priority, message: str, effect: str, action: str) -> Condition:
    return Condition(
        key(channel.id, kind), priority, "channel", channel.name, message, effect, action, channel.id
    )


def key(channel_id: int, kind: str) -> str:
    return f"channel:{channel_id}:{kind}"


def off_air(channel: Channel, why: str) -> Condition:
    return _of(
        channel, "off_air", Priority.CRITICAL, f"Off air: {why}",
        "Nothing is sent to its output. Airlock goes on trying.",
        "Check the nodes and their agents; bring one back that has this output.",
    )  # fmt: skip


def failover(channel: Channel, node: str, why: str) -> Condition:
    return _of(
        channel, "failover", Priority.HIGH, f"Moved to {node}: {why}",
        "It was off air for some seconds and goes on where as-run says it was.",
        "Look at the node it came from before it is needed again.",
    )  # fmt: skip


def crash_loop(channel: Channel, why: str) -> Condition:
    return _of(
        channel, "crash_loop", Priority.CRITICAL, f"Given up: {why}",
        "It is off air and is not started again by itself.",
        "Look at its playlist, its output and the nodes' logs; then press Start.",
    )  # fmt: skip


def card_error(channel: Channel, why: str) -> Condition:
    return _of(
        channel, "card", Priority.CRITICAL, f"Error: {why}",
        "It is tied to its card and is not moved. It may be off air.",
        "Look at the card's output and its node; then press Start.",
    )  # fmt: skip


def cannot_stop(channel: Channel, node: str, why: str) -> Condition:
    return _of(
        channel, "stop", Priority.HIGH, f"Not confirmed off air on {node}: {why}",
        "It may still be sending. Airlock goes on telling it.", "Check that node, or cut its output.",
    )  # fmt: skip


def clip_failed(channel: Channel, item_id: int | None, clip: str, why: str) -> Condition:
    return _of(
        channel, f"clip:{item_id or 0}", Priority.MEDIUM, f"{clip} could not be played: {why}",
        "It was skipped and entered in as-run as failed. The channel stays on air.",
        "Mend or replace the file, or take it out of the playlist.",
    )  # fmt: skip


def runs_dry(channel: Channel, seconds: float) -> Condition:
    return _of(
        channel, "dry", Priority.HIGH, f"The playlist ends in less than {max(1, round(seconds / 60 + 0.5))} min",
        "After that the slate is on air.", "Add items, or let the playlist loop.",
    )  # fmt: skip


def signal(channel: Channel, problem: str) -> Condition:
    return _of(
        channel, "signal", Priority.HIGH, problem, "What is on air may not be what it should be.",
        "Look at its picture and listen; skip the item or fail over if it is wrong.",
    )  # fmt: skip


def as_run_fault(channel: Channel, why: str) -> Condition:
    return _of(
        channel, "as_run", Priority.HIGH, f"As-run cannot be written: {why}",
        "The channel is not affected. What it plays is entered as soon as that is possible again.",
        "Check the database. If this stays, keep the node's journal of this channel.",
    )  # fmt: skip


def not_done(channel: Channel, what: str, why: str) -> Condition:
    return _of(
        channel, "order", Priority.MEDIUM, f"{what} was not carried out: {why}", "The channel goes on as it is.",
        "Look at the channel and try again.",
    )  # fmt: skip
