"""Confidence pictures for the rows that can be seen: about one a second, a few at a time, never in the way.

Fetched by the station and decoded in a thread. At 70 % saturation, so that no programme outshines an alarm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

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


class Pictured(Protocol):
    """Something that has a picture."""

    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...


P = TypeVar("P", bound=Pictured)


class Pictures(QObject, Generic[P]):
    """Fetches and keeps the pictures of what is in sight; what they are of says the class that inherits."""

    arrived = Signal(int)
    size = SIZE

    def __init__(
        self, session: Session, wanted: Callable[[], Iterable[P]], ratio: Callable[[], float]
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

    def shot(self, id: int) -> Shot | None:
        """The newest picture, while it is worth showing."""
        shot = self._shots.get(id)
        if shot is not None and steady() - shot.at > KEPT:
            del self._shots[id]
            return None
        return shot

    def age(self, id: int) -> float:
        shot = self._shots.get(id)
        return 0.0 if shot is None else steady() - shot.at

    def look(self) -> None:
        """Asks for what is due."""
        if not loop_is_running():
            return  # Qt ticks on while the loop has not begun or has ended
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return  # Qt turns without our loop while a window opens or closes
        for thing in self._wanted():
            id = thing.id
            if id in self._under_way or steady() - self._asked.get(id, -1e9) < self._every(thing):
                continue
            self._asked[id] = steady()
            self._under_way.add(id)
            task = self._session.attempt(partial(self._fetch, thing), f"picture of {thing.name}")
            task.add_done_callback(lambda _, id=id: self._under_way.discard(id))  # type: ignore[misc]

    async def _fetch(self, thing: P) -> None:
        ratio = self._ratio()
        async with self._turns:
            jpeg = await self._jpeg(thing)
        if jpeg is None:
            return
        image = await asyncio.to_thread(prepare, jpeg, self.size * ratio)
        if image is not None and not self._session.closed:
            pixmap = QPixmap.fromImage(image)
            pixmap.setDevicePixelRatio(ratio)
            self._shots[thing.id] = Shot(pixmap, steady())
            self.arrived.emit(thing.id)

    def _every(self, thing: P) -> float:
        return EVERY

    async def _jpeg(self, thing: P) -> bytes | None:
        raise NotImplementedError


class PictureWall(Pictures[Recorder]):
    def _every(self, thing: Recorder) -> float:
        return EVERY if thing.status == "recording" else IDLE_EVERY

    async def _jpeg(self, thing: Recorder) -> bytes | None:
        node = self._session.model.nodes.get(thing.node_id) if thing.node_id is not None else None
        return await self._session.station.pictures.of(thing, node)
