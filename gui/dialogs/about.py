"""What this is, which version, and what it is connected to."""

from __future__ import annotations

import platform

from PySide6 import __version__ as pyside_version
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from core import __version__
from gui import fonts
from gui.dialogs.sheet import Sheet
from gui.parts import Label
from gui.session import Session


def facts(session: Session) -> dict[str, str]:
    station = session.station
    leader = session.model.leader
    plant = session.model.plant
    lead = "nobody" if leader is None else f"{leader.epoch}, held by {leader.station}"
    return {
        "Version": __version__,
        "Plant": "–"
        if plant is None
        else f"{plant.name}, {plant.timezone}, {float(plant.frame_rate):g} frames a second",
        "Database": station.database.shown,
        "Station": f"{station.name}, {station.identity.operator}, {station.role.title} role",
        "Epoch": lead,
        "Runs on": f"Python {platform.python_version()}, Qt for Python {pyside_version}, {platform.system()}",
        "Licence": "MIT. Inter and JetBrains Mono: SIL Open Font License 1.1",
    }


class AboutDialog(Sheet):
    def __init__(self, session: Session, window: QWidget) -> None:
        super().__init__("About Airlock", window, 600)
        self.body.addWidget(Label("AIRLOCK", fonts.text(20, 700, 2.4)))
        self.body.addWidget(Label("The control room of a broadcast plant.", fonts.text(13), "second"))
        grid = QGridLayout()
        grid.setContentsMargins(0, 12, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(8)
        grid.setColumnMinimumWidth(0, 80)
        grid.setColumnStretch(1, 1)
        for row, (name, value) in enumerate(facts(session).items()):
            label = Label(value, fonts.text(13))
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(Label(name, fonts.text(13), "second"), row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(label, row, 1)
        self.body.addLayout(grid)
