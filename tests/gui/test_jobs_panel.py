"""The jobs panel on a real plant: what it shows, what its buttons do, and what they say when they cannot."""

from __future__ import annotations

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from core.db.database import Connection
from gui.jobs.panel import JobsPanel
from gui.main_window import MainWindow
from tests.gui.shell_fixtures import Eventually, Outage

SEED = """
INSERT INTO job_workers (name, handlers, concurrency, running, last_seen_at)
VALUES ('node-a jobs', '{proxy,loudness,thumbnails,as_run_export}', 10, 2, now() + interval '1 day');
INSERT INTO cron_jobs (name, cron, timezone, handler, next_plan_at, enabled, error_message) VALUES
    ('as-run export', '15 0 * * *', 'Europe/Berlin', 'as_run_export', now() + interval '5 hours', true, NULL),
    ('storage cleanup', '40 3 * * *', 'UTC', 'storage_cleanup', NULL, false, NULL),
    ('checksums', '61 * * * *', 'UTC', 'checksum', NULL, false, 'The minute part has "61", which cannot be used.');
INSERT INTO job_runs (job_name, handler, scope_kind, scope_id, queue, priority, status, attempt, progress, lease_token,
    worker, started_at, stale_at, deadline_at, run_at, errors, finished_at, result)
VALUES
    ('proxy', 'proxy', 'asset', '12', 'batch', 'low', 'running', 1, 0.62, gen_random_uuid(), 'node-a jobs',
     now() - interval '92 s', now() + interval '1 d', now() + interval '1 d', now(), '[]', NULL, NULL),
    ('thumbnails', 'thumbnails', 'asset', '13', 'batch', 'high', 'pending', 0, NULL, NULL, NULL, NULL, NULL, NULL,
     now() + interval '1 d', '[]', NULL, NULL),
    ('transcribe', 'transcribe', 'asset', '13', 'default', 'medium', 'queued', 0, NULL, NULL, NULL, NULL, NULL, NULL,
     now(), '[]', NULL, NULL),
    ('asset sync', 'asset_sync', 'plant', '', 'default', 'medium', 'retryable', 2, NULL, NULL, NULL, NULL, NULL, NULL,
     now() + interval '1 d', '[{"attempt": 2, "code": "x", "message": "The other system answered 500."}]', NULL, NULL),
    ('loudness', 'loudness', 'asset', '11', 'batch', 'medium', 'completed', 1, 1, NULL, 'node-a jobs',
     now() - interval '30 s', NULL, NULL, now(), '[]', now() - interval '25 s',
     '{"integrated_lufs": -23.1, "range_lu": 6.2, "true_peak_dbtp": -1.4}'),
    ('proxy', 'proxy', 'asset', '10', 'batch', 'low', 'failed', 1, NULL, NULL, 'node-a jobs',
     now() - interval '60 s', NULL, NULL, now(),
     '[{"attempt": 1, "message": "The recording cannot be decoded: it is not a complete media file."}]',
     now() - interval '59 s', NULL);
"""


def panel_of(window: MainWindow) -> JobsPanel:
    assert window.room is not None
    window.room.panels.reveal("jobs")
    return window.room.jobs


def texts(panel: JobsPanel, view: str) -> list[list[str]]:
    model = panel.models[view]
    return [[model.index(r, c).data() for c in range(model.columnCount())] for r in range(model.rowCount())]


def choose(panel: JobsPanel, view: str, job: str) -> None:
    panel.segments.choose(view)
    name = [row[0 if view == "recurring" else 1] for row in texts(panel, view)]
    panel.tables[view].choose(name.index(job))


async def test_the_queue_says_what_runs_and_waits(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    panel = panel_of(window)
    await connection.execute(SEED)
    await eventually(lambda: len(panel.models["queue"].rows) == 4, within=20)
    rows = texts(panel, "queue")
    assert [row[1] for row in rows] == ["proxy", "thumbnails", "transcribe", "asset sync"]
    assert (
        rows[0][3:5] == ["Running", "62 %"]
        and rows[2][3] == "No worker"
        and rows[3][3].startswith("Retry in")
    )
    assert panel.segments.buttons["queue"].text() == "Queue 4"
    assert window.room is not None and window.room.panels.panels["jobs"].title == "Jobs 4"
    assert (
        "1 worker, 2 of 10 places busy" in panel.footer.full_text
        and "1 active lease" in panel.footer.full_text
    )
    assert "Leader STATION-2" in panel.footer.full_text


async def test_history_and_recurring_say_results_and_reasons(
    window: MainWindow, connection: Connection, eventually: Eventually
) -> None:
    panel = panel_of(window)
    await connection.execute(SEED)
    await eventually(lambda: len(panel.models["history"].rows) == 2, within=20)
    done, failed = texts(panel, "history")
    assert done[3] == "Done" and "-23.1 LUFS" in done[6] and done[4] == "5.0 s"
    assert failed[3] == "Failed" and "cannot be decoded" in failed[6]
    recurring = {row[0]: row for row in texts(panel, "recurring")}
    assert recurring["as-run export"][2].startswith("in ") and "00:15" in recurring["as-run export"][1]
    assert recurring["checksums"][2] == "DISABLED" and "61" in recurring["checksums"][1]


async def test_buttons_do_it_and_say_why_not(
    window: MainWindow, connection: Connection, eventually: Eventually, qtbot: QtBot
) -> None:
    panel = panel_of(window)
    await connection.execute(SEED)
    await eventually(lambda: len(panel.models["queue"].rows) == 4, within=20)
    cancel, retry = panel.buttons["jobs.cancel"], panel.buttons["jobs.retry"]
    assert not cancel.isEnabled() and "Select a line first." in cancel.toolTip()
    choose(panel, "queue", "proxy")
    assert cancel.isEnabled() and not retry.isEnabled()
    qtbot.mouseClick(cancel, Qt.MouseButton.LeftButton)
    await eventually(lambda: len(panel.models["history"].rows) == 3, within=20)
    assert await connection.fetchval("SELECT status FROM job_runs WHERE scope_id = '12'") == "cancelled"
    panel.segments.choose("history")
    row = next(i for i, r in enumerate(panel.models["history"].rows) if r.scope_id == "12")
    panel.tables["history"].choose(row)
    assert retry.isEnabled() and not cancel.isVisible()
    qtbot.mouseClick(retry, Qt.MouseButton.LeftButton)
    await eventually(lambda: any(r.scope_id == "12" for r in panel.models["queue"].rows), within=20)
    choose(panel, "recurring", "as-run export")
    qtbot.mouseClick(panel.buttons["jobs.run"], Qt.MouseButton.LeftButton)
    await eventually(lambda: any(r.handler == "as_run_export" for r in panel.models["queue"].rows), within=20)


async def test_a_refusal_is_a_sentence_in_the_window(
    window: MainWindow, connection: Connection, eventually: Eventually, qtbot: QtBot
) -> None:
    panel = panel_of(window)
    await connection.execute(SEED)
    await eventually(lambda: len(panel.models["recurring"].rows) == 3, within=20)
    said: list[str] = []
    assert window.room is not None
    window.room.session.message.connect(lambda message: said.append(message.text))
    choose(panel, "recurring", "storage cleanup")
    run, toggle = panel.buttons["jobs.run"], panel.buttons["jobs.enable"]
    assert not run.isEnabled() and "disabled" in run.toolTip() and toggle.text() == "Enable"
    qtbot.mouseClick(toggle, Qt.MouseButton.LeftButton)
    await eventually(lambda: toggle.text() == "Disable" and run.isEnabled(), within=20)
    qtbot.mouseClick(run, Qt.MouseButton.LeftButton)
    await eventually(lambda: any("No worker that knows storage_cleanup" in s for s in said), within=20)


async def test_an_old_picture_disables_what_cannot_work(
    window: MainWindow, connection: Connection, eventually: Eventually, outage: Outage
) -> None:
    panel = panel_of(window)
    await connection.execute(SEED)
    await eventually(lambda: len(panel.models["queue"].rows) == 4, within=20)
    choose(panel, "queue", "proxy")
    await outage.begin()
    await eventually(lambda: not panel.buttons["jobs.cancel"].isEnabled(), within=20)
    assert "database" in panel.buttons["jobs.cancel"].toolTip() and panel.tables["queue"].old
    assert len(panel.models["queue"].rows) == 4
