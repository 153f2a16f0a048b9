"""The agent's job worker: a process of its own that comes back when it dies and leaves with the agent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil

from core.agent import job_worker
from core.agent.job_worker import JobWorker
from core.agent.settings import AgentSettings
from core.db.database import Connection
from tests.patience import Patience, patiently

SEEN = "SELECT count(*) FROM job_workers WHERE left_at IS NULL"


async def seen(connection: Connection, wanted: int) -> None:
    patience = Patience(20)
    while await connection.fetchval(SEEN) != wanted:
        assert not patience.over()
        await asyncio.sleep(0.02)


async def test_it_is_kept_and_leaves(plant: str, connection: Connection, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(job_worker, "LATER", 0.0)
    monkeypatch.setattr(job_worker, "AGAIN", (0.05,))
    keeper = JobWorker(AgentSettings(plant, "n1", "secret", tmp_path, tmp_path, jobs=2))
    keeper.start()
    await seen(connection, 1)
    first = keeper.pid
    assert first is not None
    psutil.Process(first).kill()
    await patiently(lambda: keeper.pid not in (None, first), within=20)
    await seen(connection, 2)  # the first could not say that it left
    second = keeper.pid
    await keeper.stop()
    await seen(connection, 1)
    assert second is not None and not psutil.pid_exists(second)


async def test_a_node_without_jobs_has_no_worker(plant: str, tmp_path: Path) -> None:
    keeper = JobWorker(AgentSettings(plant, "n1", "secret", tmp_path, tmp_path))
    keeper.start()
    assert keeper.pid is None
    await keeper.stop()
