"""The rows of the alarm list: which alarms, in which order, and what each cell says."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from core.alarms.model import Alarm
from core.alarms.rules import arrange, open_and_visible
from gui.table import Cell, Column
from gui.words import clock, long_date, time_of_day

if TYPE_CHECKING:
    from gui.session import Session

SHIFT = timedelta(hours=8)
SHAPE, STATE, TIME, WHERE, ALARM, AGE, ACK = range(7)


@dataclass(frozen=True)
class AlarmRow:
    """An alarm on the list, or the title of a section (no alarm)."""

    alarm: Alarm | None
    consequence: bool = False
    section: str = ""
    pending: bool = False


def place(alarm: Alarm, windows: Container[int]) -> tuple[str, int | None]:
    """What to show for an alarm: its window while that is known, else the thing that it is about."""
    kind, _, rest = alarm.key.partition(":")
    number = rest.partition(":")[0]
    if kind == "window" and number.isdecimal() and int(number) in windows:
        return "window", int(number)
    return alarm.source_kind, alarm.source_id


def in_shift(alarm: Alarm, now: datetime) -> bool:
    return alarm.open or (alarm.cleared_at or alarm.raised_at) > now - SHIFT


def select(alarms: Iterable[Alarm], which: str, now: datetime) -> list[AlarmRow]:
    """The rows of a filter: `open`, `shift` or `shelved`."""
    found = list(alarms)
    if which == "shelved":
        return [
            AlarmRow(x.alarm, x.consequence) for x in arrange(a for a in found if a.open and a.shelved(now))
        ]
    rows = [AlarmRow(x.alarm, x.consequence) for x in arrange(open_and_visible(found, now))]
    if which == "shift":
        over = sorted(
            (a for a in found if not a.open and in_shift(a, now)), key=lambda a: a.raised_at, reverse=True
        )
        if over:
            rows.append(AlarmRow(None, section=f"Cleared this shift, {len(over)}"))
            rows.extend(AlarmRow(a) for a in over)
    return rows


def counts(alarms: Iterable[Alarm], now: datetime) -> dict[str, int]:
    found = list(alarms)
    shelved = sum(a.open and a.shelved(now) for a in found)
    opened = sum(a.open for a in found) - shelved
    over = sum(not a.open and in_shift(a, now) for a in found)
    return {"open": opened, "shift": opened + over, "shelved": shelved}


def state_word(alarm: Alarm, now: datetime) -> str:
    if alarm.shelved(now):
        return "Shelved"
    if alarm.active:
        return "UNACK" if alarm.unacked else "Acked"
    return "CLEARED" if alarm.unacked else "Cleared"


def state_words(alarm: Alarm, now: datetime) -> str:
    """The state in full, for a sentence."""
    words = {"UNACK": "unacknowledged", "Acked": "acknowledged", "CLEARED": "cleared, unacknowledged"}
    short = state_word(alarm, now)
    return words.get(short, short.lower())


def age(alarm: Alarm, now: datetime) -> float:
    """How long it has lasted, or lasted."""
    return ((alarm.cleared_at or now) - alarm.raised_at).total_seconds()


def columns(session: Session) -> list[Column]:
    def look(row: AlarmRow) -> tuple[str, bool]:
        alarm = row.alarm
        if alarm is None:
            return "t2", False
        asks = alarm.unacked and not alarm.shelved(session.now())
        return ("t1" if alarm.active else "t2"), asks

    def state(row: AlarmRow) -> Cell:
        tone, bold = look(row)
        if row.alarm is None:
            return Cell()
        return Cell(
            "Pending…" if row.pending else state_word(row.alarm, session.now()),
            tone,
            bold and not row.pending,
        )

    def when(row: AlarmRow) -> Cell:
        if row.alarm is None:
            return Cell()
        today = session.local(session.now())
        return Cell(time_of_day(session.local(row.alarm.raised_at), today), look(row)[0], mono=True)

    def where(row: AlarmRow) -> Cell:
        tone, bold = look(row)
        return Cell("" if row.alarm is None else row.alarm.source_name or row.alarm.source_kind, tone, bold)

    def message(row: AlarmRow) -> Cell:
        tone, bold = look(row)
        if row.alarm is None:
            return Cell()
        repeated = f" ({row.alarm.count}×)" if row.alarm.count > 1 else ""
        glyph = "elbow" if row.consequence else ""
        return Cell(row.alarm.message + repeated, tone, bold, glyph=glyph, glyph_tone="t3")

    def lasting(row: AlarmRow) -> Cell:
        return (
            Cell()
            if row.alarm is None
            else Cell(clock(age(row.alarm, session.shown_now())), look(row)[0], mono=True)
        )

    def nothing(_row: AlarmRow) -> Cell:
        return Cell()

    return [
        Column("", 46, nothing),
        Column("State", 70, state),
        Column("Time", 76, when, drop=1),
        Column("Where", 88, where),
        Column("Alarm", 160, message, share=1),
        Column("Age", 76, lasting),
        Column("", 60, nothing),
    ]


def tip(session: Session, row: AlarmRow) -> str:
    alarm = row.alarm
    if alarm is None:
        return ""
    lines = [alarm.message, f"Raised {long_date(session.local(alarm.raised_at))}"]
    if alarm.effect:
        lines.append(alarm.effect)
    if alarm.action:
        lines.append(f"Do now: {alarm.action}")
    return "\n".join(lines)
