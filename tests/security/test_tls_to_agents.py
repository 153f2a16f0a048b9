"""An agent with a certificate is spoken to by https only, and only by whoever trusts its authority."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import aiohttp.web
import pytest

from core import tls
from core.agent.agent import run_agent
from core.agent.settings import AgentSettings
from core.db.database import Connection
from core.errors import SettingsError
from core.recording.answers import NoWord, Says
from core.recording.pictures import Pictures
from core.recording.recorder_client import Address, RecorderClient
from tests.core.agent.conftest import until

TOKEN = "secret-of-the-plant"
FILES = Path(__file__).with_name("tls")
LIMIT = 20.0


@pytest.fixture
async def base(plant: str, connection: Connection, tmp_path: Path) -> AsyncIterator[str]:
    settings = AgentSettings(plant, "NODE-1", TOKEN, tmp_path / "agent", tmp_path / "media")
    settings = replace(
        settings, advertise="localhost", certificate=FILES / "agent.pem", key=FILES / "agent-key.pem"
    )
    stop = asyncio.Event()
    task = asyncio.create_task(run_agent(settings, stop))

    async def online() -> Any:
        return await connection.fetchrow("SELECT id, base_url FROM nodes WHERE status = 'online'")

    row = await until(online, what="the node is online")
    await connection.execute(
        "INSERT INTO recorders (name, node_id, external_id, source) VALUES ('R', $1, 'R', 'test:bars')",
        row["id"],
    )
    yield row["base_url"]
    stop.set()
    await task


async def ask(base: str, context: ssl.SSLContext | None) -> Any:
    client = RecorderClient(TOKEN, context)
    try:
        return await client.ask(Address(base, "R"), LIMIT)
    finally:
        await client.close()


async def test_only_who_trusts_the_authority_gets_an_answer(base: str) -> None:
    assert base.startswith("https://localhost:")
    assert isinstance(await ask(base, tls.trust(FILES / "ca.pem")), Says)
    for distrusting in (tls.trust(FILES / "other-ca.pem"), None):
        said = await ask(base, distrusting)
        assert isinstance(said, NoWord) and "CERTIFICATE_VERIFY_FAILED" in said.why and TOKEN not in said.why
    wrong_name = await ask(base.replace("localhost", "127.0.0.1"), tls.trust(FILES / "ca.pem"))
    assert isinstance(wrong_name, NoWord), "a certificate is for the name that it names"
    plain = await ask(base.replace("https:", "http:"), None)
    assert isinstance(plain, NoWord), "no second, open door"


async def test_old_protocols_are_refused(base: str) -> None:
    old = tls.trust(FILES / "ca.pem")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.ClientError):
            await http.get(base + "/health", ssl=old)


async def test_a_picture_does_not_carry_the_token_elsewhere() -> None:
    heard: list[str] = []

    async def elsewhere(request: aiohttp.web.BaseRequest) -> aiohttp.web.Response:
        heard.append(request.headers.get("x-internal-token", ""))
        return aiohttp.web.Response(body=b"\xff\xd8")

    async def sends_away(request: aiohttp.web.BaseRequest) -> aiohttp.web.Response:
        raise aiohttp.web.HTTPFound(f"http://127.0.0.1:{ports[0]}/")

    ports, runners = [], []
    for handler in (elsewhere, sends_away):
        runner = aiohttp.web.ServerRunner(aiohttp.web.Server(handler))
        await runner.setup()
        await aiohttp.web.TCPSite(runner, "127.0.0.1", 0).start()
        ports.append(runner.addresses[0][1])
        runners.append(runner)
    pictures = Pictures(TOKEN)
    assert await pictures.at(f"http://127.0.0.1:{ports[1]}/preview.jpg") is None
    assert heard == []
    assert await pictures.at(f"http://127.0.0.1:{ports[0]}/preview.jpg") == b"\xff\xd8"
    assert heard == [TOKEN]
    await pictures.close()
    for runner in runners:
        await runner.cleanup()


@pytest.mark.parametrize("content", [None, b"", b"words"])
def test_a_certificate_that_cannot_be_used_is_one_sentence(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "x.pem"
    if content is not None:
        file.write_bytes(content)
    for use in (tls.trust, lambda path: tls.identity(path, None)):
        with pytest.raises(SettingsError, match=r"^The .*x\.pem cannot be used: .*\.$"):
            use(file)
    with pytest.raises(SettingsError, match="the key does not belong to it"):
        tls.identity(FILES / "ca.pem", FILES / "agent-key.pem")
