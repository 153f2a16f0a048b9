"""Real recordings: every container, read back; what they report while they grow; killed half-way."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tests.core.agent.conftest import Rig, duration_of, frame_numbers, has_no_gap, until


async def test_every_container_is_read_back_with_its_duration(rig: Rig) -> None:
    containers = ("mp4", "ts", "mkv")
    for container in containers:
        await rig.recorder(container, container=container)

    async def one(container: str) -> tuple[dict[str, Any], float, float]:
        """The proof, and the shortest and longest time it may have recorded: a busy machine widens it."""
        asked = time.monotonic()
        session = await rig.record(container)
        began = time.monotonic()
        await asyncio.sleep(3)
        least = time.monotonic() - began
        answer = await rig.stop(container, session)
        assert answer.status == 200, answer.body
        return answer.body, least, time.monotonic() - asked

    for proof, least, most in await asyncio.gather(*map(one, containers)):
        assert proof["readable"] and proof["covers"] and proof["problem"] is None
        assert proof["stopped_by_us"] and proof["exit_code"] == 255
        assert proof["path"].endswith(proof["container"])
        assert least - 0.2 <= proof["duration_s"] <= most + 0.2
        assert duration_of(proof["path"]) == pytest.approx(proof["duration_s"], abs=0.05)
        assert proof["expected_s"] == pytest.approx(proof["duration_s"], abs=0.2 + (most - least))
        assert has_no_gap(frame_numbers(proof["path"]))
        asset = await until(lambda s=proof["session_id"]: _in_state(rig, s, "ready"))
        assert asset["path"] == proof["path"] and asset["container"] == proof["container"]
        assert asset["size_bytes"] == proof["size"] > 0
        assert asset["error_message"] is None
    assert rig.ffmpegs() == []


async def _in_state(rig: Rig, session: str, status: str) -> Any:
    row = await rig.asset(session)
    return row if row is not None and row["status"] == status else None


async def test_growth_picture_and_state_are_reported_while_it_records(rig: Rig) -> None:
    recorder_id = await rig.recorder("REC-1")
    window = await rig.connection.fetchval(
        "INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) "
        "VALUES ('News', $1, now(), now() + interval '1 hour') RETURNING id",
        recorder_id,
    )
    session = await rig.record("REC-1", window=window, attempt=1, name="News")
    live = await until(lambda: _in_state(rig, session, "live"), within=1)
    assert (live["schedule_id"], live["attempt"], live["display_name"]) == (window, 1, "News")
    assert (live["recorder_id"], live["node_id"]) == (recorder_id, rig.node_id)
    row = await rig.row("REC-1")
    assert (row["status"], row["current_session_id"], row["signal"]) == ("recording", session, {"faults": []})
    version = row["changed_xid"]

    async def grown() -> Any:
        now = await rig.asset(session)
        return now if now["size_bytes"] > live["size_bytes"] and now["duration_s"] else None

    grown_row = await until(grown, within=3)
    assert grown_row["changed_xid"] == live["changed_xid"], "growth must wake nobody"
    assert (await rig.row("REC-1"))["changed_xid"] == version

    async def picture() -> bytes | None:
        url = f"{rig.base}/api/v1/recorders/REC-1/preview.jpg"
        async with rig.http.get(url, headers={"x-internal-token": "the plant's secret"}) as response:
            return await response.read() if response.status == 200 else None

    first = await until(picture, within=3)
    assert first[:2] == b"\xff\xd8" and first[-2:] == b"\xff\xd9"

    async def newer() -> bool:
        return await picture() != first

    await until(newer, within=2)
    state = await rig.state("REC-1")
    assert state["status"] == "recording" and state["current_session_id"] == session
    assert state["session"]["size"] > 0 and state["session"]["elapsed_s"] > 0
    assert (await rig.stop("REC-1", session)).status == 200
    assert (await rig.state("REC-1"))["status"] == "idle"
    row = await until(lambda: _idle(rig, "REC-1"))
    assert row["current_session_id"] is None and row["error_message"] is None


async def _idle(rig: Rig, name: str) -> Any:
    row = await rig.row(name)
    return row if row["status"] == "idle" else None


async def test_a_killed_ffmpeg_leaves_a_readable_file_and_is_reported_at_once(rig: Rig) -> None:
    containers = ("mp4", "ts", "mkv")
    for container in containers:
        await rig.recorder(container, container=container)
    asked = time.monotonic()
    sessions = dict(zip(containers, await asyncio.gather(*(rig.record(c) for c in containers)), strict=True))
    began = time.monotonic()
    await asyncio.sleep(2.6)
    heard: dict[str, float] = {}

    def notified(*_: object) -> None:
        heard.setdefault("at", time.monotonic())

    processes = rig.ffmpegs()
    assert len(processes) == 3
    await rig.connection.add_listener("airlock", notified)
    killed = time.monotonic()
    for process in processes:
        process.kill()
    for container, session in sessions.items():
        row = await until(lambda c=container: _idle(rig, c), within=2)
        assert "ended by itself" in row["error_message"] and row["current_session_id"] is None
        asset = await until(lambda s=session: _in_state(rig, s, "ready"), within=3)
        assert "signal 9" in asset["error_message"]
        # The last fragment, a second at most, is what a kill may cost.
        assert killed - began - 1.2 <= duration_of(asset["path"]) <= killed - asked + 0.2
        assert asset["duration_s"] == pytest.approx(duration_of(asset["path"]), abs=0.1)
        assert has_no_gap(frame_numbers(asset["path"]))
        answer = await rig.stop(container, session)
        assert (
            answer.status == 200 and answer.body["stopped_by_us"] is False and answer.body["readable"] is True
        )
    assert heard["at"] - killed < 0.5


async def test_a_recording_survives_the_end_of_its_agent(rig: Rig) -> None:
    await rig.recorder("REC-1")
    session = await rig.record("REC-1")
    await rig.stop_agent()
    assert len(rig.ffmpegs()) == 1
    node = await rig.connection.fetchrow("SELECT status FROM nodes")
    assert node["status"] == "offline"
    before = rig.base
    await rig.start_agent()
    assert rig.base == before, "the port is kept"
    state = await rig.state("REC-1")
    assert state["current_session_id"] == session
    answer = await rig.stop("REC-1", session)
    assert answer.body["readable"] and answer.body["covers"]
    assert has_no_gap(frame_numbers(answer.body["path"]))


async def test_a_killed_agent_leaves_the_recording_running_and_the_next_one_finds_it(rig: Rig) -> None:
    await rig.stop_agent()
    process = await rig.start_agent_process()
    await rig.recorder("REC-1")
    session = await rig.record("REC-1", key="7:1")
    began = time.monotonic()
    await asyncio.sleep(0.7)
    process.kill()
    process.wait()
    running = rig.ffmpegs()
    assert len(running) == 1
    await asyncio.sleep(1.0)
    await rig.start_agent_process()
    state = await rig.state("REC-1")
    assert (state["status"], state["current_session_id"]) == ("recording", session)
    assert await rig.record("REC-1", key="7:1") == session, "the key is remembered over the kill"
    assert [p.pid for p in rig.ffmpegs()] == [running[0].pid]
    live = await rig.asset(session)
    assert live["status"] == "live"
    stopped = time.monotonic()
    answer = await rig.stop("REC-1", session)
    assert answer.body["covers"], answer.body
    numbers = frame_numbers(answer.body["path"])
    assert has_no_gap(numbers)
    assert len(numbers) / 25 >= stopped - began - 0.2


async def test_what_ended_while_no_agent_ran_is_settled_by_the_next(rig: Rig) -> None:
    await rig.recorder("REC-1")
    session = await rig.record("REC-1")
    await asyncio.sleep(1.5)
    await rig.stop_agent()
    rig.ffmpegs()[0].kill()
    await rig.start_agent()
    asset = await until(lambda: _in_state(rig, session, "ready"))
    assert "ended by itself" in asset["error_message"] and asset["duration_s"] > 0.9
    assert (await rig.state("REC-1"))["status"] == "idle"
    answer = await rig.stop("REC-1", session)
    assert answer.status == 200 and answer.body["readable"]
