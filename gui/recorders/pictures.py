"""Confidence pictures for the rows that can be seen: about one a second, a few at a time, never in the way.

Fetched by the station and decoded in a thread. At 70 % saturation, so that no programme outshines an alarm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QImage, QPainter, QPixmap

from core.clock import steady
from core.recording.model import Recorder
from gui.session import Session
from gui.tasks import loop_is_running

SIZE = QSize(112, 63)
AT_ONCE = 4
EVERY = 0.8  # seconds from one picture of a recording to the next; the pulse rounds it up to one
IDLE_EVERY = 4.8  # an idle recorder rarely has one to give
KEPT = 10.0  # an older picture says nothing about the source any more
SATURATION = 0.7


@dataclass(frozen=True)
class Shot:
    pixmap: QPixmap
    at: float  # by the steady counter


def prepare(jpeg: bytes, size: QSize) -> QImage | None:
    """Decodes, scales and mutes a picture. Runs in a thread; None when it cannot be read."""
    image = QImage.fromData(jpeg)
    if image.isNull():
        return None
    keep, smooth = Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
    image = image.scaled(size, keep, smooth).convertToFormat(QImage.Format.Format_RGB32)
    grey = image.convertToFormat(QImage.Format.Format_Grayscale8)
    painter = QPainter(image)
    painter.setOpacity(1 - SATURATION)
    painter.drawImage(0, 0, grey)
    painter.end()
    return image


class PictureWall(QObject):
    arrived = Signal(int)  # recorder

    def __init__(
        self, session: Session, wanted: Callable[[], Iterable[Recorder]], ratio: Callable[[], float]
    ) -> None:
        super().__init__(session)
        self._session = session
        self._wanted = wanted
        self._ratio = ratio
        self._shots: dict[int, Shot] = {}
        self._asked: dict[int, float] = {}
        self._under_way: set[int] = set()
        self._turns = asyncio.Semaphore(AT_ONCE)
        session.ticker.second.connect(self.look)

    def shot(self, recorder: int) -> Shot | None:
        """The newest picture, while it is worth showing."""
        shot = self._shots.get(recorder)
        if shot is not None and steady() - shot.at > KEPT:
            del self._shots[recorder]
            return None
        return shot

    def age(self, recorder: int) -> float:
        shot = self._shots.get(recorder)
        return 0.0 if shot is None else steady() - shot.at

    def look(self) -> None:
        """Asks for what is due."""
        if not loop_is_running():
            return  # Qt ticks on while the loop has not begun or has ended
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return  # Qt turns without our loop while a window opens or closes
        for recorder in self._wanted():
            every = EVERY if recorder.status == "recording" else IDLE_EVERY
            if recorder.id in self._under_way or steady() - self._asked.get(recorder.id, -1e9) < every:
                continue
            self._asked[recorder.id] = steady()
            self._under_way.add(recorder.id)
            task = self._session.attempt(partial(self._fetch, recorder), f"picture of {recorder.name}")
            task.add_done_callback(lambda _, id=recorder.id: self._under_way.discard(id))  # type: ignore[misc]

    async def _fetch(self, recorder: Recorder) -> None:
        node = self._session.model.nodes.get(recorder.node_id) if recorder.node_id is not None else None
        ratio = self._ratio()
        async with self._turns:
            jpeg = await self._session.station.pictures.of(recorder, node)
        if jpeg is None:
            return
        image = await asyncio.to_thread(prepare, jpeg, SIZE * ratio)
        if image is not None and not self._session.closed:
            pixmap = QPixmap.fromImage(image)
            pixmap.setDevicePixelRatio(ratio)
            self._shots[recorder.id] = Shot(pixmap, steady())
            self.arrived.emit(recorder.id)
