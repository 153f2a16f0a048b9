"""Processes that outlive their agent, at the worst moments, and agents started as processes."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from core.agent import process
from core.agent.errors import AgentError
from core.agent.launch import find_agent, launch_agent, stop_agent
from tests.core.agent.conftest import TOKEN, Rig

STUBBORN = """
import signal, time
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
print("up", flush=True)
time.sleep(60)
"""
UNBORN = {"pid": None, "phase": "starting", "began_at": None}


def change_state(rig: Rig, **changes: object) -> dict[str, Any]:
    """Puts the session back to where an agent that died at another moment would have left it."""
    (path,) = (rig.home / "agent" / "sessions").glob("*/session.json")
    state: dict[str, Any] = json.loads(path.read_text())
    path.write_text(json.dumps(state | changes))
    return state


def remove_traces(rig: Rig, state: dict[str, Any]) -> None:
    Path(state["path"]).unlink()
    (rig.home / "agent" / "sessions" / state["id"] / "ffmpeg.log").unlink()


async def test_an_agent_that_died_before_writing_the_process_down_finds_it(rig: Rig) -> None:
    await rig.recorder("REC-1")
    session = await rig.record("REC-1", "9:1")
    await rig.stop_agent()
    change_state(rig, **UNBORN)
    await rig.start_agent()
    assert await rig.record("REC-1", "9:1") == session
    assert len(rig.ffmpegs()) == 1
    assert (await rig.stop("REC-1", session)).body["readable"]


async def test_an_agent_that_died_before_the_process_existed_starts_it_when_asked_again(rig: Rig) -> None:
    await rig.recorder("REC-1")
    first = await rig.record("REC-1", "9:1")
    await rig.stop_agent()
    rig.ffmpegs()[0].kill()
    remove_traces(rig, change_state(rig, **UNBORN))
    await rig.start_agent()
    assert (await rig.state("REC-1"))["status"] == "idle"
    assert await rig.record("REC-1", "9:1") != first
    assert len(rig.ffmpegs()) == 1


async def test_an_agent_that_died_while_stopping_finishes_the_stop(rig: Rig) -> None:
    await rig.recorder("REC-1")
    session = await rig.record("REC-1")
    await asyncio.sleep(0.5)
    await rig.stop_agent()
    change_state(rig, phase="stopping", stopped_by_us=True, recorded_s=0.5, ended_at=1)
    await rig.start_agent()
    answer = await rig.stop("REC-1", session)
    assert answer.status == 200 and answer.body["stopped_by_us"] and answer.body["readable"]
    assert rig.ffmpegs() == []


async def test_a_number_that_came_round_again_is_not_ours(rig: Rig) -> None:
    await rig.recorder("REC-1")
    session = await rig.record("REC-1")
    await asyncio.sleep(1.2)
    await rig.stop_agent()
    rig.ffmpegs()[0].kill()
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(60)")
    try:
        change_state(rig, pid=other.pid)
        await rig.start_agent()
        assert (await rig.state("REC-1"))["status"] == "idle"
        answer = await rig.stop("REC-1", session)
        assert answer.status == 200 and answer.body["stopped_by_us"] is False
        assert other.returncode is None, "a stranger was ended"
    finally:
        other.kill()
        await other.wait()


async def test_a_session_that_cannot_be_read_stops_nobody(rig: Rig) -> None:
    broken = rig.home / "agent" / "sessions" / "x"
    broken.mkdir(parents=True)
    (broken / "session.json").write_text('{"id": ')
    await rig.stop_agent()
    await rig.start_agent()
    await rig.recorder("REC-1")
    await rig.record("REC-1")


async def test_a_process_that_does_not_listen_is_ended_by_force(tmp_path: Path) -> None:
    started = process.spawn([sys.executable, "-c", STUBBORN], tmp_path / "log")
    while b"up" not in (tmp_path / "log").read_bytes():
        assert started.running()
        await asyncio.sleep(0.01)
    assert await process.end(started, (0.1, 0.1, 5.0))
    assert started.exit_code == -signal.SIGKILL and not started.running()


async def test_a_process_is_found_by_its_arguments_alone(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", "import time; time.sleep(60)", str(tmp_path)]
    started = process.spawn(argv, tmp_path / "log")
    try:
        found = process.find(started.pid, argv)
        assert found is not None and found.running()
        assert process.find(started.pid, [*argv, "x"]) is None
        assert process.find(None, argv) is None
        searched = process.search(argv)
        assert searched is not None and searched.pid == started.pid
    finally:
        waiting = asyncio.create_task(started.wait())
        await asyncio.sleep(0.05)
        began = asyncio.get_running_loop().time()
        started.kill()
        assert await waiting == -signal.SIGKILL
        assert asyncio.get_running_loop().time() - began < 0.5
    assert process.find(started.pid, argv) is None


async def test_an_agent_is_launched_found_again_and_stopped(rig: Rig) -> None:
    await rig.stop_agent()
    home, program = rig.home / "launched", [sys.executable, "-m", "core.agent"]
    launched = await asyncio.to_thread(launch_agent, "NODE-1", rig.url, TOKEN, home, rig.media, program)
    try:
        assert find_agent(home) == launched
        again = await asyncio.to_thread(launch_agent, "NODE-1", rig.url, TOKEN, home, rig.media, program)
        assert again == launched
        rig.base = launched.base_url
        assert (await rig.call("GET", "/health")).body["node"] == "NODE-1"
        line = (Path("/proc") / str(launched.pid) / "cmdline").read_bytes()
        assert TOKEN.encode() not in line and b"postgresql://" not in line
    finally:
        assert await asyncio.to_thread(stop_agent, home)
    assert find_agent(home) is None
    assert await rig.connection.fetchval("SELECT status FROM nodes") == "offline"
    assert await asyncio.to_thread(stop_agent, home), "stopping what does not run is no error"


async def test_an_agent_that_cannot_start_says_why(rig: Rig) -> None:
    program = [sys.executable, "-m", "core.agent"]
    with pytest.raises(AgentError, match=r"ended as it started: .*AIRLOCK_TOKEN"):
        await asyncio.to_thread(launch_agent, "NODE-9", rig.url, "", rig.home / "nine", rig.media, program)
