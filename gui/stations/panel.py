"""The list of stations."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.model import SILENT_AFTER, StationRow
from gui import fonts
from gui.freshness import Freshness
from gui.parts import Label, Surface, Toolbar
from gui.session import Session
from gui.table import Cell, Column, Rows, Table
from gui.words import clock, long_date, plural, signed_milliseconds, span

EMPTY = "No station is registered. A viewer's station is not listed."
SEEN, UP = 6, 11


@dataclass(frozen=True)
class Listed:
    row: StationRow
    leads: bool
    here: bool


class StationsPanel(Surface):
    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__("panel", parent)
        self.setAccessibleName("Stations")
        self._session = session
        self.summary = Label("", fonts.text(12), "second")
        self.model = Rows(self._columns(), lambda listed: listed.row.id, self._tip, self)
        self.table = Table(self.model, "Station list", EMPTY)
        self.setFocusProxy(self.table)
        toolbar = Toolbar()
        toolbar.add(self.summary)
        toolbar.stretch()
        toolbar.add(Freshness(session))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(toolbar)
        column.addWidget(self.table, 1)
        session.bridge.changed.connect(self._changed)
        session.bridge.lead_changed.connect(self.refresh)
        session.bridge.stale_changed.connect(self.table.set_old)
        session.ticker.second.connect(lambda: self.model.touch(SEEN, UP))
        self.table.set_old(session.stale)
        self.refresh()

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        if changes.keys() & {"stations", "leadership"}:
            self.refresh()

    def refresh(self) -> None:
        model = self._session.model
        leader = (
            model.leader.station if model.leader is not None and model.leader.released_at is None else None
        )
        here = self._session.station.name
        rows = [Listed(s, s.name == leader, s.name == here) for s in model.stations.values()]
        rows.sort(key=lambda x: (not x.leads, x.row.name))
        self.model.show(rows)
        silent = sum(self._silent(x) for x in rows)
        words = plural(len(rows), "station")
        self.summary.show_text(f"{words} · {silent} silent" if silent else words)

    def _silent(self, listed: Listed) -> bool:
        return self._session.now() - listed.row.last_seen_at > SILENT_AFTER

    def _columns(self) -> list[Column]:
        def name(x: Listed) -> Cell:
            glyph = "leader" if x.leads else "follower"
            return Cell(x.row.name, bold=x.here, glyph=glyph, glyph_tone="t1" if x.leads else "t3")

        def duty(x: Listed) -> Cell:
            if self._silent(x) and not self._session.stale:
                return Cell("SILENT", "p3", bold=True)
            return Cell("LEADER", bold=True) if x.leads else Cell("FOLLOWER", "t2")

        def seen(x: Listed) -> Cell:
            ago = (self._session.now() - x.row.last_seen_at).total_seconds()
            return Cell("now" if ago < 3 else f"{span(ago)} ago", "t2", figures=True)

        def number(value: float | None) -> Cell:
            return Cell("–" if value is None else f"{value:.1f}", "t2", mono=True)

        def up(x: Listed) -> Cell:
            return Cell(
                clock((self._session.shown_now() - x.row.started_at).total_seconds()), "t2", mono=True
            )

        return [
            Column("Station", 116, name, share=3),
            Column("Duty", 80, duty),
            Column("Operator", 84, lambda x: Cell(x.row.operator), share=2),
            Column("Role", 68, lambda x: Cell(x.row.role.capitalize(), "t2"), drop=2),
            Column("Kind", 70, lambda x: Cell(x.row.kind.capitalize(), "t2"), drop=5),
            Column("Host", 68, lambda x: Cell(x.row.host, "t2"), share=1, drop=6),
            Column("Seen", 64, seen),
            Column("DB ms", 46, lambda x: number(x.row.rtt_ms), right=True),
            Column(
                "Clock",
                56,
                lambda x: Cell(signed_milliseconds(x.row.clock_offset_ms), "t2", mono=True),
                drop=1,
                right=True,
            ),
            Column("Lag ms", 52, lambda x: number(x.row.loop_lag_ms), drop=3, right=True),
            Column("Version", 56, lambda x: Cell(x.row.version, "t2"), drop=7, right=True),
            Column("Up", 80, up, drop=4, right=True),
        ]

    def _tip(self, x: Listed) -> str:
        row = x.row
        duty = "leads" if x.leads else "follows"
        return (
            f"{row.name} {duty}{', this station' if x.here else ''}\n"
            f"{row.kind.capitalize()} on {row.host}, process {row.pid}, version {row.version}\n"
            f"{row.operator or 'Nobody'}, {row.role}, since {long_date(self._session.local(row.started_at))}"
        )
