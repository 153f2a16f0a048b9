"""`/metrics` of an agent, from what it says of its health."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


class _Health(Collector):
    def __init__(self, health: dict[str, Any]) -> None:
        self._health = health

    def collect(self) -> Iterator[Metric]:
        said = self._health
        yield GaugeMetricFamily(
            "airlock_agent_database", "1 while the database answers", value=float(said["database"])
        )
        recorders = GaugeMetricFamily(
            "airlock_agent_recorder", "1 for the state a recorder is in", labels=["recorder", "status"]
        )
        for name, status in said["recorders"].items():
            recorders.add_metric([name, status], 1)
        spawn = GaugeMetricFamily(
            "airlock_agent_spawn_seconds", "The last start of a recording", labels=["recorder"]
        )
        for name, took in said["spawn_ms"].items():
            spawn.add_metric([name], took / 1000)
        yield from (recorders, spawn)
        for fact in ("total", "free"):
            name = f"airlock_agent_volume_{fact}_bytes"
            family = GaugeMetricFamily(name, "The volume that is recorded to", labels=["path"])
            for volume in said["volumes"]:
                family.add_metric([volume["path"]], volume[fact])
            yield family
        yield GaugeMetricFamily(
            "airlock_agent_job_worker", "1 while the job worker runs", value=float(bool(said.get("jobs")))
        )


def text(health: dict[str, Any]) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Health(health))
    return generate_latest(registry)
