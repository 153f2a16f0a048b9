"""The agent's channel routes: sidecars started once, ended for good, found again, and their deaths told."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import psutil
import pytest

from core.db.database import Connection
from tests.core.agent.channel_rig import ChannelRig, alive, item, order, refused
from tests.core.agent.conftest import Rig, until


@pytest.fixture
async def node(rig: Rig) -> AsyncIterator[ChannelRig]:
    made = ChannelRig(rig)
    made.clip("red.ts", 4)
    yield made
    await made.close()


@pytest.fixture
def body(node: ChannelRig) -> dict[str, Any]:
    return order([item(1, "red.ts"), item(2, "red.ts")])


async def channel_row(connection: Connection, generation: int) -> int:
    made: int = await connection.fetchval(
        "INSERT INTO playout_channels (name, output_type, output_url, generation) "
        "VALUES ('ONE', 'udp', 'udp://127.0.0.1:9', $1) RETURNING id", generation,
    )  # fmt: skip
    return made


async def test_a_generation_is_started_once_and_a_stopped_one_never_again(
    node: ChannelRig, body: dict[str, Any]
) -> None:
    asked = await asyncio.gather(*(node.start(body) for _ in range(3)))
    assert [a.status for a in asked] == [200] * 3
    assert len({json.dumps(a.body) for a in asked}) == 1
    assert (await node.view())["running"] is True
    assert (await node.stop(1)).status == 200
    assert node.sidecars() == []
    view = await node.view()
    assert view["running"] is False and view["exit"]["generation"] == 1
    late = await node.start(body)
    assert late.status == 409 and late.body["generation"] == 1 and late.body["error"]
    assert (await node.stop(7)).status == 200, "nothing runs: that is what was asked for"
    assert (await node.start(body | {"generation": 7})).status == 409
    assert node.sidecars() == []


async def test_a_higher_generation_ends_the_older_one_even_when_it_hangs(
    node: ChannelRig, body: dict[str, Any]
) -> None:
    first = await node.start(body)
    os.kill(first.body["pid"], signal.SIGSTOP)
    second = await node.start(body | {"generation": 2})
    assert second.status == 200 and second.body["generation"] == 2
    assert alive(first.body["pid"]) is None
    assert (await node.start(body)).status == 409
    assert [p.pid for p in node.sidecars()] == [second.body["pid"]]


async def test_a_stop_that_comes_during_the_start_wins(node: ChannelRig, body: dict[str, Any]) -> None:
    await asyncio.gather(node.start(body), node.stop(1), node.start(body), node.stop(1))
    assert node.sidecars() == [] and (await node.view())["running"] is False
    assert (await node.start(body)).status == 409


async def test_a_killed_sidecar_is_told_to_the_database_at_once(
    node: ChannelRig, body: dict[str, Any], connection: Connection
) -> None:
    number = await channel_row(connection, 1)
    body |= {"channel": number}
    url = await node.on_air(body)
    (sidecar,) = node.sidecars()
    children = sidecar.children(recursive=True)
    assert any("pipe:0" in child.cmdline() for child in children), "no encoder among them"
    os.kill(sidecar.pid, signal.SIGKILL)

    async def told() -> Any:
        return await connection.fetchrow(
            "SELECT dead_at, dead_reason, now() AS now FROM playout_channels WHERE dead_generation = 1"
        )

    row = await until(told, 10, "the death is in the database")
    assert "signal 9" in row["dead_reason"] and row["dead_at"] <= row["now"]
    for child in children:
        await node.gone(child.pid)
    assert await refused(url)
    again = await node.start(body)
    assert again.status == 409 and again.body["generation"] == 1
    journal = await node.events(1, channel=number)
    assert journal["running"] is False and journal["ended_at"] is not None
    assert [e["seq"] for e in journal["events"]] == list(range(1, len(journal["events"]) + 1))
    assert journal["events"][0]["type"] == "start"


async def test_an_agent_that_is_killed_leaves_its_channel_on_air_and_the_next_one_has_it(
    rig: Rig, node: ChannelRig, body: dict[str, Any], connection: Connection
) -> None:
    number = await channel_row(connection, 1)
    body |= {"channel": number}
    await rig.stop_agent()
    agent = await rig.start_agent_process()
    url = await node.on_air(body)
    before = await node.status(url)
    agent.kill()
    agent.wait()
    assert (await node.status(url))["on_air"] is True
    await connection.execute("UPDATE nodes SET status = 'offline'")  # so that the next one is waited for
    await rig.start_agent()
    again = await node.start(body)
    assert again.status == 200 and again.body["sidecar_url"] == url
    assert (await node.status(url))["seq"] >= before["seq"]
    assert len(node.sidecars()) == 1
    os.kill(again.body["pid"], signal.SIGKILL)

    async def told() -> Any:
        return await connection.fetchval("SELECT dead_reason FROM playout_channels WHERE dead_generation = 1")

    assert await until(told, 10, "the death is in the database")


async def test_a_sidecar_that_died_while_no_agent_ran_is_told_by_the_next(
    rig: Rig, node: ChannelRig, body: dict[str, Any], connection: Connection
) -> None:
    number = await channel_row(connection, 1)
    await node.on_air(body | {"channel": number})
    await rig.stop_agent()
    (sidecar,) = node.sidecars()
    sidecar.send_signal(signal.SIGKILL)
    await node.gone(sidecar.pid)
    await rig.start_agent()

    async def told() -> Any:
        return await connection.fetchval("SELECT dead_at FROM playout_channels WHERE dead_generation = 1")

    assert await until(told, 10, "the death is in the database")
    assert (await node.view(number))["exit"]["generation"] == 1


async def test_a_sidecar_that_is_not_current_any_more_goes_off_air_by_notify_and_by_reconnect(
    rig: Rig, node: ChannelRig, body: dict[str, Any], connection: Connection
) -> None:
    number = await channel_row(connection, 1)
    await node.on_air(body | {"channel": number})
    (first,) = node.sidecars()
    await connection.execute("UPDATE playout_channels SET generation = 2")
    await node.gone(first.pid)
    await node.on_air(body | {"channel": number, "generation": 2})
    (second,) = node.sidecars()
    await rig.stop_agent()
    await connection.execute("UPDATE playout_channels SET generation = 3")
    assert alive(second.pid) is not None
    await rig.start_agent()
    await node.gone(second.pid)
    assert await connection.fetchval("SELECT dead_generation FROM playout_channels") is None
    last = (await node.events(2, channel=number))["events"][-1]
    assert (last["type"], last["result"]) == ("end", "interrupted")


async def test_what_is_not_an_order_is_refused_in_one_sentence(
    node: ChannelRig, body: dict[str, Any]
) -> None:
    assert (await node.start(body, token="wrong")).status == 401
    assert (await node.start(body, token=None)).status == 401
    wrong: list[dict[str, Any]] = [
        {"output_url": "http://x:1"}, {"output_type": "file", "output_url": "../x.ts"}, {"output_type": "smoke"},
        {"items": [{"id": "x"}]}, {"items": 3}, {"generation": 0}, {"generation": "1"}, {"settings": {"width": 3}},
        {"settings": []}, {"resume": {"item_id": 1, "offset_s": -1}},
    ]  # fmt: skip
    for change in wrong:
        answer = await node.start(body | change)
        assert answer.status == 400 and answer.body["error"].endswith("."), (change, answer)
    for path in ("x/start", "1/events?generation=x", "1/events?after=1"):
        method = "POST" if path.endswith("start") else "GET"
        answer = await node.rig.call(method, f"/api/v1/channels/{path}", body if method == "POST" else None)
        assert answer.status == 400, path
    assert (await node.rig.call("GET", "/api/v1/channels/1/events?generation=4")).status == 404
    assert (await node.view())["running"] is False
    assert not [
        p for p in psutil.process_iter(["cmdline"]) if str(node.rig.home) in " ".join(p.info["cmdline"] or [])
    ]
