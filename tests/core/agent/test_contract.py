"""The recorder contract over HTTP: who may ask, what is asked twice, and whose session it is."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from pathlib import Path

import pytest

from tests.core.agent.conftest import TOKEN, Rig, until

START = "/api/v1/recorders/REC-1/start"


async def test_without_the_token_nothing_happens(rig: Rig) -> None:
    await rig.recorder("REC-1")
    paths = [("GET", "/health"), ("GET", "/api/v1/recorders/REC-1"), ("POST", START), ("GET", "/nowhere")]
    paths += [("POST", f"/api/v1/recorders/REC-1/{what}") for what in ("stop", "preflight")]
    paths += [("POST", "/api/v1/probe"), ("GET", "/api/v1/recorders/REC-1/preview.jpg")]
    for token in (None, "", "wrong", TOKEN + "x", TOKEN[:-1], "\u00e9"):
        for method, path in paths:
            answer = await rig.call(method, path, {"window": 1, "attempt": 1}, key="1:1", token=token)
            assert (answer.status, answer.body) == (401, {"error": "The token is missing or wrong."}), path
    assert rig.ffmpegs() == []
    assert not (rig.home / "agent" / "sessions").exists()


async def test_the_token_and_passwords_are_in_no_log_and_no_answer(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await rig.recorder("REC-1", "srt://127.0.0.1:9?passphrase=opensesame")
    answer = await rig.start("REC-1")
    assert answer.status == 502
    await rig.call("GET", "/api/v1/recorders/REC-1")
    await rig.stop_agent()
    assert TOKEN not in caplog.text and "opensesame" not in caplog.text
    assert "opensesame" not in json.dumps(answer.body)


async def test_the_same_key_starts_once(rig: Rig) -> None:
    await rig.recorder("REC-1")
    answers = await asyncio.gather(*(rig.start("REC-1", "5:1", window=5, attempt=1) for _ in range(8)))
    sessions = {a.body["current_session_id"] for a in answers}
    assert [a.status for a in answers] == [200] * 8 and len(sessions) == 1
    assert len(rig.ffmpegs()) == 1
    session = sessions.pop()
    # Also when the key is made of the window and attempt, after a restart, and after the end.
    assert (await rig.call("POST", START, {"window": 5, "attempt": 1})).body["current_session_id"] == session
    await rig.stop_agent()
    await rig.start_agent()
    assert await rig.record("REC-1", "5:1") == session
    assert len(rig.ffmpegs()) == 1
    assert (await rig.stop("REC-1", session)).status == 200
    again = await rig.start("REC-1", "5:1")
    assert again.status == 200 and again.body["current_session_id"] == session
    assert again.body["session"]["state"] == "ended"
    await rig.stop_agent()
    await rig.start_agent()
    assert await rig.record("REC-1", "5:1") == session
    assert rig.ffmpegs() == []
    assert await rig.record("REC-1", "5:2") != session


async def test_a_busy_recorder_refuses_and_goes_on(rig: Rig) -> None:
    await rig.recorder("REC-1")
    session = await rig.record("REC-1", "1:1", name="News")
    refused = await rig.start("REC-1", "2:1")
    assert refused.status == 409
    assert refused.body == {"error": "REC-1 is recording News already.", "current_session_id": session}
    wrong = await rig.stop("REC-1", "11111111-1111-1111-1111-111111111111")
    assert wrong.status == 409 and wrong.body["current_session_id"] == session
    assert (await rig.state("REC-1"))["current_session_id"] == session
    assert len(rig.ffmpegs()) == 1


async def test_a_late_stop_never_touches_the_next_session(rig: Rig) -> None:
    await rig.recorder("REC-1")
    first = await rig.record("REC-1", "1:1")
    await asyncio.sleep(0.3)
    # Back to back: the start may be asked while the stop is still under way.
    stopping = asyncio.create_task(rig.stop("REC-1", first))
    await asyncio.sleep(0.01)
    second = await rig.record("REC-1", "2:1")
    assert (await stopping).status == 200
    late = await rig.stop("REC-1", first)
    assert (
        late.status == 200 and late.body["session_id"] == first and late.body["current_session_id"] == second
    )
    assert late.body["duration_s"] == (await stopping).body["duration_s"]
    assert (await rig.state("REC-1"))["current_session_id"] == second
    assert len(rig.ffmpegs()) == 1


async def test_many_stops_of_one_session_agree(rig: Rig) -> None:
    await rig.recorder("REC-1")
    session = await rig.record("REC-1")
    answers = await asyncio.gather(*(rig.stop("REC-1", session) for _ in range(5)))
    assert {a.status for a in answers} == {200}
    assert len({a.body["duration_s"] for a in answers}) == 1


NO_KEY = "The request carries no Idempotency-Key, nor a window and attempt to make one of."
MALFORMED = [
    (b"{", "The request is not JSON."),
    (b"[1]", "The request must be a JSON object."),
    (b"\xff\xfe", "The request is not JSON."),
    (b'{"window": "5", "attempt": 1}', "window must be a whole number."),
    (b'{"window": true, "attempt": 1}', "window must be a whole number."),
    (b'{"window": 1e400, "attempt": 1}', "window must be a whole number."),
    (b'{"window": 99999999999999999999, "attempt": 1}', "window must be a whole number."),
    (b'{"window": 5}', NO_KEY),
    (b"", NO_KEY),
    (b'{"window": 5, "attempt": 1, "source": 7}', "source must be a text."),
    (b"[" * 20000, "The request is not JSON."),
]


async def test_malformed_requests_get_a_sentence(rig: Rig) -> None:
    await rig.recorder("REC-1")
    for raw, sentence in MALFORMED:
        answer = await rig.call("POST", START, raw=raw)
        assert (answer.status, answer.body) == (400, {"error": sentence})
    assert rig.ffmpegs() == []


async def test_other_refusals(rig: Rig) -> None:
    await rig.recorder("REC-1")
    assert (await rig.call("POST", START, raw=b" " * 70_000)).status == 413
    assert (await rig.call("POST", "/api/v1/recorders/NOBODY/start", {}, key="1:1")).status == 404
    assert (await rig.call("DELETE", "/api/v1/recorders/REC-1")).status == 405
    assert (await rig.call("GET", "/nowhere")).status == 404
    nameless = await rig.call("POST", "/api/v1/recorders/REC-1/stop", {})
    assert (nameless.status, nameless.body["error"]) == (400, "The request names no session to stop.")
    idle = await rig.stop("REC-1", "22222222-2222-2222-2222-222222222222")
    assert idle.status == 409 and idle.body["current_session_id"] is None
    assert (await rig.call("GET", "/api/v1/recorders/REC-1/preview.jpg")).status == 404
    health = await rig.call("GET", "/health")
    assert health.body["database"] is True and health.body["recorders"] == {"REC-1": "idle"}


ESCAPES = [
    ("concat:/etc/passwd|/etc/hostname", "not allowed"),
    ("file:../../etc/passwd", "outside the media folder"),
    ("file:/etc/passwd", "outside the media folder"),
    ("file:link/hostname", "outside the media folder"),
    ("-i", "minus sign"),
    ("lavfi:color", "not allowed"),
    ("test:bars,drawtext=textfile=/etc/passwd", "no test pattern"),
]


async def test_a_source_outside_the_allow_list_is_refused_when_used(rig: Rig) -> None:
    (rig.media / "link").symlink_to("/etc")
    await rig.recorder("GOOD")
    for number, (source, part) in enumerate([*ESCAPES, ("", "No source is set")]):
        name = f"REC-{number}"
        await rig.recorder(name, source)
        answer = await rig.start(name)
        assert answer.status == 502 and part in answer.body["error"]

        async def told(name: str = name, part: str = part) -> bool:
            return part in ((await rig.row(name))["error_message"] or "")

        await until(told, what="the recorder's row carries the sentence")
    for number, (source, part) in enumerate(ESCAPES):
        overridden = await rig.start("GOOD", f"1:{number}", source=source)
        assert overridden.status == 502 and part in overridden.body["error"]
        probe = await rig.call("POST", "/api/v1/probe", {"source": source})
        assert probe.body.get("ok") is False and part in probe.body["error"]
    assert rig.ffmpegs() == [] and not list(rig.media.rglob("*.mp4"))


async def test_a_recorder_made_a_moment_ago_can_be_started(rig: Rig) -> None:
    for number in range(3):
        await rig.recorder(f"NEW-{number}")
        await rig.record(f"NEW-{number}")


async def test_two_agents_do_not_share_a_folder(rig: Rig) -> None:
    second = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "core.agent", "--node", "NODE-2",
        "--home", str(rig.settings.home), "--media", str(rig.media), "--database", rig.url,
        env={**os.environ, "AIRLOCK_TOKEN": TOKEN}, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, log = await asyncio.wait_for(second.communicate(), 20)
    assert second.returncode == 1 and b"Another agent works in" in log and b"Traceback" not in log


async def test_a_key_that_failed_keeps_its_answer(rig: Rig, tmp_path: Path) -> None:
    await rig.recorder("REC-1", "file:missing.ts")
    first = await rig.start("REC-1", "3:1")
    (rig.media / "missing.ts").write_bytes(b"now it is there")
    assert (await rig.start("REC-1", "3:1")).body == first.body
    assert (await rig.state("REC-1"))["status"] == "idle"
    assert (await rig.start("REC-1", "3:2")).body != first.body
