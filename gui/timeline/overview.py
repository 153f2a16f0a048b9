"""The strip under the lanes: the whole day at a glance, and where in it the view stands.

It only repeats what the lanes show. It is a picture, made anew a moment after something changed, a few recorders at
a time, so that a plant with thousands of windows holds up no frame.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap

from gui.theme import theme
from gui.timeline import texts
from gui.timeline.axis import DAY, TimeAxis, day_bounds
from gui.timeline.knowledge import Knowledge
from gui.timeline.rows import HEADER_PX, OVERVIEW_PX

AT_ONCE = 4  # recorders in one go
TOKENS = ("line3", "live_line", "live_line", "live_line", "line2", "t2", "t2", "line2")  # by status code


class Overview(QObject):
    changed = Signal()

    def __init__(self, known: Knowledge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._known = known
        self._axis: TimeAxis | None = None
        self._shown: tuple[object, ...] = ()
        self._picture: QPixmap | None = None
        self._work: QPixmap | None = None
        self._left: list[tuple[int, int]] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._go_on)

    def axis(self, view: TimeAxis) -> TimeAxis:
        """The plant's day in which the middle of the view lies; more days when the view is longer."""
        zone = self._known.session.zone
        middle = view.begin + view.span / 2
        begin, end = day_bounds(middle, zone)
        if view.span > DAY:
            begin, end = day_bounds(view.begin, zone)[0], day_bounds(view.end, zone)[1]
        return TimeAxis(begin, end - begin, view.left, view.width)

    def paint(self, painter: QPainter, view: TimeAxis, width: float, top: float, now: float) -> None:
        axis = self.axis(view)
        self._want(axis)
        painter.fillRect(QRectF(0, top, width, OVERVIEW_PX), theme.colour("bg0"))
        painter.fillRect(QRectF(0, top, HEADER_PX, OVERVIEW_PX), theme.colour("bg2"))
        painter.fillRect(QRectF(0, top, width, 1), theme.colour("gap"))
        painter.setPen(theme.colour("t2"))
        words = "Day overview" if axis.span < 1.2 * DAY else f"{round(axis.span / DAY)} days"
        texts.draw(painter, 12, top, OVERVIEW_PX, words, "source")
        if self._picture is not None:
            painter.drawPixmap(int(axis.left), int(top) + 1, self._picture)
        x = axis.x(now)
        if axis.left <= x <= axis.right:
            painter.fillRect(QRectF(round(x), top + 1, 2, OVERVIEW_PX - 1), theme.colour("live_line"))
        left, right = max(axis.left, axis.x(view.begin)), min(axis.right - 1, axis.x(view.end))
        painter.setPen(QPen(theme.colour("t2"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(QRectF(round(left) + 0.5, top + 1.5, max(3, round(right - left)), OVERVIEW_PX - 3))

    def _want(self, axis: TimeAxis) -> None:
        wanted = (axis, self._known.lanes.version, id(self._known.rows), theme.palette.name)
        if wanted == self._shown:
            return
        first = self._axis != axis
        self._shown, self._axis = wanted, axis
        if first:
            self._picture = None
        self._begin()

    def _begin(self) -> None:
        if self._axis is None:
            return
        recorders = self._known.rows.recorders
        self._left = [(n, id) for n, id in enumerate(recorders)]
        self._work = QPixmap(max(1, int(self._axis.width)), OVERVIEW_PX - 2)
        self._work.fill(QColor(0, 0, 0, 0))
        if not self._timer.isActive():
            self._timer.start(0 if self._picture is None else 200)

    def _go_on(self) -> None:
        if self._work is None or self._axis is None:
            return
        painter = QPainter(self._work)
        count = max(1, len(self._known.rows.recorders))
        step = (OVERVIEW_PX - 4) / count
        axis = TimeAxis(self._axis.begin, self._axis.span, 0, self._axis.width)
        for _ in range(min(AT_ONCE, len(self._left))):
            number, id = self._left.pop(0)
            lane = self._known.lanes.lane(id)
            y = 1 + number * step
            high = max(1.0, min(2.0, step))
            for i in lane.between(axis.begin, axis.end):
                left = axis.x(lane.starts[i])
                wide = max(1.0, axis.x(lane.ends[i]) - left - 1)
                painter.fillRect(QRectF(left, y, wide, high), theme.colour(TOKENS[lane.codes[i]]))
        painter.end()
        if self._left:
            self._timer.start(0)
        else:
            self._picture, self._work = self._work, None
            self.changed.emit()
