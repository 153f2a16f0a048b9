"""The big clock: the plant's time with seconds and frames, UTC and the date beside it, by the database."""

from __future__ import annotations

from datetime import UTC, datetime

from PySide6.QtCore import QPointF, QRect
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui import fonts
from gui.header.cell import Cell, line, longest, put
from gui.session import Session
from gui.theme import theme
from gui.words import signed_milliseconds, zone_offset

WORTH_SAYING = 0.1  # seconds that this workstation may be wrong without a word
SAMPLE = "00:00:00"


class ClockFace(QWidget):
    """Paints the digits; nothing but the frames is painted again between two seconds."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._time, self._frame = "", ""
        self.set_dense(False)

    def set_dense(self, dense: bool) -> None:
        self._digits = fonts.display(30 if dense else 40, 600, -0.2)
        self._small = fonts.display(16 if dense else 20, 500)
        self._label = fonts.text(12)
        width = QFontMetricsF(self._digits).horizontalAdvance(SAMPLE)
        self._frames_at = round(width) + (2 if dense else 3)
        side = max(
            QFontMetricsF(self._small).horizontalAdvance(":00"),
            QFontMetricsF(self._label).horizontalAdvance("local") + 5,
        )
        self.setFixedSize(self._frames_at + round(side) + 2, 55)
        self._baseline = 40 if dense else 42
        self.update()

    @property
    def text(self) -> str:
        return f"{self._time}{self._frame}"

    def show_time(self, time: str, frame: str) -> None:
        if time != self._time:
            self._time, self._frame = time, frame
            self.update()
        elif frame != self._frame:
            self._frame = frame
            self.update(QRect(self._frames_at, 20, self.width() - self._frames_at, 36))

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(theme.colour("t1"))
        painter.setFont(self._digits)
        painter.drawText(QPointF(0, self._baseline), self._time)
        painter.setPen(theme.colour("t2"))
        painter.setFont(self._small)
        painter.drawText(QPointF(self._frames_at, self._baseline), self._frame)
        painter.setFont(self._label)
        painter.drawText(QPointF(self._frames_at + 4, 20), "local")
        painter.end()


class ClockCell(Cell):
    wide, least, narrow = 400, 388, 312

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__("Plant time", parent)
        self._session = session
        self.face = ClockFace(self)
        self.utc = line(self, fonts.figures(16, 600), text="00:00:00")
        self.utc_word = line(self, fonts.text(12), "second", text="UTC")
        self.date = line(self, fonts.text(12), "second")
        session.ticker.frame.connect(self._frame)
        session.ticker.second.connect(self._second)
        self._frame()
        self._second()
        self.arrange()

    def arrange(self) -> None:
        self.face.set_dense(self.dense)
        self.face.move(12 if self.dense else 16, 0)
        self.utc.setFont(fonts.figures(14 if self.dense else 16, 600))
        x = self.face.geometry().right() + (10 if self.dense else 13)
        end = put(self.utc, x, 7, 20)
        put(self.utc_word, end + 4, 8, 20)
        put(self.date, x, 30, 16)

    def _frame(self) -> None:
        now = self._session.now()
        local = self._session.local(now)
        frame = self._session.ticker.frame_of(now.timestamp())
        self.face.show_time(f"{local:%H:%M:%S}", f":{frame:02d}")

    def _second(self) -> None:
        now = self._session.now()
        self.utc.show_text(f"{now.astimezone(UTC):%H:%M:%S}")
        text, tone, tip = self._second_line(self._session.local(now))
        if text != self.date.full_text or self.date.property("tone") != tone:
            self.date.setProperty("tone", tone)
            self.date.style().polish(self.date)
            self.date.show_text(text)
            self.date.setToolTip(tip)
            self.arrange()
        self.face.setAccessibleName(f"{self.face.text} plant time")

    def _second_line(self, local: datetime) -> tuple[str, str, str]:
        offset = self._session.clock.workstation_offset
        if abs(offset) > WORTH_SAYING:
            wrong = signed_milliseconds(offset * 1000)
            tip = f"This workstation's clock is off by {wrong}. Airlock goes by the database's; set it right."
            return f"Own clock {wrong}", "abnormal", tip
        zone = zone_offset(local)
        day = f"{local.day} {local:%b}"
        forms = (f"{local:%a} {day} {local:%Y}, {zone}", f"{local:%a} {day}, {zone}", f"{day}, {zone}", zone)
        text = longest(self.date, self.width() - self.date.x() - 2, *(forms[1:] if self.dense else forms))
        return text, "second", f"{local:%A} {local.day} {local:%B %Y}, {zone}"

    def set_dense(self, dense: bool) -> None:
        super().set_dense(dense)
        self._second()
