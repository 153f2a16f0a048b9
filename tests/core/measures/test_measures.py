"""Figures of the plant: what counts as late, gaps instead of guesses, and never more than is kept."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from math import isnan
from typing import Any

from core.db.database import Connection
from core.measures import rules
from core.measures.collection import HOUR, STARTS, VOLUMES, Collection
from core.measures.model import Ring, spread
from core.measures.store import queue_depth
from core.playout.model import Channel
from core.read_model import ReadModel
from core.recording.model import Node, Window
from core.station import Station

NOW = datetime(2026, 10, 16, 18, 0, tzinfo=UTC)


def make(kind: Any, **values: Any) -> Any:
    return kind(**{f.name: values.get(f.name) for f in fields(kind)})


def window(id: int = 1, late_ms: float | None = 2.0, *, attempt: int = 1, by_hand: bool = False) -> Window:
    began = None if late_ms is None else NOW + timedelta(milliseconds=late_ms)
    made: Window = make(Window, id=id, start_at=NOW, started_at=began, attempt=attempt, by_hand=by_hand)
    return made


def test_a_ring_keeps_the_last_and_only_so_many() -> None:
    ring = Ring(10)
    for n in range(1000):
        ring.add(n, n * 2)
        assert len(ring) <= 10 and len(ring._at) < 20
    assert list(ring.since(0)[0]) == list(range(990, 1000))
    assert list(ring.since(997.5)[1]) == [1996, 1998]
    assert ring.last == 1998


def test_spread_is_of_measured_values_and_skips_gaps() -> None:
    assert spread([]) is None and spread([float("nan")]) is None
    found = spread([float("nan"), 3, 1, 2, 100])
    assert found is not None and (found.count, found.p50, found.worst) == (4, 2, 100)
    assert spread(range(1, 101)).p99 == 99  # type: ignore[union-attr]


def test_lateness_is_of_first_attempts_by_plan() -> None:
    assert rules.start_lateness(window(late_ms=2.5)) == 2.5
    assert rules.start_lateness(window(late_ms=None)) is None
    assert rules.start_lateness(window(attempt=2)) is None
    assert rules.start_lateness(window(by_hand=True)) is None


def test_old_heartbeats_are_no_news_and_garbled_volumes_no_figures() -> None:
    fresh = make(Channel, status="running", heartbeat_ms=7.0, last_heartbeat_at=NOW - timedelta(seconds=1))
    old = make(Channel, status="running", heartbeat_ms=9.0, last_heartbeat_at=NOW - timedelta(seconds=4))
    off = make(Channel, status="stopped", heartbeat_ms=9.0, last_heartbeat_at=NOW)
    assert rules.latencies([fresh, old, off], NOW) == [7.0]
    nodes = [
        make(Node, name="rec-1", status="online", volumes=[{"path": "/m", "total": 100, "free": 25}]),
        make(Node, name="rec-2", status="online", volumes=[{"path": "/m"}, {"total": 0}, {"total": "x", "free": 1}]),
        make(Node, name="rec-3", status="offline", volumes=[{"path": "/m", "total": 100, "free": 25}]),
    ]  # fmt: skip
    assert rules.disks(nodes) == {"rec-1": 75.0}


def test_a_start_is_counted_once() -> None:
    model = ReadModel()
    model.windows[1] = window(1)
    found = Collection(model)
    assert len(found.starts) == 1, "what started before the page was there counts too"
    assert not found.windows_changed([1])
    model.windows[2] = window(2, 4.0)
    assert found.windows_changed([1, 2]) and len(found.starts) == 2
    del model.windows[2]
    assert not found.windows_changed([2]) and 2 not in found._known_starts


def test_an_old_picture_is_a_gap_and_nothing_grows_without_end() -> None:
    model = ReadModel()
    for n in range(40):
        model.nodes[n] = make(Node, name=f"n{n}", status="online", volumes=[{"total": 10, "free": 5}])
    found = Collection(model)
    found.sample(NOW, "here", 3.0, stale=False)
    found.sample(NOW, "here", 3.0, stale=True)
    assert len(found.disks) == VOLUMES
    assert found.disks["n0"].since(0)[1][0] == 50.0 and isnan(found.disks["n0"].last or 0)
    assert isnan(found.lag["worst of all"].last or 0) and found.lag["this station"].last == 3.0
    for n in range(3 * HOUR):
        found.sample(NOW + timedelta(seconds=2 * n), "here", 1.0, stale=False)
    assert len(found.lag["this station"]) == HOUR and len(found.starts) <= STARTS
    assert len(found.queues["live"]) == 0, "no jobs, no line"
    found.depth({"live": 3})
    found.sample(NOW, "here", 1.0, stale=False)
    assert (found.queues["live"].last, found.queues["batch"].last) == (3.0, 0.0)


async def test_the_queues_are_read_from_the_plant(plant: str, connection: Connection) -> None:
    from tests.gui.shell_fixtures import running_station  # a station as a window has it

    async with running_station(plant) as station:
        assert isinstance(station, Station)
        assert await queue_depth(station.database) == {}
        await connection.execute(
            "INSERT INTO job_runs (job_name, handler, queue, status, scope_id, lease_token) "
            "VALUES ('a', 'x', 'live', 'pending', '1', NULL), ('a', 'x', 'live', 'queued', '2', NULL), "
            "('a', 'x', 'batch', 'running', '3', gen_random_uuid())"
        )
        assert await queue_depth(station.database) == {"live": 2, "batch": 0}
