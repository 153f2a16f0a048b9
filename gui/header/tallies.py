"""How many channels are on air, and how many recorders record."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from gui import fonts
from gui.glyphs import Glyph
from gui.header.cell import Cell, line, put
from gui.session import Session


class TallyCell(Cell):
    """A lamp, a number, a word, and of how many."""

    def __init__(self, word: str, short: str, lit: str, unlit: str, parent: QWidget) -> None:
        super().__init__(word.capitalize(), parent)
        self._lit, self._unlit = lit, unlit
        self._words = {False: word, True: short}
        self._glyph = Glyph(unlit, "t3", 16, self)
        self.number = line(self, fonts.display(32, 600), text="0")
        self.word = line(self, fonts.text(12, 600, 0.2), text=word)
        self.total = line(self, fonts.figures(12), "second")

    def show_count(self, count: int, total: int) -> None:
        self._glyph.show_glyph(self._lit if count else self._unlit, "live_line" if count else "t3")
        self.number.show_text(str(count))
        self.total.show_text(f"of {total}")
        self.setToolTip(f"{count} of {total}")
        self.setAccessibleDescription(f"{count} of {total}")
        self.arrange()

    def arrange(self) -> None:
        left = 10 if self.dense else 16
        self._glyph.move(left, 20)
        self.word.show_text(self._words[self.dense])
        words = self.word.fontMetrics().horizontalAdvance(self.word.full_text) + 2
        for size in (28, 24, 20, 16) if self.dense else (32, 28, 24, 20):
            # Two digits and more are smaller rather than cover what they count.
            self.number.setFont(fonts.display(size, 600))
            end = put(self.number, left + (20 if self.dense else 24), 10, 36) + (3 if self.dense else 4)
            if end + words <= self.width() - 1:
                break
        put(self.word, end, 10, 16)
        put(self.total, end, 29, 16)


class OnAirCell(TallyCell):
    wide, least, narrow = 120, 120, 102

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__("ON AIR", "ON AIR", "on-air", "off-air", parent)
        self._session = session
        session.bridge.changed.connect(self._changed)
        self._changed({"playout_channels": frozenset()})

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        if "playout_channels" in changes:
            channels = self._session.model.channels.values()
            self.show_count(sum(c.on_air for c in channels), len(channels))


class RecordingCell(TallyCell):
    wide, least, narrow = 148, 148, 96

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__("RECORDING", "REC", "recording", "idle", parent)
        self._session = session
        session.bridge.changed.connect(self._changed)
        self._changed({"recorders": frozenset()})

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        if changes.keys() & {"recorders", "recorder_schedules"}:
            model = self._session.model
            busy = {r.id for r in model.recorders.values() if r.status == "recording"}
            busy |= {w.recorder_id for w in model.windows.values() if w.status in ("running", "stopping")}
            self.show_count(len(busy & model.recorders.keys()), len(model.recorders))
