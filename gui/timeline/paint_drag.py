"""Paints what a hand holds: the ghost, where it came from, its times, what it runs into; and what waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from gui.session import Session
from gui.theme import theme
from gui.timeline import texts
from gui.timeline.collisions import Piece
from gui.timeline.gesture import Draft
from gui.timeline.hits import Place
from gui.timeline.paint_bars import paint_conflict, paint_conflict_mark
from gui.timeline.rows import AXIS_PX, BAR_PX, HEADER_PX
from gui.words import clock, span

MOST_NAMED = 4


@dataclass
class Hand:
    """What is being dragged, and what was dropped and waits for the feed."""

    draft: Draft | None = None
    waiting: list[Piece] = field(default_factory=list)
    free_name: str = ""  # a recorder that has room for it
    trim: bool = False  # whether trimming would do

    @property
    def hidden(self) -> set[int]:
        """Windows that are drawn elsewhere: where they are going to be."""
        found = {p.window.id for p in self.waiting if p.window is not None}
        if self.draft is not None and not self.draft.copy:
            found |= {p.window.id for p in self.draft.pieces if p.window is not None and p.changed}
        return found

    def flags(self) -> list[float]:
        return [] if self.draft is None else [self.draft.lead.start, self.draft.lead.end]


def _rect(place: Place, recorder: int, start: float, end: float) -> QRectF | None:
    row = place.rows.of("recorder", recorder)
    if row is None:
        return None
    left, right = round(place.axis.x(start)), round(place.axis.x(end))
    return QRectF(left, place.y(row) + (row.height - BAR_PX) / 2, max(2, right - left), BAR_PX)


def _span(session: Session, start: float, end: float) -> str:
    begin, until = (session.local(datetime.fromtimestamp(t, UTC)) for t in (start, end))
    return f"{begin:%H:%M}–{until:%H:%M}"


def paint_guides(painter: QPainter, place: Place, hand: Hand) -> None:
    painter.setPen(QPen(theme.colour("t2"), 1, Qt.PenStyle.DashLine))
    for at in hand.flags():
        x = round(place.axis.x(at)) + 0.5
        if x >= HEADER_PX:
            painter.drawLine(QLineF(x, AXIS_PX, x, place.lanes_bottom))


def paint_waiting(painter: QPainter, place: Place, hand: Hand) -> None:
    """What was asked for and nobody confirmed yet: an outline, and the word."""
    for piece in hand.waiting:
        rect = _rect(place, piece.recorder, piece.start, piece.end)
        if rect is None:
            continue
        painter.setPen(QPen(theme.colour("inv"), 1, Qt.PenStyle.DashLine))
        painter.setBrush(theme.colour("drag"))
        painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))
        title = piece.window.name if piece.window is not None else "New window"
        _two_lines(painter, rect, title, "Saving…")


def paint_hand(painter: QPainter, place: Place, hand: Hand, session: Session) -> None:
    draft = hand.draft
    if draft is None:
        return
    for piece in draft.pieces:
        if piece.window is not None and piece.changed and not draft.copy:
            _origin(painter, place, piece, session)
    for piece in draft.pieces:
        rect = _rect(place, piece.recorder, piece.start, piece.end)
        if rect is None:
            continue
        painter.fillRect(rect, theme.colour("drag"))
        title = piece.window.name if piece.window is not None else "New window"
        words = f"{_span(session, piece.start, piece.end)}  {span(piece.end - piece.start)}"
        _two_lines(painter, rect, f"Copy of {title}" if draft.copy else title, words)
        for collision in draft.found:
            if collision.piece == piece:
                over = _rect(place, piece.recorder, collision.begin, collision.end)
                if over is not None:
                    paint_conflict(painter, over, clock(collision.length))
        painter.setPen(QPen(theme.colour("inv"), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(rect.adjusted(1, 1, -1, -1))
    if draft.found or draft.refusal or draft.repeats:
        _callout(painter, place, hand, draft, session)


def _origin(painter: QPainter, place: Place, piece: Piece, session: Session) -> None:
    window = piece.window
    assert window is not None
    start, end = window.start_at.timestamp(), window.end_at.timestamp()
    rect = _rect(place, window.recorder_id, start, end)
    if rect is None:
        return
    painter.setPen(QPen(theme.colour("plan_edge"), 1, Qt.PenStyle.DotLine))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))
    painter.setPen(theme.colour("t2"))
    x = max(rect.left(), HEADER_PX) + 8
    words = texts.fitted(f"was {_span(session, start, end)}", "line", rect.right() - x - 4)
    texts.draw(painter, x, rect.top(), BAR_PX, words, "line")


def _two_lines(painter: QPainter, rect: QRectF, title: str, words: str) -> None:
    x = max(rect.left(), HEADER_PX) + 8
    room = rect.right() - x - 4
    painter.setPen(theme.colour("t1"))
    texts.draw(painter, x, rect.top() + 2, 16, texts.fitted(title, "title", room), "title")
    texts.draw(painter, x, rect.top() + 18, 16, texts.fitted(words, "line", room), "line")


def callout_lines(draft: Draft, session: Session) -> list[str]:
    """Everything that speaks against a drop here, in sentences; the first is the title."""
    recorders = session.model.recorders

    def name(id: int) -> str:
        return recorders[id].name if id in recorders else "The recorder"

    lines: list[str] = []
    if draft.refusal:
        lines.append(draft.refusal)
    for collision in draft.found[:MOST_NAMED]:
        lines.append(f"{collision.sentence(name(collision.piece.recorder), session.zone)}.")
    if len(draft.found) > MOST_NAMED:
        lines.append(f"and {len(draft.found) - MOST_NAMED} more")
    if draft.repeats:
        count = len(draft.repeats)
        lines.append(f"{count} later occurrence{'s' if count > 1 else ''} of the series would collide:")
        for collision in draft.repeats[:2]:
            lines.append(f"{collision.sentence(name(collision.piece.recorder), session.zone)}.")
    return lines


def _callout(painter: QPainter, place: Place, hand: Hand, draft: Draft, session: Session) -> None:
    lines = callout_lines(draft, session)
    keys = []
    if draft.found:
        if hand.free_name:
            keys.append(("R", f"move to {hand.free_name}"))
        if hand.trim:
            keys.append(("T", f"trim to {_span(session, draft.lead.start, draft.found[0].begin)[6:]}"))
    keys.append(("Esc", "put back"))
    hints = sum(texts.width(k, "chip") + texts.width(w, "line") + 36 for k, w in keys)
    wide = max(hints, texts.width(lines[0], "title") + 24, *(texts.width(t, "line") for t in lines)) + 28
    wide = min(wide, place.width - HEADER_PX - 8)
    high = 16 + 18 * len(lines) + 26
    row = place.rows.of("recorder", draft.lead.recorder)
    anchor = place.y(row) + row.height if row is not None else AXIS_PX
    y = anchor if anchor + high <= place.lanes_bottom else anchor - (row.height if row else 0) - high
    x = min(max(place.axis.x(draft.lead.start) + 24, HEADER_PX + 4), place.width - wide - 4)
    box = QRectF(round(x), round(max(y, AXIS_PX)), round(wide), high)
    painter.setPen(theme.colour("p2"))
    painter.setBrush(theme.colour("well"))
    painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))
    painter.fillRect(QRectF(box.left(), box.top(), 3, box.height()), theme.colour("p2"))
    y = box.top() + 8
    paint_conflict_mark(painter, QRectF(box.left() + 12, y + 3, 12, 12))
    painter.setPen(theme.colour("t1"))
    texts.draw(painter, box.left() + 32, y, 18, texts.fitted(lines[0], "title", wide - 40), "title")
    for line in lines[1:]:
        y += 18
        painter.setPen(theme.colour("t2"))
        texts.draw(painter, box.left() + 12, y, 18, texts.fitted(line, "line", wide - 20), "line")
    y += 24
    x = box.left() + 12
    for key, words in keys:
        cap = QRectF(round(x) + 0.5, y + 0.5, round(texts.width(key, "chip")) + 10, 17)
        painter.setPen(theme.colour("line2"))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(cap)
        painter.setPen(theme.colour("t2"))
        texts.draw(painter, cap.left() + 5, y, 18, key, "chip")
        x = cap.right() + 6
        x += texts.draw(painter, x, y, 18, words, "line") + 18
