"""Reading what sidecars and agents say. Strict in what it needs, deaf to what it does not know, never raising."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from core.playout.model import Event, Journal, Miss, Status

MOST_EVENTS = 2000
LONGEST = 300  # characters of a clip's name or a reason
LARGEST_ID = 2**63 - 1


def read_object(raw: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def read_status(said: dict[str, Any] | None) -> Status | Miss:
    if said is None:
        return Miss("The sidecar's answer is not JSON.")
    if "currentItemId" not in said and "currentClip" not in said:
        return Miss("The sidecar's answer does not say what is on air.")
    seq = _whole(said.get("seq"))
    events = read_events(said.get("events")) if seq is not None else ()
    if events is None:
        return Miss("The sidecar's events cannot be understood.")
    return Status(
        _whole(said.get("currentItemId")),
        _text(said.get("currentClip")),
        read_instant(said.get("currentItemStartedAt")),
        _whole(said.get("generation")),
        seq,
        events,
        read_instant(said.get("clock")),
        said.get("on_air") is not False,
        _whole(said.get("playlist_version")),
        tuple(_problems(said.get("problems"))),
        _number(said.get("runs_dry_in_s")),
    )


def read_events(said: object) -> tuple[Event, ...] | None:
    """None when any of them is not understood: leaving one out would be a hole in the log."""
    if said is None:
        return ()
    if not isinstance(said, list) or len(said) > MOST_EVENTS:
        return None
    found = [_event(e) for e in said]
    return None if any(e is None for e in found) else tuple(e for e in found if e is not None)


def _event(said: object) -> Event | None:
    if not isinstance(said, dict):
        return None
    seq, at = _whole(said.get("seq")), read_instant(said.get("at"))
    if seq is None or seq < 1 or at is None or said.get("type") not in ("start", "end", "failed"):
        return None
    return Event(
        seq,
        said["type"],
        at,
        _whole(said.get("item_id")),
        _whole(said.get("asset_id")),
        _text(said.get("clip")) or "",
        _text(said.get("result")),
        _number(said.get("offset_s")) or 0.0,
        _text(said.get("why")),
    )


def read_journal(said: dict[str, Any] | None) -> Journal | None:
    if said is None:
        return None
    events, generation = read_events(said.get("events")), _whole(said.get("generation"))
    if events is None or generation is None:
        return None
    return Journal(generation, said.get("running") is True, read_instant(said.get("ended_at")), events)


def read_instant(said: object) -> datetime | None:
    if not isinstance(said, str) or len(said) > 64:
        return None
    try:
        found = datetime.fromisoformat(said)
        # Without a zone it is UTC, as the contract says.
        return (found.replace(tzinfo=UTC) if found.tzinfo is None else found).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _problems(said: object) -> Iterable[str]:
    for problem in said[:20] if isinstance(said, list) else ():
        text = problem.get("message") or problem.get("kind") if isinstance(problem, dict) else problem
        if isinstance(text, str) and text:
            yield text[:LONGEST]


def _whole(said: object) -> int | None:
    """Foreign sidecars may write their numbers as text."""
    if isinstance(said, str) and said.isdecimal() and said.isascii() and len(said) < 20:
        said = int(said)
    return said if isinstance(said, int) and not isinstance(said, bool) and abs(said) <= LARGEST_ID else None


def _number(said: object) -> float | None:
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    try:
        found = float(said)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def _text(said: object) -> str | None:
    # NUL is the one character that PostgreSQL cannot keep, lone surrogates cannot be sent to it.
    if not isinstance(said, str):
        return None
    return said[:LONGEST].replace("\0", "�").encode("utf-8", "replace").decode("utf-8")
