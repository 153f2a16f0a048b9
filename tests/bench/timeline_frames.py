"""The timeline's frames: panning, zooming, scrolling and dragging over 100,000 windows on 200 recorders.

The real panel over a real plant, 1920 x 1080, every window as the feed brought it. A frame is from the movement of
the hand to the end of the painting, all of it in this process; nothing else can happen to a frame here, because the
offscreen picture has no screen to wait for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import asyncpg
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QPainter, QWheelEvent
from PySide6.QtWidgets import QApplication

from gui.timeline.axis import SPANS
from gui.timeline.canvas import Canvas
from gui.timeline.hits import Place
from gui.timeline.panel import TimelinePanel
from tests.bench.arena import open_arena
from tests.bench.rooms import NONE, move, on_our_loop, press, release, room, until
from tests.bench.table import Row, percentile

PART = "timeline_frames"
WINDOWS, RECORDERS = 100_000, 200
FRAMES = 240
LIMIT = 16.0  # ms at p99

# From a day ago to a fortnight ahead, one after the other on each recorder; what is past is over in every way there is,
# and nearly every recorder is at work.
FILL = """
SET session_replication_role = replica;
INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, status, started_at, stopped_at)
SELECT (ARRAY['Evening News', 'Council Session', 'Match Feed A', 'Regional contribution', 'Studio Debate'])[1 + n % 5]
       || ' ' || n, r.id, t, e,
       CASE WHEN t > now() THEN 'pending' WHEN e > now() THEN 'running'
            ELSE (ARRAY['completed', 'failed', 'missed', 'completed'])[1 + n % 4] END,
       CASE WHEN t <= now() THEN t END, CASE WHEN e <= now() THEN e END
FROM generate_series(0, {windows} - 1) n
JOIN recorders r ON r.name = 'rec-' || n % {recorders},
LATERAL (SELECT now() - interval '1 day' + (n / {recorders}) * interval '42 minutes'
                + (n % {recorders}) * interval '11 seconds' AS t) at,
LATERAL (SELECT t + interval '38 minutes' AS e) until;
SET session_replication_role = DEFAULT;
"""


def wheel(canvas: Canvas, at: QPoint, turn: int, keys: Qt.KeyboardModifier = NONE) -> None:
    view = canvas.viewport()
    event = QWheelEvent(
        QPointF(at), QPointF(view.mapToGlobal(at)), QPoint(), QPoint(0, turn), Qt.MouseButton.NoButton, keys,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view, event)


def panning(canvas: Canvas) -> Iterator[None]:
    """By the axis, back and forth, a few pixels a frame up to a hundred."""
    at = QPoint(1200, 16)
    for number in range(FRAMES):
        by = (3 + number % 100) * (1 if number // 60 % 2 else -1)
        press(canvas.viewport(), at)
        move(canvas.viewport(), at + QPoint(by, 0))
        yield
        release(canvas.viewport(), at + QPoint(by, 0))


def zooming(canvas: Canvas) -> Iterator[None]:
    """From minutes to a fortnight and back, at a pointer that wanders."""
    for number in range(FRAMES):
        wheel(canvas, QPoint(300 + number * 5, 400), -120 if number // 40 % 2 else 120)
        yield


def scrolling(canvas: Canvas) -> Iterator[None]:
    for number in range(FRAMES):
        wheel(canvas, QPoint(100, 400), -120 if number // 60 % 2 == 0 else 120)
        yield


def dragging(canvas: Canvas) -> Iterator[None]:
    """A window over its neighbours and other recorders, with everything it runs into named."""
    view, place = canvas.viewport(), canvas.place()
    row = place.visible()[3]
    lane = canvas.known.lanes.lane(row.id)
    window = next(
        w for w in lane.windows if w.status == "pending" and place.axis.x(w.start_at.timestamp()) > 300
    )
    at = QPoint(round(place.axis.x(window.start_at.timestamp()) + 30), round(place.y(row) + 22))
    press(view, at)
    for number in range(FRAMES):
        move(view, at + QPoint(5 + number * 3, (number // 20) * 11))
        yield
    canvas._let_go()
    release(view, at)


CASES: dict[str, tuple[str, Callable[[Canvas], Iterator[None]]]] = {
    "pan, 1 h": ("1h", panning),
    "pan, 4 h": ("4h", panning),
    "pan, 24 h": ("24h", panning),
    "pan, 7 d": ("7d", panning),
    "zoom": ("4h", zooming),
    "scroll, 4 h": ("4h", scrolling),
    "drag, 4 h": ("4h", dragging),
}


def exposed(panel: TimelinePanel) -> bool:
    handle = panel.windowHandle()
    return handle is not None and handle.isExposed()


class Painted:
    """Counts the pictures, so that a frame in which nothing was painted is never taken for a fast one."""

    def __init__(self, canvas: Canvas) -> None:
        self.count = 0
        self._paint = canvas.scene_.paint
        canvas.scene_.paint = self._counting  # type: ignore[method-assign]

    def _counting(self, painter: QPainter, place: Place) -> None:
        self._paint(painter, place)
        self.count += 1


def frames(
    panel: TimelinePanel, painted: Painted, span: str, moves: Callable[[Canvas], Iterator[None]]
) -> list[float]:
    canvas = panel.canvas
    canvas.follow_now()
    canvas.show_span(SPANS[span])
    canvas.viewport().repaint()
    hands = moves(canvas)
    before = painted.count
    found: list[float] = []
    while True:
        began = time.perf_counter()
        try:
            next(hands)
        except StopIteration:
            break
        canvas.viewport().repaint()
        found.append((time.perf_counter() - began) * 1000)
    if painted.count - before < len(found):
        raise RuntimeError(f"only {painted.count - before} of {len(found)} frames were painted")
    return found


async def measure() -> list[Row]:
    rows: list[Row] = []
    together: list[float] = []
    async with open_arena() as arena:
        url = await arena.plant(RECORDERS)
        connection = await asyncpg.connect(url)
        await connection.execute(FILL.format(windows=WINDOWS, recorders=RECORDERS))
        await connection.execute("VACUUM ANALYZE")
        await connection.close()
        async with room(url, "LEADER"), room(url, "BENCH") as window:
            assert window.room is not None
            panel, rests = window.room.timeline, window.room.rests
            await until(lambda: rests.began, "the first rest")
            panel.setParent(None)  # all of the picture for the lanes
            panel.resize(1920, 1080)
            panel.show()
            await until(lambda: exposed(panel), "the panel's first picture")
            painted = Painted(panel.canvas)
            for name, (span, moves) in CASES.items():
                frames(panel, painted, span, moves)  # what is prepared once (text, columns) is not a frame's
                times = frames(panel, painted, span, moves)
                together += times
                p50, p99 = percentile(times, 0.5), percentile(times, 0.99)
                print(f"{name:12} p50 {p50:6.2f}  p99 {p99:6.2f}  max {max(times):6.2f} ms", flush=True)
                rows.append(
                    Row(PART, f"{name}, p99", p99, "ms", {"p50": p50, "max": max(times)}, p99 / LIMIT,
                        f"≤ {LIMIT:.0f} ms", p99 <= LIMIT)
                )  # fmt: skip
            panel.setParent(window)
    p99 = percentile(together, 0.99)
    rows.append(Row(PART, "all of them, p99", p99, "ms", {}, p99 / LIMIT, f"≤ {LIMIT:.0f} ms", p99 <= LIMIT))
    return rows


def run() -> list[Row]:
    return on_our_loop(measure)
