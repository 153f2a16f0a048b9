"""`/metrics` over real HTTP: every figure that the specification names, also when the database is away."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from core import passes
from core.agent import metrics as agent_metrics
from core.db.database import Connection
from core.errors import DatabaseLost
from core.jobs import store
from core.jobs.lane import JobsLane
from core.jobs.registry import Registry
from core.metrics import StationMetrics
from core.station import Identity, Station
from tests.patience import Patience, patiently

DASHBOARD = Path(__file__).parents[2] / "resources" / "grafana" / "airlock.json"


@pytest.fixture
async def station(plant: str) -> AsyncIterator[Station]:
    made = Station(plant, Identity("ALPHA", "headless", "kim"), [JobsLane(Registry(), timedelta(seconds=1))])
    await made.start()
    await patiently(
        lambda: made.leading and made.feed.state.live and made.model.leader is not None, within=20
    )
    yield made
    await made.stop()


@pytest.fixture
async def metrics(station: Station) -> AsyncIterator[StationMetrics]:
    made = StationMetrics(station)
    assert await made.serve(0)
    yield made
    await made.close()


async def scrape(metrics: StationMetrics) -> dict[tuple[str, str], float]:
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"http://127.0.0.1:{metrics.port}/metrics") as answer,
    ):
        assert answer.status == 200 and answer.content_type == "text/plain"
        text = await answer.text()
    return {
        (sample.name, ",".join(v for _, v in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_every_figure(
    station: Station, metrics: StationMetrics, connection: Connection, recorder: int, channel: int
) -> None:
    await scrape(metrics)  # what was before is not counted
    window = await connection.fetchval(
        "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) "
        "VALUES ('News', $1, now() + interval '1 h', now() + interval '2 h') RETURNING id", recorder,
    )  # fmt: skip
    await connection.execute(
        "INSERT INTO recorder_attempts (schedule_id, attempt, operation, lateness_ms, outcome) "
        "VALUES ($1, 1, 'start', 3, 'done')", window,
    )  # fmt: skip
    await connection.execute(
        "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, status, stopped_at) "
        "SELECT 'Done', $1, e - interval '1 h', e, 'completed', e + interval '700 ms' "
        "FROM (SELECT now() - interval '1 h' AS e) x", recorder,
    )  # fmt: skip
    await store.enqueue(connection, "work", [{}] * 3, queue="live", priority="high")
    await connection.execute(
        "UPDATE playout_channels SET misses = 2, restart_count = 4 WHERE id = $1", channel
    )
    await connection.execute(
        "INSERT INTO alarms (key, priority, source_kind, source_name, message) VALUES ('x', 'high', 'job', 'x', 'x')"
    )
    patience = Patience(20)
    while (found := await scrape(metrics)).get(("airlock_probe_misses", "ONE")) != 2 or len(
        station.model.windows
    ) < 2:
        assert not patience.over()
    found = await scrape(metrics)
    assert found["airlock_leader", ""] == 1 and found["airlock_epoch", ""] >= 1
    assert found["airlock_sweeps_total", "jobs"] >= 1 and ("airlock_sweep_last_seconds", "jobs") in found
    assert found["airlock_start_lateness_seconds_bucket", "0.0025"] == 0
    assert found["airlock_start_lateness_seconds_bucket", "0.005"] == 1
    assert found["airlock_stop_lateness_seconds_sum", ""] == pytest.approx(0.7)
    assert found["airlock_failovers_total", "ONE"] == 4
    assert found["airlock_queue_length", "high,live"] == 3
    assert sum(v for (name, _), v in found.items() if name == "airlock_runs") == 3
    assert found["airlock_active_leases", ""] == 0
    assert any(name == "airlock_alarms" for name, _ in found)
    assert ("airlock_event_loop_lag_seconds_count", "") in found
    assert found["airlock_windows", "pending"] == 1


async def test_without_the_database_it_still_answers(
    station: Station, metrics: StationMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> None:
        raise DatabaseLost("gone")

    monkeypatch.setattr(station.database, "acquire", gone)
    assert ("airlock_leader", "") in await scrape(metrics)


async def test_a_port_that_is_taken_costs_nothing_but_the_figures(
    station: Station, metrics: StationMetrics
) -> None:
    second = StationMetrics(station)
    assert not await second.serve(metrics.port)


def test_the_dashboard_asks_for_figures_that_exist() -> None:
    text = (Path(agent_metrics.__file__).parents[1] / "metrics.py").read_text() + Path(
        agent_metrics.__file__
    ).read_text()
    dashboard = json.loads(DASHBOARD.read_text())
    asked = [t["expr"] for panel in dashboard["panels"] for t in panel.get("targets", [])]
    assert len(asked) >= 10
    for name in {n for e in asked for n in re.findall(r"airlock_[a-z_]+", e)}:
        plain = re.sub(r"_(total|bucket|sum|count)$", "", name)
        assert any(
            p in text
            for p in (plain, re.sub("_(start|stop)_", "_{what}_", plain), plain.replace("free", "{fact}"))
        ), name


def test_an_agent_s_figures() -> None:
    said = agent_metrics.text(
        {"database": True, "recorders": {"r1": "idle"}, "spawn_ms": {"r1": 4.0}, "jobs": 12,
         "volumes": [{"path": "/media", "total": 10, "free": 4}]}
    ).decode()  # fmt: skip
    assert 'airlock_agent_recorder{recorder="r1",status="idle"} 1.0' in said
    assert (
        'airlock_agent_volume_free_bytes{path="/media"} 4.0' in said
        and "airlock_agent_job_worker 1.0" in said
    )


def test_passes_are_counted() -> None:
    noted = passes.Passes()
    noted.note(0.5, datetime.now(UTC))
    assert (noted.count, noted.seconds, noted.last_s) == (1, 0.5, 0.5)
