"""`/metrics` of a station, in Prometheus' text form, on the loopback address alone.

Most figures are read at the moment they are asked for: from the read model, which every station has, and from a few
questions to the database. A scrape that the database does not answer shows what is known without it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime

import asyncpg
from aiohttp import web
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client import Counter as Total
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from core import passes
from core.clock import steady
from core.db.queries import beside
from core.errors import DatabaseLost
from core.jobs import store as jobs
from core.read_model import Changes
from core.station import Station

log = logging.getLogger(__name__)
SQL = beside(__file__, "metrics.sql")
CONTENT_TYPE = "text/plain; version=0.0.4"
HOST = "127.0.0.1"
PORT = 9464  # where a headless station serves unless it is told otherwise
LATENESS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 120)
LAG = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
LOOK = 0.25
LIMIT = 2.0  # seconds that a scrape waits for the database
PAGE = 2000


class StationMetrics(Collector):
    def __init__(self, station: Station) -> None:
        self._station = station
        self.registry = CollectorRegistry()
        self._start = self._lateness("start", "From a window's start to its request")
        self._stop = self._lateness("stop", "From a window's end until it was stopped")
        self._attempts = Total(
            "airlock_recorder_operations",
            "Starts and stops tried",
            ["operation", "outcome"],
            registry=self.registry,
        )
        self._lag = Histogram(
            "airlock_event_loop_lag_seconds",
            "How late the event loop wakes",
            buckets=LAG,
            registry=self.registry,
        )
        self._seen: int | None = None
        self._runs: dict[tuple[str, str, str], int] = {}
        self._over: dict[str, int] = {}
        self._workers: list[asyncpg.Record] = []
        self._stopped: set[int] = set()
        self._unsubscribe: Callable[[], None] = lambda: None
        self._tasks: list[asyncio.Task[None]] = []
        self._runner: web.AppRunner | None = None
        self.registry.register(self)

    def _lateness(self, what: str, help: str) -> Histogram:
        return Histogram(f"airlock_{what}_lateness_seconds", help, buckets=LATENESS, registry=self.registry)

    async def serve(self, port: int) -> bool:
        """Says whether it could: figures are not worth a station."""
        app = web.Application()
        app.router.add_get("/metrics", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, HOST, port).start()
        except OSError as error:
            log.warning("/metrics cannot be served on port %d: %s.", port, error.strerror or error)
            await self.close()
            return False
        await self.text()  # lateness is counted from now on
        self._stopped = {w.id for w in self._station.model.windows.values() if w.stopped_at is not None}
        self._unsubscribe = self._station.model.subscribe(self._changed)
        self._tasks = [asyncio.create_task(self._watch_loop(), name="loop lag")]
        log.info("/metrics is served on http://%s:%d/metrics", HOST, self.port)
        return True

    @property
    def port(self) -> int:
        assert self._runner is not None
        chosen: int = self._runner.addresses[0][1]
        return chosen

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._unsubscribe()
        self._unsubscribe = lambda: None
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        return web.Response(body=await self.text(), headers={"Content-Type": CONTENT_TYPE})

    async def text(self) -> bytes:
        try:
            async with asyncio.timeout(LIMIT):
                await self._ask()
        except (DatabaseLost, asyncpg.PostgresError, TimeoutError) as error:
            log.info("/metrics without the database: %s", error)
        return generate_latest(self.registry)

    async def _ask(self) -> None:
        async with self._station.database.acquire() as connection:
            self._runs = await jobs.waiting(connection)
            self._over = await jobs.finished_lately(connection)
            self._workers = list(await connection.fetch(SQL.workers))
            if self._seen is None:  # from now on: what was before belongs to whoever looked then
                self._seen = await connection.fetchval(SQL.newest_attempt)
            while rows := await connection.fetch(SQL.attempts, self._seen, PAGE):
                for row in rows:
                    self._attempts.labels(row["operation"], row["outcome"]).inc()
                    if row["lateness_ms"] is not None and row["operation"] == "start":
                        self._start.observe(row["lateness_ms"] / 1000)
                self._seen = rows[-1]["id"]

    def _changed(self, changes: Changes) -> None:
        for window_id in changes.get("recorder_schedules", frozenset()) - self._stopped:
            window = self._station.model.windows.get(window_id)
            if window is not None and window.status == "completed" and window.stopped_at is not None:
                self._stopped.add(window_id)
                self._stop.observe(max(0.0, (window.stopped_at - window.end_at).total_seconds()))
        self._stopped &= self._station.model.windows.keys()

    async def _watch_loop(self) -> None:
        while True:
            began = steady()
            await asyncio.sleep(LOOK)
            self._lag.observe(max(0.0, steady() - began - LOOK))

    # -- what is read at the moment it is asked for ------------------------------------------------

    def collect(self) -> Iterator[Metric]:
        yield from self._leadership()
        yield from self._plant(self._station.clock.now())
        yield from self._jobs()

    def _leadership(self) -> Iterator[Metric]:
        station, lead = self._station, self._station.leadership.lead
        yield GaugeMetricFamily("airlock_leader", "1 where this station leads", value=float(lead is not None))
        newest = station.model.leader
        yield GaugeMetricFamily("airlock_epoch", "The newest epoch", value=newest.epoch if newest else 0)
        yield GaugeMetricFamily(
            "airlock_picture_live", "1 while the picture is true", value=float(station.feed.state.live)
        )
        yield GaugeMetricFamily(
            "airlock_clock_offset_seconds", "This machine's clock beside the database's",
            value=station.clock.workstation_offset,
        )  # fmt: skip
        taken = GaugeMetricFamily("airlock_sweep_last_seconds", "The last pass of a lane", labels=["lane"])
        count = CounterMetricFamily("airlock_sweeps", "Passes of a lane", labels=["lane"])
        total = CounterMetricFamily("airlock_sweep_seconds", "Time in passes of a lane", labels=["lane"])
        for lane, noted in passes.LANES.items():
            taken.add_metric([lane], noted.last_s or 0.0)
            count.add_metric([lane], noted.count)
            total.add_metric([lane], noted.seconds)
        yield from (taken, count, total)

    def _plant(self, now: datetime) -> Iterator[Metric]:
        model = self._station.model
        windows = GaugeMetricFamily("airlock_windows", "Windows within sight", labels=["status"])
        for status, number in sorted(Counter(w.status for w in model.windows.values()).items()):
            windows.add_metric([status], number)
        alarms = GaugeMetricFamily("airlock_alarms", "Alarms that are open", labels=["priority", "state"])
        for (priority, state), number in sorted(
            Counter((a.priority, a.state) for a in model.alarms.values() if a.open).items()
        ):
            alarms.add_metric([priority, state], number)
        yield from (windows, alarms)
        age = GaugeMetricFamily(
            "airlock_probe_age_seconds", "Since a channel last answered", labels=["channel"]
        )
        took = GaugeMetricFamily("airlock_probe_seconds", "The last answered probe", labels=["channel"])
        misses = GaugeMetricFamily("airlock_probe_misses", "Probes missed in a row", labels=["channel"])
        failovers = CounterMetricFamily(
            "airlock_failovers", "Times a channel was placed again", labels=["channel"]
        )
        up = GaugeMetricFamily("airlock_channel_on_air", "1 while a channel is on air", labels=["channel"])
        for channel in model.channels.values():
            up.add_metric([channel.name], float(channel.on_air))
            misses.add_metric([channel.name], channel.misses)
            failovers.add_metric([channel.name], channel.restart_count)
            if channel.last_heartbeat_at is not None:
                age.add_metric([channel.name], max(0.0, (now - channel.last_heartbeat_at).total_seconds()))
            if channel.heartbeat_ms is not None:
                took.add_metric([channel.name], channel.heartbeat_ms / 1000)
        yield from (age, took, misses, failovers, up)

    def _jobs(self) -> Iterator[Metric]:
        queue = GaugeMetricFamily(
            "airlock_queue_length", "Runs that wait for a worker", labels=["queue", "priority"]
        )
        waiting: Counter[tuple[str, str]] = Counter()
        states: Counter[str] = Counter()
        for (name, priority, status), number in self._runs.items():
            states[status] += number
            if status in ("pending", "queued"):
                waiting[name, priority] += number
        for (name, priority), number in sorted(waiting.items()):
            queue.add_metric([name, priority], number)
        runs = GaugeMetricFamily(
            "airlock_runs", "Runs by state; those over, of the last hour", labels=["status"]
        )
        for status, number in sorted((states + Counter(self._over)).items()):
            runs.add_metric([status], number)
        yield from (queue, runs)
        yield GaugeMetricFamily("airlock_active_leases", "Runs that a worker holds", value=states["running"])
        busy = GaugeMetricFamily("airlock_worker_running", "Runs in a worker's hand", labels=["worker"])
        for row in self._workers:
            busy.add_metric([row["name"]], row["running"])
        yield busy
