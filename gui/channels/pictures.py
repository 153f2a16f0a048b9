"""What the channels in sight send out, about one picture a second."""

from __future__ import annotations

from PySide6.QtCore import QSize

from core.playout.model import Channel
from gui.recorders.pictures import Pictures


class ChannelPictures(Pictures[Channel]):
    size = QSize(176, 99)

    async def _jpeg(self, thing: Channel) -> bytes | None:
        return await self._session.station.pictures.of_sidecar(thing.sidecar_url)
