"""Signal faults as alarms, live sources, a source that is not there, and a database that is away."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg
import pytest

from core.agent.agent import run_agent
from tests.core.agent.conftest import FFMPEG, QUICK, Rig, duration_of, frame_numbers, has_no_gap, until


async def alarm(rig: Rig, key: str) -> Any:
    return await rig.connection.fetchrow("SELECT * FROM alarms WHERE key = $1 ORDER BY id DESC LIMIT 1", key)


async def test_black_silence_freeze_and_a_stalled_file_are_alarmed_and_cleared(rig: Rig) -> None:
    wanted = {
        "black": "test:black",
        "silence": "test:silent",
        "freeze": "test:freeze",
        "stalled": "test:motion",
    }
    ids = {fault: await rig.recorder(fault, source, **QUICK) for fault, source in wanted.items()}
    ids["good"] = await rig.recorder("good", "test:bars", **QUICK)
    sessions = dict(zip(ids, await asyncio.gather(*(rig.record(name) for name in ids)), strict=True))
    (moving,) = [p for p in rig.ffmpegs() if sessions["stalled"] in " ".join(p.cmdline())]
    moving.suspend()
    for fault in wanted:

        async def raised(fault: str = fault) -> Any:
            found = await alarm(rig, f"recorder:{ids[fault]}:{fault}")
            return found if found is not None and found["cleared_at"] is None else None

        found = await until(raised, within=6, what=f"the alarm {fault}")
        assert found["source_id"] == ids[fault] and found["source_kind"] == "recorder" and found["action"]
        assert fault in (await rig.row(fault))["signal"]["faults"]
        assert fault in (await rig.state(fault))["faults"]
    moving.resume()

    async def grows_again() -> bool:
        return (await alarm(rig, f"recorder:{ids['stalled']}:stalled"))["cleared_at"] is not None

    await until(grows_again, within=4)
    assert (await rig.row("good"))["signal"] == {"faults": []}
    assert await rig.connection.fetchval("SELECT count(*) FROM alarms WHERE source_id = $1", ids["good"]) == 0
    # A restarted agent reads the same faults from the log and raises nothing twice.
    await rig.stop_agent()
    await rig.start_agent()
    await until(lambda: _has_fault(rig, "black"))
    assert (await alarm(rig, f"recorder:{ids['black']}:black"))["count"] == 1
    await asyncio.gather(*(rig.stop(name, session) for name, session in sessions.items()))
    for fault in wanted:

        async def cleared(fault: str = fault) -> bool:
            return (await alarm(rig, f"recorder:{ids[fault]}:{fault}"))["cleared_at"] is not None

        await until(cleared, within=3, what=f"{fault} clears at the end")


async def _has_fault(rig: Rig, name: str) -> bool:
    return name in (await rig.state(name))["faults"] and name in (await rig.row(name))["signal"]["faults"]


@contextmanager
def sender(*output: str) -> Iterator[None]:
    """A second ffmpeg that sends colour bars with a tone."""
    process = subprocess.Popen(
        [FFMPEG, "-nostdin", "-loglevel", "quiet", "-re", "-f", "lavfi", "-i", "smptebars=s=640x360:r=25",
         "-re", "-f", "lavfi", "-i", "sine=1000", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25",
         "-c:a", "aac", "-f", *output],
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        process.kill()
        process.wait()


async def test_live_sources_are_recorded(rig: Rig, unused_udp_port_factory: Any) -> None:
    srt, udp, rtp = (unused_udp_port_factory() for _ in range(3))
    await rig.recorder("srt", f"srt://127.0.0.1:{srt}", video="copy", audio="copy", container="ts")
    await rig.recorder("udp", f"udp://127.0.0.1:{udp}", video="copy")
    await rig.recorder("rtp", f"rtp://127.0.0.1:{rtp}", height=180, container="mkv")
    with (
        sender("mpegts", f"srt://127.0.0.1:{srt}?mode=listener"),
        sender("mpegts", f"udp://127.0.0.1:{udp}?pkt_size=1316"),
        sender("rtp_mpegts", f"rtp://127.0.0.1:{rtp}"),
    ):
        names = ("srt", "udp", "rtp")
        sessions = await asyncio.gather(*(rig.record(name) for name in names))
        await asyncio.sleep(2)
        proofs = await asyncio.gather(*(rig.stop(n, s) for n, s in zip(names, sessions, strict=True)))
    for answer in proofs:
        assert answer.status == 200 and answer.body["covers"], answer.body
        assert duration_of(answer.body["path"]) >= 2


async def test_a_source_that_is_not_there_is_a_sentence_in_time(
    rig: Rig, unused_udp_port_factory: Any
) -> None:
    wanted = {
        "srt": "The source did not answer: nothing sends at that address.",
        "udp": "The source could not be read: nothing arrived.",
    }
    for name in wanted:
        await rig.recorder(name, f"{name}://127.0.0.1:{unused_udp_port_factory()}")

    async def look(name: str, sentence: str) -> None:
        began = time.monotonic()
        answer = await rig.start(name)
        assert (answer.status, answer.body["error"]) == (502, sentence)
        assert time.monotonic() - began <= 10.5
        assert (await rig.state(name))["status"] == "idle"

    await asyncio.gather(*(look(*item) for item in wanted.items()))
    findings = await rig.call("POST", "/api/v1/recorders/srt/preflight", {"duration_s": 60})
    assert findings.body["problems"] == [f"Source: {wanted['srt']}"]
    assert rig.ffmpegs() == [] and not [f for f in rig.media.rglob("*") if f.is_file()]


async def test_preflight_and_probe_of_a_good_source(rig: Rig) -> None:
    await rig.recorder("REC-1")
    findings = (await rig.call("POST", "/api/v1/recorders/REC-1/preflight", {"duration_s": 60})).body
    assert findings["ok"] and findings["problems"] == [] and findings["needed"] > 0
    assert any(s.startswith("Video:") for s in findings["streams"])
    huge = await rig.call(
        "POST", "/api/v1/recorders/REC-1/preflight", {"duration_s": 600_000, "source": "file:x.ts"}
    )
    assert "There is no file x.ts in the media folder." in huge.body["problems"]
    assert any("GB free" in p for p in huge.body["problems"]) == (
        huge.body["needed"] + 2**30 > huge.body["free"]
    )
    probe = await rig.call("POST", "/api/v1/probe", {"source": "test:clock"})
    assert probe.body["ok"] and len(probe.body["streams"]) == 2


async def test_a_target_that_cannot_be_written_is_a_sentence(rig: Rig) -> None:
    await rig.recorder("REC-1")
    (rig.media / "recordings").write_text("a file where a folder should be")
    answer = await rig.start("REC-1")
    assert answer.status == 502 and "could not be started" in answer.body["error"]
    findings = await rig.call("POST", "/api/v1/recorders/REC-1/preflight", {})
    assert any("cannot be written" in p for p in findings.body["problems"])
    assert (await rig.state("REC-1"))["status"] == "idle"


@pytest.mark.parametrize(
    "settings", [{"container": "avi"}, {"height": "tall"}, {"video": "copy", "height": 200}]
)
async def test_settings_that_cannot_be_used_are_a_sentence(rig: Rig, settings: dict[str, Any]) -> None:
    await rig.recorder("REC-1", **settings)
    answer = await rig.start("REC-1")
    assert answer.status == 502 and "ecorder" in answer.body["error"]
    assert rig.ffmpegs() == []


async def test_recording_goes_on_while_the_database_is_away(rig: Rig, server: str) -> None:
    await rig.recorder("REC-1")
    await rig.recorder("REC-2")
    first = await rig.record("REC-1", "1:1")
    await until(lambda: rig.asset(first))
    name = await rig.connection.fetchval("SELECT current_database()")
    admin = await asyncpg.connect(server)
    await admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    await admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = $1 AND application_name LIKE 'airlock agent%'",
        name,
    )

    async def unconnected() -> bool:
        return (await rig.call("GET", "/health")).body["database"] is False

    await until(unconnected)
    # Another start, a stop and even a restart of the agent work from what is known.
    second = await rig.record("REC-2", "2:1")
    await asyncio.sleep(1)
    stopped = await rig.stop("REC-1", first)
    assert stopped.status == 200 and stopped.body["covers"]
    assert rig._stop is not None and rig._task is not None
    rig._stop.set()
    await rig._task
    rig._stop = asyncio.Event()
    rig._task = asyncio.create_task(_agent_again(rig))

    async def answers() -> bool:
        try:
            return (await rig.state("REC-2"))["current_session_id"] == second
        except OSError:
            return False

    await until(answers)
    assert await rig.asset(second) is None
    await admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    await admin.close()

    async def caught_up() -> bool:
        one, two = await rig.asset(first), await rig.asset(second)
        return (
            one["status"] == "ready" and two is not None and two["status"] == "live" and two["size_bytes"] > 0
        )

    await until(caught_up, within=8)
    assert (await rig.row("REC-2"))["current_session_id"] == second
    answer = await rig.stop("REC-2", second)
    assert has_no_gap(frame_numbers(answer.body["path"]))


async def _agent_again(rig: Rig) -> None:
    assert rig._stop is not None
    await run_agent(rig.settings, rig._stop)


async def test_heartbeats_are_quiet_and_a_removed_node_comes_back(rig: Rig) -> None:
    before = await rig.connection.fetchrow("SELECT * FROM nodes")
    assert before["status"] == "online" and "srt" in before["capabilities"]
    assert before["volumes"][0]["path"] == str(rig.media) and before["volumes"][0]["free"] > 0

    async def beat() -> Any:
        now = await rig.connection.fetchrow("SELECT * FROM nodes")
        return now if now["last_heartbeat_at"] > before["last_heartbeat_at"] else None

    assert (await until(beat, within=3))["changed_xid"] == before["changed_xid"]
    await rig.connection.execute("DELETE FROM nodes")
    await until(lambda: rig.connection.fetchval("SELECT true FROM nodes WHERE status = 'online'"), within=4)
    await rig.connection.execute("UPDATE nodes SET status = 'offline'")
    await until(lambda: rig.connection.fetchval("SELECT true FROM nodes WHERE status = 'online'"), within=4)
