"""What the tests of channels share: clips of every kind, orders, a receiver, and sidecars spoken to by hand."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import psutil

from tests.core.agent.conftest import FFMPEG, TOKEN, Answer, Rig, until

SMALL = {"width": 160, "height": 90, "rate": 25}


def make_clip(
    folder: Path, name: str, seconds: float, size: str = "160x90", rate: str = "25", sound: bool = True,
    colour: str = "red", codec: tuple[str, ...] = ("-c:v", "mpeg2video", "-q:v", "4"),
) -> str:  # fmt: skip
    """A real file of one colour. Returns its path below the media folder."""
    folder.mkdir(parents=True, exist_ok=True)
    tone = ["-f", "lavfi", "-i", "sine=f=440:r=44100", "-c:a", "mp2"] if sound else []
    subprocess.run(
        [FFMPEG, "-loglevel", "error", "-nostdin", "-y", "-f", "lavfi", "-i", f"color=c={colour}:s={size}:r={rate}",
         *tone, "-t", str(seconds), *codec, "-threads", "1", str(folder / name)],
        check=True,
    )  # fmt: skip
    return name


def item(number: int, path: str, duration_s: float | None = None, in_s: float = 0.0) -> dict[str, Any]:
    return {"id": number, "position": number, "asset_id": None, "clip_name": f"clip {number}", "path": path,
            "in_s": in_s, "duration_s": duration_s}  # fmt: skip


def order(items: list[dict[str, Any]], generation: int = 1, channel: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "channel": channel, "name": "ONE", "generation": generation, "output_type": "udp",
        "output_url": "udp://127.0.0.1:9", "settings": SMALL, "looping": True, "playlist_version": 1,
        "items": items, "resume": None,
    } | more  # fmt: skip


@dataclass
class ChannelRig:
    """One node's channels, spoken to over HTTP."""

    rig: Rig
    pids: list[int] = field(default_factory=list)

    @property
    def media(self) -> Path:
        return self.rig.media

    def clip(self, name: str, seconds: float, **how: Any) -> str:
        return make_clip(self.media, name, seconds, **how)

    async def start(self, body: dict[str, Any], token: str | None = TOKEN) -> Answer:
        answer = await self.rig.call("POST", f"/api/v1/channels/{body['channel']}/start", body, token=token)
        if answer.status == 200:
            self.pids.append(answer.body["pid"])
        return answer

    async def on_air(self, body: dict[str, Any]) -> str:
        """Starts it and waits until it sends. Returns the sidecar's address."""
        answer = await self.start(body)
        assert answer.status == 200, answer.body
        url: str = answer.body["sidecar_url"]

        async def sends() -> bool:
            return bool((await self.status(url))["on_air"])

        await until(sends, 20, "the channel is on air")
        return url

    async def stop(self, generation: int, channel: int = 1) -> Answer:
        return await self.rig.call("POST", f"/api/v1/channels/{channel}/stop", {"generation": generation})

    async def view(self, channel: int = 1) -> dict[str, Any]:
        return (await self.rig.call("GET", f"/api/v1/channels/{channel}")).body

    async def events(self, generation: int, after: int = 0, channel: int = 1) -> dict[str, Any]:
        path = f"/api/v1/channels/{channel}/events?generation={generation}&after={after}"
        return (await self.rig.call("GET", path)).body

    async def ask(
        self, url: str, method: str, path: str, body: Any = None, token: str | None = TOKEN, raw: bytes | None = None
    ) -> Answer:  # fmt: skip
        headers = {} if token is None else {"x-internal-token": token}
        extra: dict[str, Any] = {"data": raw} if raw is not None else ({} if body is None else {"json": body})
        async with self.rig.http.request(method, url + path, headers=headers, **extra) as response:
            return Answer(response.status, await response.json())

    async def status(self, url: str, after: int = 0) -> dict[str, Any]:
        return (await self.ask(url, "GET", f"/status?after={after}")).body

    def sidecars(self) -> list[psutil.Process]:
        return [p for n in dict.fromkeys(self.pids) if (p := alive(n)) is not None]

    async def gone(self, pid: int, within: float = 10.0) -> None:
        async def is_gone() -> bool:
            return alive(pid) is None

        await until(is_gone, within, "the process is gone")

    async def close(self) -> None:
        for process in self.sidecars():
            process.kill()


def alive(pid: int) -> psutil.Process | None:
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process
    except psutil.NoSuchProcess:
        return None


async def refused(url: str) -> bool:
    """Whether nothing answers there any more."""
    try:
        headers = {"x-internal-token": TOKEN}
        async with aiohttp.ClientSession() as http, http.get(f"{url}/status", headers=headers):
            return False
    except aiohttp.ClientError:
        return True


class Receiver:
    """Takes what a channel sends by UDP and keeps it, as a set-top box would hear it."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * 1024**2)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.url = f"udp://127.0.0.1:{self._socket.getsockname()[1]}"
        self.data = bytearray()

    def __enter__(self) -> Receiver:
        asyncio.get_running_loop().add_reader(self._socket, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()

    def _take(self) -> None:
        for _ in range(100):
            try:
                self.data += self._socket.recv(65536)
            except BlockingIOError:
                return

    def decode(self, file: Path) -> subprocess.CompletedProcess[str]:
        """Every picture and every sample, by an ffmpeg that complains about whatever is not right."""
        file.write_bytes(self.data)
        return subprocess.run(
            [FFMPEG, "-nostdin", "-v", "error", "-xerror", "-err_detect", "explode", "-i", str(file), "-map", "0",
             "-f", "framemd5", "-"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
