"""One recorder: its row is painted from its `Look`, its buttons are made when it is first seen."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from core.recording.model import Recorder
from gui.actions import Actions
from gui.recorders import controls, row_paint
from gui.recorders.controls import Controls
from gui.recorders.deeds import Deeds
from gui.recorders.guard import Guard
from gui.recorders.pictures import PictureWall
from gui.recorders.state import Look
from gui.session import Session
from gui.theme import theme

PAD = 12


class RecorderRow(QWidget):
    touched = Signal(int)  # one of its buttons got the focus
    pressed = Signal(int)
    acted = Signal(int)

    def __init__(
        self,
        recorder: Recorder,
        session: Session,
        deeds: Deeds,
        guard: Guard,
        actions: Actions,
        pictures: PictureWall,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.recorder = recorder
        self._session = session
        self._deeds = deeds
        self._guard = guard
        self._actions = actions
        self._pictures = pictures
        self.look: Look | None = None
        self.selected = False
        self.focused = False
        self.controls: Controls | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def build(self) -> Controls:
        if self.controls is None:
            made = self.controls = Controls(self.recorder, self._deeds, self._guard, self._actions, self)
            made.done.connect(lambda: self.acted.emit(self.recorder.id))
            for button in (made.start, made.more, made.stop, *made.extend.values(), made.mode):
                button.installEventFilter(self)
            made.armed.confirm.installEventFilter(self)
            self._place()
            made.show()
            made.refresh(self.recorder)
        return self.controls

    def show_look(self, recorder: Recorder, look: Look) -> None:
        self.recorder = recorder
        if look != self.look:
            if self.look is None or (self.look.title, self.look.bar) != (look.title, look.bar):
                self.setAccessibleName(look.name)
                self.setAccessibleDescription(f"{look.bar}: {look.title}")
            tips = [
                look.name,
                look.source,
                look.place,
                look.figures,
                look.trouble,
                look.following,
                look.refusal,
            ]
            self.setToolTip("\n".join(tip for tip in tips if tip))
            self.look = look
            self.update()
        if self.controls is not None:
            self.controls.refresh(recorder)

    def set_selected(self, selected: bool, focused: bool) -> None:
        if (selected, focused) != (self.selected, self.focused):
            self.selected, self.focused = selected, focused
            self.update()

    def update_picture(self) -> None:
        self.update(row_paint.PICTURE.toAlignedRect())

    def update_lamp(self) -> None:
        if self.look is not None and self.look.flashes:
            self.update(QRect(0, 0, 36, row_paint.HEIGHT))

    def _place(self) -> None:
        if self.controls is not None:
            self.controls.move(self.width() - PAD - controls.WIDTH, 5)
            self.controls.place_armed()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.pressed.emit(self.recorder.id)
        event.accept()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn:
            self.touched.emit(self.recorder.id)
        return super().eventFilter(watched, event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.colour("selbg" if self.selected else "bg1"))
        if self.look is not None:
            old = self._session.stale
            right = self.width() - PAD - controls.WIDTH - PAD
            if self.controls is not None and self.controls.armed.isVisible():
                right = self.controls.armed.x() - PAD
            row_paint.paint_header(painter, self.look, self._session.ticker.lit)
            shot = self._pictures.shot(self.recorder.id)
            row_paint.paint_picture(painter, shot, self._pictures.age(self.recorder.id))
            row_paint.paint_block(painter, self.look, right, old=old)
        painter.setPen(theme.colour("line"))
        painter.drawLine(0, self.height() - 1, self.width(), self.height() - 1)
        if self.selected:
            painter.setPen(theme.colour("sel" if self.focused else "line3"))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -2))
        painter.end()
