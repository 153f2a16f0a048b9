"""One recorder: what it is asked, in which session it is, and how that ends.

What must stay true: a recorder is in at most one session; a key starts at most one process, however
often, at whatever moment and over how many agents it is asked; a stop ends the session it names and
no other; and whatever happens to a recording is told to `changed` at once. Decisions are taken
between two awaits, so no lock is needed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import Any

from core.agent import capture
from core.agent import ffmpeg as say
from core.agent import process as processes
from core.agent.errors import Busy, StartFailed, StopFailed, UnknownRecorder
from core.agent.orders import Definition, StartOrder, Workshop
from core.agent.process import Detached
from core.agent.proof import prove
from core.agent.session import Phase, Session
from core.agent.settings import CaptureSettings
from core.agent.watch import LogTail, Watch
from core.clock import steady
from core.errors import AirlockError

log = logging.getLogger(__name__)

LOOK = 0.5  # seconds between two looks at a running recording
STOP_BEFORE_START = 15.0  # a start waits this long for the stop before it


class Recorder:
    def __init__(self, external_id: str, workshop: Workshop) -> None:
        self.external_id = external_id
        self.definition: Definition | None = None
        self.current: Session | None = None
        self.watch: Watch | None = None
        self.error: str | None = None  # why the last recording failed, until the next one begins
        self.spawn_ms: float | None = None
        self._shop = workshop
        self._by_key: dict[str, Session] = {}
        self._by_id: dict[str, Session] = {}
        self._starts: dict[str, asyncio.Task[None]] = {}
        self._process: Detached | None = None
        self._following: asyncio.Task[None] | None = None
        self._settled: dict[str, asyncio.Event] = {}
        self._free = asyncio.Event()
        self._free.set()

    # -- what others ask -------------------------------------------------------------------------

    @property
    def status(self) -> str:
        return "idle" if self.current is None else "recording"

    @property
    def sessions(self) -> list[Session]:
        return list(self._by_id.values())

    @property
    def faults(self) -> frozenset[str]:
        return frozenset() if self.watch is None else self.watch.faults(steady())

    def session(self, session_id: str) -> Session | None:
        return self._by_id.get(session_id)

    def capture_settings(self) -> CaptureSettings:
        return CaptureSettings.parse(self._raw_settings())

    def _raw_settings(self) -> dict[str, Any]:
        return {} if self.definition is None else self.definition.settings

    async def start(self, order: StartOrder) -> Session:
        """Answers once the recording delivers. Raises Busy, StartFailed, or a refusal of the source."""
        if (
            self.current is not None
            and self.current.phase == Phase.STOPPING
            and order.key not in self._by_key
        ):
            await self._wait_free(STOP_BEFORE_START)
        session = self._by_key.get(order.key)
        if session is None:
            if self.current is not None:
                raise Busy(
                    f"{self._title} is recording {self.current.name or 'something else'} already.",
                    self.current.id,
                )
            session = self._take_on(order)
        if (starting := self._starts.get(session.id)) is not None:
            # Shielded: a client that goes away does not end what it asked for.
            await asyncio.shield(starting)
        if session.never_began:
            raise StartFailed(session.error or "The recording did not begin.")
        return session

    async def stop(self, session_id: str) -> Session:
        """Ends that session, or finds it ended, and answers when its file is proven."""
        session = self._by_id.get(session_id)
        if session is None:
            raise Busy(
                f"{self._title} is not in that session and was left alone.",
                None if self.current is None else self.current.id,
            )
        if (starting := self._starts.get(session.id)) is not None:
            await asyncio.wait({starting})
        # One that ended by itself a moment ago is not current any more: only its proof is awaited.
        if session is self.current and session.phase == Phase.RECORDING:
            session.phase = Phase.STOPPING
            session.stopped_by_us = True
            self._note_end(session)
            session.save()
            if self._process is not None and not await processes.end(self._process):
                session.phase = Phase.RECORDING
                raise StopFailed(
                    f"The recording process of {self._title} does not end; it may still be recording."
                )
        await self._wait_settled(session, 60.0)
        return session

    def view(self) -> dict[str, Any]:
        current, watch = self.current, self.watch
        session = None
        if current is not None:
            session = current.summary()
            if watch is not None and current.began_at is not None:
                session |= {
                    "size": watch.size,
                    "elapsed_s": round(time.time() - current.began_at, 3),
                    "rate_bytes_s": round(watch.rate),
                    "last_growth_s": round(steady() - watch.grown_at, 3),
                }
        return {
            "status": self.status,
            "current_session_id": None if current is None else current.id,
            "session": session,
            "faults": sorted(self.faults),
            "error": self.error,
            "name": self._title,
        }

    # -- starting --------------------------------------------------------------------------------

    @property
    def _title(self) -> str:
        return self.external_id if self.definition is None else self.definition.name

    def _take_on(self, order: StartOrder) -> Session:
        definition = self.definition
        if definition is None:
            raise UnknownRecorder(f"This node has no recorder {self.external_id}.")
        session = self._shop.store.new(
            key=order.key,
            external_id=self.external_id,
            recorder_id=definition.id,
            recorder_name=definition.name,
            window=order.window,
            attempt=order.attempt,
            name=order.name or definition.name,
            source=order.source or definition.source,
            planned_end=order.planned_end,
            requested_at=time.time(),
        )
        self._remember(session)
        self._occupy(session)
        self._starts[session.id] = asyncio.create_task(self._begin(session), name=f"start {self.external_id}")
        return session

    def _remember(self, session: Session) -> None:
        self._by_key[session.key] = session
        self._by_id[session.id] = session
        self._settled[session.id] = asyncio.Event()
        if session.phase == Phase.ENDED:
            self._settled[session.id].set()

    async def _begin(self, session: Session) -> None:
        asked = steady()
        try:
            loop = asyncio.get_running_loop()
            self._process = await loop.run_in_executor(
                self._shop.spawner, capture.spawn, self._shop, session, self._raw_settings()
            )
            self.spawn_ms = (steady() - asked) * 1000
            await capture.await_first_bytes(session, self._process)
        except AirlockError as error:
            await self._abandon(session, str(error))
        except OSError as error:
            await self._abandon(session, f"The recording could not be started: {error.strerror or error}.")
        else:
            self._go_on(session, self._process)
        finally:
            self._starts.pop(session.id, None)
            self._shop.changed()

    async def _abandon(self, session: Session, sentence: str) -> None:
        """Nothing was recorded: whatever runs is ended, and the key keeps its answer."""
        if self._process is not None:
            await processes.end(self._process, (1.0, 1.0, 3.0))
        log.warning("%s did not start: %s", self._title, sentence)
        target = Path(session.path) if session.path else None
        if target is not None and capture.size_of(target) == 0:
            target.unlink(missing_ok=True)
        session.error = self.error = sentence
        session.phase = Phase.ENDED
        session.ended_at = time.time()
        session.reported = True  # there is nothing to show: the recorder's own row carries the sentence
        self._process = None
        self._release(session)
        if session.folder.is_dir():
            session.save()
        self._settle(session)

    # -- running and ending ----------------------------------------------------------------------

    def _go_on(self, session: Session, process: Detached) -> None:
        """The recording delivers: follow it to its end, which may be another agent's job."""
        self._process = process
        if session.began_at is None:
            session.began_at = time.time()
        if session.phase == Phase.STARTING:
            session.phase = Phase.RECORDING
        session.save()
        self._occupy(session)
        self.error = None
        if self.watch is None:
            self.watch = Watch(self._settings_or_default(), steady())
        following = self._follow(session, process, self.watch, LogTail(session.log))
        self._following = asyncio.create_task(following, name=f"follow {self.external_id}")
        log.info("%s records %s as session %s", self._title, session.path, session.id)

    def _settings_or_default(self) -> CaptureSettings:
        try:
            return self.capture_settings()
        except AirlockError:
            return CaptureSettings()  # changed to nonsense since the recording began

    async def _follow(self, session: Session, process: Detached, watch: Watch, tail: LogTail) -> None:
        ending = asyncio.ensure_future(process.wait())
        faults: frozenset[str] = frozenset()
        try:
            while not ending.done():
                await capture.look(session, watch, tail)
                if watch.faults(steady()) != faults:
                    faults = watch.faults(steady())
                    self._shop.changed()
                await asyncio.wait({ending}, timeout=LOOK)
        finally:
            ending.cancel()
        await self._ended(session, process.exit_code)

    async def _ended(self, session: Session, exit_code: int | None) -> None:
        # The recorder is free, and said to be, before its file is looked at.
        self._process = None
        session.exit_code = exit_code
        if session.ended_at is None:
            self._note_end(session)
        self.watch = None
        if not session.stopped_by_us:
            reason = say.explain(await asyncio.to_thread(capture.log_of, session), exit_code)
            session.error = self.error = f"The recording ended by itself: {reason}"
            log.warning("%s: %s", self._title, session.error)
        self._release(session)
        self._shop.changed()
        await self._prove(session)

    def _note_end(self, session: Session) -> None:
        """From here on no more is expected of the file. Measured by the steady counter: the machine's
        clock may have been set meanwhile."""
        session.ended_at = time.time()
        if self.watch is not None:
            session.recorded_s = steady() - self.watch.began

    async def _prove(self, session: Session) -> None:
        proof = await prove(self._shop.ffmpeg, Path(session.path), session.recorded_s or 0.0)
        session.proof = proof.plain()
        session.size = proof.size
        session.phase = Phase.ENDED
        session.save()
        self._settle(session)
        log.info(
            "%s: session %s ended with %.1f s in %s", self._title, session.id, proof.duration_s, session.path
        )

    def _settle(self, session: Session) -> None:
        self._settled[session.id].set()
        self._shop.changed()

    def _occupy(self, session: Session) -> None:
        self.current = session
        self._free.clear()

    def _release(self, session: Session) -> None:
        if self.current is session:
            self.current = None
            self._free.set()

    async def _wait_free(self, limit: float) -> None:
        """The next recording need not wait for the proof of the one before."""
        try:
            async with asyncio.timeout(limit):
                await self._free.wait()
        except TimeoutError:
            pass  # it is refused as busy

    async def _wait_settled(self, session: Session, limit: float) -> None:
        try:
            async with asyncio.timeout(limit):
                await self._settled[session.id].wait()
        except TimeoutError:
            raise StopFailed(f"The recording of {self._title} did not end in time.") from None

    # -- an agent comes and goes -----------------------------------------------------------------

    async def resume(self, session: Session) -> None:
        """Takes over a session from the agent before: finds its process, or what it left behind."""
        self._remember(session)
        if session.phase == Phase.ENDED:
            return
        process = processes.find(session.pid, session.argv)
        if process is None and session.pid is None:
            # The agent died between starting the process and writing its number down.
            process = await asyncio.to_thread(processes.search, session.argv)
            if process is not None:
                session.pid = process.pid
        if process is not None:
            self._occupy(session)
            await self._resume_running(session, process)
        elif session.pid is None and not session.log.exists():
            # It was never started: as if it had never been asked, so the same key may ask again.
            del self._by_key[session.key], self._by_id[session.id], self._settled[session.id]
            self._shop.store.forget(session)
        else:
            await self._ended_unseen(session)

    async def _resume_running(self, session: Session, process: Detached) -> None:
        log.info("%s: found the running session %s again", self._title, session.id)
        if capture.size_of(Path(session.path)) == 0:
            self._process = process
            self._starts[session.id] = asyncio.create_task(self._begin_again(session, process))
            return
        stopping = session.phase == Phase.STOPPING
        session.began_at = session.began_at or session.requested_at
        watch = Watch(self._settings_or_default(), steady() - max(time.time() - session.began_at, 0.0))
        # Known before the first report, or alarms from before our time would clear and come again.
        await capture.look(session, watch, LogTail(session.log), heard=watch.began)
        self.watch = watch
        self._go_on(session, process)
        if stopping:
            await processes.end(process)

    async def _begin_again(self, session: Session, process: Detached) -> None:
        try:
            await capture.await_first_bytes(session, process)
        except StartFailed as error:
            await self._abandon(session, str(error))
        else:
            self._go_on(session, process)
        finally:
            self._starts.pop(session.id, None)
            self._shop.changed()

    async def _ended_unseen(self, session: Session) -> None:
        """It ended while no agent ran. Its file says when."""
        target = Path(session.path)
        if capture.size_of(target) == 0:
            await self._abandon(session, say.explain(capture.log_of(session)))
            return
        session.began_at = session.began_at or session.requested_at
        if not session.stopped_by_us:
            session.ended_at = capture.last_written(target)
            session.recorded_s = max(session.ended_at - session.began_at, 0.0)
        self._following = asyncio.create_task(self._ended(session, None), name=f"settle {self.external_id}")

    async def let_go(self) -> None:
        """The agent ends; the recording goes on."""
        tasks = [*self._starts.values(), *([self._following] if self._following is not None else [])]
        process = self._process
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if process is not None:
            process.let_go()

    def forget(self, session: Session) -> None:
        self._by_key.pop(session.key, None)
        self._by_id.pop(session.id, None)
        self._settled.pop(session.id, None)
