"""The bar itself: which cell gets how much width, and which go when there is too little."""

from __future__ import annotations

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from gui import fonts
from gui.actions import Actions
from gui.header.badge import BadgeCell
from gui.header.cell import HEIGHT, Cell, line, longest, put
from gui.header.clock import ClockCell
from gui.header.lamp import LampCell
from gui.header.next_event import NextCell
from gui.header.tallies import OnAirCell, RecordingCell
from gui.parts import Surface
from gui.session import Session


class BrandCell(Cell):
    wide, least, narrow = 216, 144, 126
    share = 1

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__("Plant", parent)
        self._session = session
        self.brand = line(self, fonts.text(20, 700, 2.4), text="AIRLOCK")
        self.plant = line(self, fonts.text(12), "second", elide=True)
        session.bridge.changed.connect(self._changed)
        self._changed({"plant": frozenset()})

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        if "plant" in changes and (plant := self._session.model.plant) is not None:
            self.plant.show_text(plant.name)

    def arrange(self) -> None:
        self.brand.setFont(fonts.text(18, 700, 1.6) if self.dense else fonts.text(20, 700, 2.4))
        put(self.brand, 12, 7, 24)
        put(self.plant, 12, 32, 16, self.width() - 20)


class OperatorCell(Cell):
    wide, least, narrow = 168, 132, 98
    share = 1

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__("Operator", parent)
        self._session = session
        self.operator = line(self, fonts.text(14, 600), elide=True)
        self.role = line(self, fonts.text(12), "second", elide=True)
        session.bridge.changed.connect(self._changed)
        self.refresh()

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        if "stations" in changes:
            self.refresh()

    def refresh(self) -> None:
        station = self._session.station
        role = station.role.title
        self.operator.show_text(station.identity.operator)
        forms = (f"{role} role · {station.name}", f"{role} · {station.name}", role)
        self.role.show_text(longest(self.role, self.role.width(), *forms))
        self.setToolTip(f"{station.identity.operator}, {role} role, at {station.name}")

    def arrange(self) -> None:
        pad = 10 if self.dense else 16
        put(self.operator, pad, 9, 20, self.width() - pad - 4)
        put(self.role, pad, 30, 16, self.width() - pad - 4)
        self.refresh()


class HeaderBar(Surface):
    def __init__(self, session: Session, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__("bar", parent, edge="bottom")
        self.setAccessibleName("Header")
        self.setFixedHeight(HEIGHT)
        self.brand = BrandCell(session, self)
        self.clock = ClockCell(session, self)
        self.badge = BadgeCell(session, self)
        self.next = NextCell(session, self)
        self.on_air = OnAirCell(session, self)
        self.recording = RecordingCell(session, self)
        self.lamp = LampCell(session, actions, self)
        self.operator = OperatorCell(session, self)
        self.cells: list[Cell] = [
            self.brand,
            self.clock,
            self.badge,
            self.next,
            self.on_air,
            self.recording,
            self.lamp,
            self.operator,
        ]
        session.bridge.stale_changed.connect(self._stale)
        self._stale(session.stale)

    def _stale(self, stale: bool) -> None:
        for cell in (self.next, self.on_air, self.recording):
            cell.set_old(stale)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        x = 0
        for cell, width in zip(self.cells, self._widths(self.width()), strict=True):
            cell.setVisible(width > 0)
            cell.setGeometry(x, 0, width, HEIGHT - 1)
            x += width

    def _widths(self, width: int) -> list[int]:
        dense = sum(cell.least for cell in self.cells) > width
        for cell in self.cells:
            cell.set_dense(dense)
        shown = list(self.cells)
        # On a very small screen the clock, the scheduler and the alarms stay.
        for cell in (self.brand, self.operator, self.next):
            if sum(c.narrow for c in shown) > width and cell in shown:
                shown.remove(cell)
        base = {c: c.narrow if dense else c.least for c in shown}
        left = max(0, width - sum(base.values()))
        if not dense:
            # First up to the width of the design, then the rest by shares.
            for cell in shown:
                more = min(left, cell.wide - cell.least)
                base[cell] += more
                left -= more
        shares = sum(c.share for c in shown)
        for cell in shown:
            if shares and left:
                base[cell] += left * cell.share // shares
        base[shown[-1]] += max(0, width - sum(base.values()))
        return [base.get(cell, 0) for cell in self.cells]
