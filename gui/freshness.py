"""Says on a panel how old its picture is, while it cannot be confirmed: READ-ONLY, and as of when."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui import fonts
from gui.parts import Chip, Label
from gui.session import Session


class Freshness(QWidget):
    """Nothing while the picture is live."""

    def __init__(self, session: Session, *, read_only: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        if read_only:
            chip = Chip("READ-ONLY", "inverse")
            chip.setToolTip("Nothing can be changed while the database does not answer.")
            row.addWidget(chip)
        self.as_of = Label("", fonts.figures(12), "second")
        row.addWidget(self.as_of)
        session.bridge.stale_changed.connect(self._show)
        self._show(session.stale)

    def _show(self, stale: bool) -> None:
        self.setVisible(stale)
        as_of = self._session.feed.state.as_of
        if stale and as_of is not None:
            self.as_of.show_text(f"as of {self._session.local(as_of):%H:%M:%S}")
