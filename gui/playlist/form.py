"""Adds a clip to a playlist: a recording of the plant or a file, its name, and from where to where it plays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from core.recording.model import Asset
from gui import fonts
from gui.parts import Button, Label, Surface
from gui.playlist.points import point, read_span
from gui.recorders.entry import WrongEntry
from gui.session import Session

FILE = "A file"


@dataclass(frozen=True)
class Clip:
    name: str
    path: str
    asset_id: int | None
    in_s: float
    duration_s: float | None


class ClipForm(Surface):
    added = Signal(object)  # a Clip
    closed = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__("well", parent)
        self.setAccessibleName("Add a clip")
        self._session = session
        self._named = False  # whether the name was written by hand
        self.source = QComboBox()
        self.source.setFont(fonts.text(13))
        self.source.setFixedHeight(28)
        self.source.setMinimumWidth(140)
        self.source.setAccessibleName("What to add")
        self.source.setToolTip("A file, or one of the plant's recordings")
        self.path = self._field("Path of the clip, as its node sees it", "Path")
        self.browse = Button("Browse…")
        self.browse.setToolTip("Choose a file on this machine")
        self.name = self._field("Title", "Title")
        self.begin = self._field("00:00:00", "In point")
        self.end = self._field("to its end", "Out point")
        for field in (self.begin, self.end):
            field.setFont(fonts.mono(13))
            field.setFixedWidth(104)
        self.refusal = Label("", fonts.text(12, 600), "abnormal", elide=True)
        self.add = Button("Add")
        self.add.setToolTip("Add the clip before the selected one, or at the end (Enter)")
        self.close_ = Button("Close")
        self.close_.setToolTip("Close without adding (Esc)")
        self._build()
        self.source.currentIndexChanged.connect(lambda _: self._chosen())
        self.path.textEdited.connect(lambda _: self._name_from_path())
        self.name.textEdited.connect(lambda _: self._write_name())
        self.browse.clicked.connect(self._browse)
        self.add.clicked.connect(self.submit)
        self.close_.clicked.connect(self.shut)
        self.hide()

    def _field(self, placeholder: str, name: str) -> QLineEdit:
        field = QLineEdit()
        field.setFont(fonts.text(13))
        field.setPlaceholderText(placeholder)
        field.setAccessibleName(name)
        field.setToolTip(name)
        field.setFixedHeight(28)
        return field

    def _build(self) -> None:
        rows = []
        for widgets in (
            (self.source, self.path, self.browse),
            (self.name, Label("In", fonts.text(12), "second"), self.begin,
             Label("Out", fonts.text(12), "second"), self.end, self.add, self.close_),
        ):  # fmt: skip
            row = QHBoxLayout()
            row.setSpacing(8)
            for widget in widgets:
                row.addWidget(widget, 1 if widget in (self.path, self.name) else 0)
            rows.append(row)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 8, 8)
        column.setSpacing(6)
        for row in rows:
            column.addLayout(row)
        column.addWidget(self.refusal)
        self.refusal.hide()

    def open(self) -> None:
        self._show_recordings()
        self.show()
        (self.path if self._asset() is None else self.name).setFocus()

    def shut(self) -> None:
        self.hide()
        self.closed.emit()

    def _show_recordings(self) -> None:
        ready = [a for a in self._session.model.assets.values() if a.status == "ready"]
        ready.sort(key=lambda a: a.created_at, reverse=True)
        chosen = self.source.currentData()
        self.source.blockSignals(True)
        self.source.clear()
        self.source.addItem(FILE, None)
        for asset in ready:
            self.source.addItem(asset.display_name, asset.id)
        self.source.setCurrentIndex(max(0, self.source.findData(chosen)))
        self.source.blockSignals(False)
        self._chosen()

    def _asset(self) -> Asset | None:
        id = self.source.currentData()
        return None if id is None else self._session.model.assets.get(id)

    def _chosen(self) -> None:
        asset = self._asset()
        self.path.setEnabled(asset is None)
        self.browse.setEnabled(asset is None)
        if asset is not None:
            self.path.setText(asset.path)
            self.end.setPlaceholderText("to its end" if asset.duration_s is None else point(asset.duration_s))
            if not self._named:
                self.name.setText(asset.display_name)
        else:
            self.end.setPlaceholderText("to its end")

    def _name_from_path(self) -> None:
        if not self._named:
            self.name.setText(PurePath(self.path.text().strip()).stem.replace("_", " "))

    def _write_name(self) -> None:
        self._named = bool(self.name.text())

    def _browse(self) -> None:
        dialog = QFileDialog(self, "Choose a clip")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self._picked)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _picked(self, path: str) -> None:
        self.path.setText(path)
        self._name_from_path()

    def refuse(self, why: str) -> None:
        self.refusal.show_text(why)
        self.refusal.setVisible(bool(why))

    def submit(self) -> None:
        asset = self._asset()
        try:
            begin, length = read_span(self.begin.text(), self.end.text())
            if not self.path.text().strip():
                raise WrongEntry("Choose a recording, or write the path of a clip.")
            if not self.name.text().strip():
                raise WrongEntry("Give the clip a title.")
        except WrongEntry as error:
            self.refuse(str(error))
            return
        if length is None and asset is not None and asset.duration_s is not None:
            length = max(0.0, asset.duration_s - begin) or None
        self.refuse("")
        clip = Clip(
            self.name.text().strip(),
            self.path.text().strip(),
            None if asset is None else asset.id,
            begin,
            length,
        )
        self.added.emit(clip)

    def clear(self) -> None:
        """Ready for the next clip: the one that was added is in the list."""
        self._named = False
        for field in (self.path, self.name, self.begin, self.end):
            field.clear()
        self._chosen()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.submit()
        elif event.key() == Qt.Key.Key_Escape:
            self.shut()
        else:
            super().keyPressEvent(event)
