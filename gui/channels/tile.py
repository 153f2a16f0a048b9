"""One channel on the wall: painted from its `Look`, with its buttons below; a tile or a strip."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from core.playout.model import Channel
from gui.actions import Actions
from gui.channels import tile_paint
from gui.channels.beats import Beats
from gui.channels.controls import HEIGHT as BUTTONS
from gui.channels.controls import Controls
from gui.channels.deeds import Deeds
from gui.channels.pictures import ChannelPictures
from gui.channels.state import Look
from gui.hatch import hatch
from gui.recorders.guard import Guard
from gui.session import Session
from gui.theme import theme


class Tile(QWidget):
    pressed = Signal(int)
    opened = Signal(int)  # double click
    touched = Signal(int)  # one of its buttons got the focus
    acted = Signal(int)

    def __init__(
        self,
        channel: Channel,
        session: Session,
        deeds: Deeds,
        guard: Guard,
        actions: Actions,
        pictures: ChannelPictures,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.channel = channel
        self._session = session
        self._pictures = pictures
        self.beats = Beats()
        self.look: Look | None = None
        self.compact = False
        self.selected = self.focused = False
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.controls = Controls(channel, deeds, guard, actions, self)
        self.controls.done.connect(lambda: self.acted.emit(self.channel.id))
        for button in (*self.controls.buttons.values(), self.controls.confirm, self.controls.cancel):
            button.installEventFilter(self)
        self.set_compact(False)

    def set_compact(self, compact: bool) -> None:
        self.compact = compact
        height = tile_paint.STRIP if compact else tile_paint.HEIGHT
        self.setFixedHeight(height)
        # In a strip the buttons come only while one is armed, in the middle of it.
        self.controls.move(tile_paint.PAD, 12 if compact else height - 8 - BUTTONS)
        self.show_controls()
        self.update()

    def show_controls(self) -> None:
        self.controls.setVisible(not self.compact or self.controls.armed is not None)
        if self.compact:
            self.update()

    def show_look(self, channel: Channel, look: Look) -> None:
        self.channel = channel
        if look != self.look:
            self.setAccessibleName(f"{look.name} {look.title}".strip())
            self.setAccessibleDescription(
                ", ".join(w for w in (look.tally, look.clip, look.words, look.trouble) if w)
            )
            if self.look is None or look.tip != self.look.tip:
                self.setToolTip(look.tip)
            self.look = look
            self.update()
        self.controls.refresh(channel)

    def set_selected(self, selected: bool, focused: bool) -> None:
        if (selected, focused) != (self.selected, self.focused):
            self.selected, self.focused = selected, focused
            self.update()

    def update_picture(self) -> None:
        if not self.compact:
            self.update(tile_paint.PICTURE.toAlignedRect())

    def update_beats(self) -> None:
        if self.compact:
            self.update(QRect(90, 28, 160, 24))
        else:
            self.update(QRect(0, 148, self.width(), 32))

    def update_lamp(self) -> None:
        if self.look is not None and self.look.flashes:
            self.update(QRect(0, 0, self.width(), 40))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.pressed.emit(self.channel.id)
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.opened.emit(self.channel.id)
        event.accept()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn:
            self.touched.emit(self.channel.id)
        return super().eventFilter(watched, event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        old = self._session.stale
        painter.fillRect(self.rect(), theme.colour("selbg" if self.selected and self.compact else "bg1"))
        if old:
            painter.fillRect(self.rect(), hatch(theme.colour("hatch")))
        if self.look is not None:
            lit, samples = self._session.ticker.lit, self.beats.samples
            if not self.compact:
                shot, age = self._pictures.shot(self.channel.id), self._pictures.age(self.channel.id)
                tile_paint.paint_tile(painter, self.look, samples, shot, age, lit=lit, old=old)
            elif self.controls.armed is None:
                tile_paint.paint_strip(painter, self.look, samples, lit=lit, old=old, width=self.width())
        if self.selected:
            painter.setPen(theme.colour("sel" if self.focused else "line2"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()
