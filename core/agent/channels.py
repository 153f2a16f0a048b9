"""The channels of a node: their sidecars started, watched, ended, and found again.

What must stay true: of one channel at most one sidecar is on air here, that of the highest generation
ever asked for; a generation that was stopped or died here is never started again, however late its
start comes; a sidecar outlives its agent; and one that ends unasked is told to `changed` at once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from core.agent import process as processes
from core.agent.airing import KEPT_DAYS, LOG, ORDER, Airing, AiringStore, write_json
from core.agent.errors import Superseded
from core.agent.process import Detached
from core.agent.settings import AgentSettings
from core.agent.sidecar import journal
from core.agent.sidecar.order import Order
from core.playout.outputs import Raster, check_output

log = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parents[2]
END_PATIENCE = 1.0  # from the request to go off air to the kill
TOUCHY = ("AIRLOCK_DATABASE_URL", "PGPASSWORD")  # nothing that a sidecar needs


class Channel:
    """One channel's sidecars on this node, of all its generations."""

    def __init__(self, over: int = 0) -> None:
        self.over = over  # every generation up to this one is over
        self.airings: dict[int, Airing] = {}
        self.lock = asyncio.Lock()  # one start or stop at a time

    @property
    def newest(self) -> Airing | None:
        return self.airings[max(self.airings)] if self.airings else None

    def check(self, generation: int) -> None:
        """Raises Superseded when that generation may not be started here."""
        newest = max(self.over, *self.airings, 0)
        if generation <= self.over:
            raise Superseded(f"Generation {generation} of the channel was stopped here already.", newest)
        if generation < newest:
            raise Superseded(f"Generation {newest} of the channel is newer than {generation}.", newest)
        known = self.airings.get(generation)
        if known is not None and not known.running:
            raise Superseded(f"Generation {generation} of the channel ended here: {known.why}", generation)


class Channels:
    def __init__(self, settings: AgentSettings, spawner: Executor, changed: Callable[[], None]) -> None:
        self._settings = settings
        self._spawner = spawner
        self._changed = changed
        self._store = AiringStore(settings.home / "channels")
        self._channels: dict[int, Channel] = {}
        self._processes: dict[tuple[int, int], Detached] = {}
        self._watching: dict[tuple[int, int], asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def _channel(self, channel_id: int) -> Channel:
        return self._channels.setdefault(channel_id, Channel())

    @property
    def airings(self) -> Iterable[Airing]:
        for channel in self._channels.values():
            yield from channel.airings.values()

    def running(self) -> dict[int, int]:
        """The newest generation on air of each channel that has one here."""
        return {
            number: max(on_air)
            for number, channel in self._channels.items()
            if (on_air := [g for g, a in channel.airings.items() if a.running])
        }

    # -- what others ask -------------------------------------------------------------------------

    async def start(self, channel_id: int, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answers once the sidecar is spawned: its socket listens already, so whoever asks it is heard."""
        order = Order.parse(body)
        Raster.parse(order.settings)
        check_output(order.output_type, order.output_url, self._settings.media)
        channel = self._channel(channel_id)
        async with channel.lock:
            channel.check(order.generation)
            airing = channel.airings.get(order.generation)
            if airing is None:
                await self._end(channel, order.generation - 1)
                channel.check(order.generation)  # a stop may have come meanwhile
                airing = await self._begin(channel_id, channel, order, body)
        return {"sidecar_url": airing.url, "generation": airing.generation, "pid": airing.pid}

    async def stop(self, channel_id: int, generation: int) -> None:
        channel = self._channel(channel_id)
        if generation > channel.over:
            # First of all, so that a start which is under way finds it.
            channel.over = generation
            self._store.save_over(channel_id, generation)
        async with channel.lock:
            await self._end(channel, generation)

    def view(self, channel_id: int) -> dict[str, Any]:
        channel = self._channels.get(channel_id)
        newest = None if channel is None else channel.newest
        if newest is None:
            return {"running": False, "generation": None, "sidecar_url": None, "exit": None}
        return {
            "running": newest.running,
            "generation": newest.generation,
            "sidecar_url": newest.url,
            "exit": newest.exit(),
        }

    async def events(self, channel_id: int, generation: int, after: int) -> dict[str, Any] | None:
        """None: that generation was never here, or so long ago that its journal is gone."""
        channel = self._channels.get(channel_id)
        airing = None if channel is None else channel.airings.get(generation)
        if airing is None:
            return None
        ended = airing.exit()  # before the journal is read: then nothing can be missing from it
        found = await asyncio.to_thread(journal.read, airing.folder, after)
        return {
            "generation": generation,
            "running": ended is None,
            "ended_at": None if ended is None else ended["at"],
            "events": found,
        }

    # -- starting --------------------------------------------------------------------------------

    async def _begin(
        self, channel_id: int, channel: Channel, order: Order, body: Mapping[str, Any]
    ) -> Airing:
        loop = asyncio.get_running_loop()
        airing, process = await loop.run_in_executor(self._spawner, self._spawn, channel_id, order, body)
        channel.airings[order.generation] = airing
        log.info("%s: generation %d goes on air as process %d", order.name, order.generation, process.pid)
        self._watch(airing, process)
        return airing

    def _spawn(self, channel_id: int, order: Order, body: Mapping[str, Any]) -> tuple[Airing, Detached]:
        """In a thread of its own: nothing else may stand before a start."""
        folder = self._store.folder(channel_id, order.generation)
        folder.mkdir(parents=True, exist_ok=True)
        write_json(
            folder / ORDER,
            {
                "order": dict(body),
                "ffmpeg": self._settings.ffmpeg_path,
                "media": str(self._settings.media),
            },
        )
        family = socket.AF_INET6 if ":" in self._settings.host else socket.AF_INET
        with socket.socket(family) as listening:
            listening.bind((self._settings.host, 0))
            listening.listen(64)
            url = f"{self._settings.scheme}://{self._settings.shown_host}:{listening.getsockname()[1]}"
            descriptor = listening.fileno()
            argv = [sys.executable, "-m", "core.agent.sidecar", str(folder), str(descriptor)]
            airing = Airing(folder, channel_id, order.generation, order.name, url, time.time(), argv)
            airing.save()
            environment = {k: v for k, v in os.environ.items() if k not in TOUCHY}
            environment["AIRLOCK_TOKEN"] = self._settings.token
            environment["AIRLOCK_CERTIFICATE"] = str(self._settings.certificate or "")
            environment["AIRLOCK_KEY"] = str(self._settings.key or "")
            process = processes.spawn(
                argv, folder / LOG, environment=environment, folder=ROOT, descriptors=(descriptor,)
            )
        airing.pid = process.pid
        airing.save()
        return airing, process

    # -- watching and ending ---------------------------------------------------------------------

    def _watch(self, airing: Airing, process: Detached) -> None:
        mine = (airing.channel, airing.generation)
        self._processes[mine] = process
        task = asyncio.create_task(self._follow(airing, process), name=f"watch channel {mine[0]}")
        self._watching[mine] = task

    async def _follow(self, airing: Airing, process: Detached) -> None:
        code = await process.wait()
        process.sweep()
        airing.note_end(seen=True)
        if airing.died:
            log.warning("%s: generation %d died (%s)", airing.name, airing.generation, code)
            if code is not None and code < 0:
                airing.why = f"The sidecar was ended by signal {-code}."
                airing.save()
        else:
            log.info("%s: generation %d is off air: %s", airing.name, airing.generation, airing.why)
        mine = (airing.channel, airing.generation)
        self._processes.pop(mine, None)
        self._watching.pop(mine, None)
        self._changed()

    async def _end(self, channel: Channel, generation: int) -> None:
        """Every sidecar up to that generation is gone when this returns."""
        await asyncio.gather(
            *(self._end_one(a) for a in channel.airings.values() if a.running and a.generation <= generation)
        )

    async def _end_one(self, airing: Airing) -> None:
        mine = (airing.channel, airing.generation)
        process, watching = self._processes.get(mine), self._watching.get(mine)
        if process is None or watching is None:
            return
        if not airing.asked_to_end:
            airing.asked_to_end = True
            airing.save()
        process.terminate()
        done, _ = await asyncio.wait({watching}, timeout=END_PATIENCE)
        if not done:
            log.warning("%s: generation %d is ended by force", airing.name, airing.generation)
            process.kill_group()
            await asyncio.wait({watching})

    # -- what the database says ------------------------------------------------------------------

    def deaths(self) -> list[Airing]:
        return [a for a in self.airings if a.died and not a.reported]

    def compare(self, current: Mapping[int, int]) -> None:
        """Puts off air, at once, what is not the current generation of its channel any more."""
        for number, newest in current.items():
            for airing in self._channel(number).airings.values():
                if airing.running and not airing.asked_to_end and airing.generation < newest:
                    log.warning("%s: generation %d is not current", airing.name, airing.generation)
                    ending = asyncio.create_task(self._end_one(airing))
                    self._ending.add(ending)
                    ending.add_done_callback(self._ending.discard)

    # -- an agent comes and goes -----------------------------------------------------------------

    async def take_over(self) -> None:
        """Knows every sidecar again before the first request is answered."""
        for number in await asyncio.to_thread(self._store.channels):
            channel = self._channels[number] = Channel(self._store.over(number))
            for airing in await asyncio.to_thread(self._store.load, number):
                channel.airings[airing.generation] = airing
                if airing.running:
                    await self._resume(airing)

    async def _resume(self, airing: Airing) -> None:
        process = processes.find(airing.pid, airing.argv)
        if process is None and airing.pid is None:
            # The agent died between starting the process and writing its number down.
            process = await asyncio.to_thread(processes.search, airing.argv)
        if process is None:
            airing.note_end(seen=False)
            return
        airing.pid = process.pid
        log.info("%s: found generation %d on air again", airing.name, airing.generation)
        self._watch(airing, process)
        if airing.asked_to_end:
            await self._end_one(airing)

    async def let_go(self) -> None:
        """The agent ends; its channels stay on air."""
        tasks = [*self._watching.values(), *self._ending]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for process in self._processes.values():
            process.let_go()

    def tidy(self) -> None:
        """Forgets sidecars whose events nobody will ask for any more, but not how far the generations went."""
        oldest = time.time() - KEPT_DAYS * 86400
        for number, channel in self._channels.items():
            for airing in list(channel.airings.values()):
                if (
                    airing.running
                    or (airing.died and not airing.reported)
                    or (airing.ended_at or 0) >= oldest
                ):
                    continue
                if airing.generation > channel.over:
                    channel.over = airing.generation
                    self._store.save_over(number, channel.over)
                del channel.airings[airing.generation]
                self._store.forget(airing)
