"""The measures page over a real plant: drawn while it is seen, collected while it is not."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from core.db.database import Connection
from gui.main_window import MainWindow
from gui.measures.panel import EMPTY, MeasuresPanel
from gui.theme import theme
from tests.gui.shell_fixtures import Eventually

SEED = """
INSERT INTO nodes (name, base_url, status, last_heartbeat_at, volumes)
VALUES ('rec-1', 'http://127.0.0.1:1', 'online', now(), '[{"path": "/media", "total": 1000, "free": 380}]');
INSERT INTO recorders (name, node_id, external_id, status) SELECT 'REC-1', id, 'r1', 'idle' FROM nodes;
INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, status, started_at)
SELECT 'News', id, now() - interval '1 min', now() + interval '1 h', 'running', now() - interval '59.99 s'
FROM recorders;
INSERT INTO playout_channels (name, output_type, output_url, status, last_heartbeat_at, heartbeat_ms)
VALUES ('CH-1', 'udp', 'udp://127.0.0.1:9', 'running', now() + interval '1 min', 12.5);
INSERT INTO job_runs (job_name, handler, queue) VALUES ('proxy', 'proxy', 'batch');
NOTIFY airlock, 'job_runs';
"""


def page(window: MainWindow) -> MeasuresPanel:
    assert window.room is not None
    return window.room.measures


async def test_hidden_it_draws_nothing_and_seen_it_says_everything(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    panel = page(window)
    assert window.room is not None
    window.room.panels.reveal("alarms")
    await connection.execute(SEED)
    await eventually(lambda: len(panel.collection.lag["this station"]) >= 2, within=10, what="two samples")
    assert panel.charts == {} and not panel._timer.isActive(), "hidden, it costs no drawing"
    QTest.keyClick(window, Qt.Key.Key_5, Qt.KeyboardModifier.AltModifier)
    await eventually(panel.isVisible)
    words = {name: chart.words for name, chart in panel.charts.items()}
    await eventually(
        lambda: "1 start · p50 10.0 ms" in words["starts"].full_text, within=10, what="the start"
    )
    await eventually(
        lambda: "slowest 12.5 ms" in words["heartbeat"].full_text, within=10, what="the heartbeat"
    )
    await eventually(lambda: words["disks"].full_text == "rec-1 62 %", within=10, what="the disk")
    await eventually(lambda: "batch 1" in words["queues"].full_text, within=15, what="the queue")
    for chart in panel.charts.values():
        assert chart.accessibleName() and chart.accessibleDescription() == chart.words.full_text
    window.room.panels.reveal("alarms")
    drawn = {name: chart.drawn for name, chart in panel.charts.items()}
    samples = len(panel.collection.lag["this station"])
    await eventually(lambda: len(panel.collection.lag["this station"]) >= samples + 2, within=10)
    assert {name: chart.drawn for name, chart in panel.charts.items()} == drawn


async def test_empty_it_says_what_will_come_and_it_follows_the_theme(
    window: MainWindow, eventually: Eventually, dressed: object
) -> None:
    panel = page(window)
    assert window.room is not None
    window.room.panels.reveal("measures")
    await eventually(lambda: all(c.drawn for c in panel.charts.values()), within=10, what="all drawn")
    for name in ("starts", "heartbeat", "queues", "disks"):
        chart = panel.charts[name]
        assert chart.empty.isVisible() and chart.empty.full_text == EMPTY[name]
    for key in ("300", "3600"):
        QTest.mouseClick(panel.span.buttons[key], Qt.MouseButton.LeftButton)
        await eventually(lambda: not panel._dirty, within=10)
    low, high = panel.charts["lag"].plot.viewRange()[0]
    assert round(high - low) == 3600
    window.actions_.trigger("window.theme")
    assert panel.charts["lag"].plot.backgroundBrush().color() == theme.colour("bg1")
    window.actions_.trigger("window.theme")
