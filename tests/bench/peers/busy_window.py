"""A window that is painted anew sixty times a second, with about as much on it as a busy timeline."""

from __future__ import annotations

import time

from PySide6.QtCore import QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

ITEMS = 200


class BusyWindow(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._frame = 0
        self._painting = 0.0
        self._began = time.monotonic()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.update)
        self._timer.start(16)

    def paintEvent(self, event: QPaintEvent) -> None:
        began = time.perf_counter()
        self._frame += 1
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor("#14171a"))
        box, text = QColor("#2f6f8f"), QColor("#e6e9ec")
        for item in range(ITEMS):
            left = (item * 97 + self._frame) % 1920
            area = QRectF(left, 20 + (item % 25) * 42, 150, 36)
            painter.fillRect(area, box)
            painter.setPen(text)
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter, f"Window {item}")
        painter.end()
        self._painting += time.perf_counter() - began

    def report(self) -> str:
        rate = self._frame / (time.monotonic() - self._began)
        return f"window: {rate:.0f} frames/s, {self._painting / max(self._frame, 1) * 1000:.1f} ms each"
