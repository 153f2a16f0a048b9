"""What the as-run table shows of a row, and in which words."""

from __future__ import annotations

from datetime import date, datetime

from core.playout.model import SLATE, AsRunRow
from gui.session import Session
from gui.table import Cell, Column
from gui.words import clock, long_date

RESULTS = {
    "played": ("OK", "tick"),
    "interrupted": ("Interrupted", "cut"),
    "skipped": ("Skipped", "skip"),
    "failed": ("Failed", "cross"),
    "unknown": ("Unknown", "unknown"),
}
DURATION = 3  # the column that grows


def timecode(local: datetime, rate: float) -> str:
    # By hand: strftime takes ten times as long, and every row in sight needs it at every frame of a scroll.
    return f"{local.hour:02d}:{local.minute:02d}:{local.second:02d}:{int(local.microsecond / 1e6 * rate):02d}"


def length(seconds: float, rate: float) -> str:
    whole = int(seconds)
    return f"{clock(whole)}:{int((seconds - whole) * rate + 1e-6):02d}"


def source(row: AsRunRow) -> str:
    if row.item_id is None and row.clip_name == SLATE:
        return "Slate"
    if row.asset_id is not None:
        return "Recording"
    return "File" if row.clip_name else "–"


def _node(session: Session, row: AsRunRow) -> str:
    node = None if row.node_id is None else session.model.nodes.get(row.node_id)
    return node.name if node is not None else "–"


def _channel(session: Session, row: AsRunRow) -> str:
    channel = session.model.channels.get(row.channel_id)
    return channel.name if channel is not None else f"channel {row.channel_id}"


def result(row: AsRunRow) -> Cell:
    if row.ended_at is None:
        return Cell("ON AIR", bold=True, glyph="on-air", glyph_tone="live_line")
    words, glyph = RESULTS.get(row.result, (row.result.capitalize(), "unknown"))
    fine = row.result == "played"
    return Cell(
        words,
        "t2" if fine else "t1",
        bold=row.result == "failed",
        glyph=glyph,
        glyph_tone="t3" if fine else "t1",
    )


def columns(session: Session) -> list[Column]:
    def tone(row: AsRunRow) -> str:
        return "t1" if row.ended_at is None else "t2"

    known: tuple[int, date] = (-1, date.min)

    def today() -> date:
        """Worked out once a second, and not for every row of every frame."""
        nonlocal known
        if known[0] != session.ticker.whole_second:
            known = (session.ticker.whole_second, session.local(session.now()).date())
        return known[1]

    def when(row: AsRunRow) -> Cell:
        local = session.local(row.started_at)
        text = (
            timecode(local, session.frame_rate)
            if local.date() == today()
            else f"{local.day} {local:%b %H:%M}"
        )
        return Cell(text, tone(row), mono=True)

    def duration(row: AsRunRow) -> Cell:
        if row.ended_at is None:
            lasts = (session.shown_now() - row.started_at).total_seconds()
            return Cell(clock(lasts), "t2", mono=True)
        return Cell(length(row.duration_s or 0.0, session.frame_rate), tone(row), mono=True)

    return [
        Column("Time", 112, when),
        Column("Channel", 60, lambda r: Cell(_channel(session, r), tone(r), bold=r.ended_at is None)),
        Column("Clip", 100, lambda r: Cell(r.clip_name or "Unknown", tone(r), bold=r.ended_at is None), share=1),
        Column("Duration", 96, duration),
        Column("Result", 104, result),
        Column("Node", 76, lambda r: Cell(_node(session, r), tone(r)), drop=1),
        Column("Source", 92, lambda r: Cell(source(r), tone(r)), drop=2),
    ]  # fmt: skip


def tip(session: Session, row: AsRunRow) -> str:
    item = None if row.item_id is None else session.model.items.get(row.item_id)
    ended = "on air" if row.ended_at is None else f"to {long_date(session.local(row.ended_at))}"
    lines = [
        f"{_channel(session, row)}: {row.clip_name or 'unknown'}",
        f"{long_date(session.local(row.started_at))} {ended}",
        item.path if item is not None else "",
        f"Row {row.id}, {row.chain_no} of its chain, {(row.row_hash or '')[:16]}…" if row.row_hash else "",
    ]
    return "\n".join(line for line in lines if line)
