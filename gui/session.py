"""What every panel is given: the plant as it is known, and the one way to do something about it.

A control never draws what it hopes: what was asked for is pending until the feed confirms it, and a refusal
is one sentence in the window.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from PySide6.QtCore import QObject, Signal

from core.errors import AirlockError, DatabaseLost
from gui.bridge import Bridge
from gui.messages import Message as Message  # for the panels, which say theirs through a session
from gui.tasks import spawn
from gui.ticker import Ticker

if TYPE_CHECKING:
    from core.alarms.model import Alarm
    from core.commands import Command
    from core.station import Station

log = logging.getLogger(__name__)

CONFIRM_WITHIN = 3.0  # the feed is tens of milliseconds behind; after this, what is shown counts


@dataclass(eq=False)
class _Pending:
    keys: frozenset[Hashable]
    until: Callable[[], bool]
    carried_out: bool = False


class Session(QObject):
    message = Signal(object)
    pending_changed = Signal()
    abilities_changed = Signal()  # what may be done changed: role, or whether the picture is live
    alarms_changed = Signal()

    def __init__(self, station: Station, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.station = station
        self.model = station.model
        self.clock = station.clock
        self.feed = station.feed
        self.bridge = Bridge(station, self)
        self.ticker = Ticker(station.clock.timestamp, self)
        self._pending: list[_Pending] = []
        self._readings: set[asyncio.Task[None]] = set()
        self.closed = False
        self._zone: tuple[str, tzinfo] | None = None
        self.bridge.changed.connect(self._confirm)
        self.bridge.changed.connect(self._model_changed)
        self.bridge.local_alarms_changed.connect(self.alarms_changed)
        self.bridge.stale_changed.connect(lambda _: self.abilities_changed.emit())
        self.bridge.feed_changed.connect(self.abilities_changed)
        self._model_changed({"plant": frozenset()})
        self.ticker.start()

    def close(self) -> None:
        """Nothing reaches the panels any more. Commands under way finish; what was being read is dropped."""
        self.closed = True
        self.ticker.stop()
        self.bridge.close()
        for reading in list(self._readings):
            reading.cancel()

    # What is known

    @property
    def stale(self) -> bool:
        return self.bridge.stale

    def now(self) -> datetime:
        return self.clock.now()

    def shown_now(self) -> datetime:
        """Now, to the second that the clock shows: for ages and countdowns, which change with it."""
        return datetime.fromtimestamp(self.ticker.whole_second, UTC)

    @property
    def zone(self) -> tzinfo:
        """The plant's time zone; UTC when the plant names one that this machine does not know."""
        name = "UTC" if self.model.plant is None else self.model.plant.timezone
        if self._zone is None or self._zone[0] != name:
            try:
                self._zone = (name, ZoneInfo(name))
            except (ZoneInfoNotFoundError, ValueError, OSError):
                log.warning("the plant's time zone %s is not known here; showing UTC", name)
                self._zone = (name, ZoneInfo("UTC"))
        return self._zone[1]

    def local(self, instant: datetime) -> datetime:
        return instant.astimezone(self.zone)

    @property
    def frame_rate(self) -> float:
        return 25.0 if self.model.plant is None else float(self.model.plant.frame_rate)

    def alarms(self) -> list[Alarm]:
        """Those of the plant and those of this station."""
        return [*self.station.local_alarms.all(), *self.model.alarms.values()]

    # What can be done

    def why_not(self, command: Command[..., Any]) -> str | None:
        """The reason why a control cannot work now, or None when it can."""
        if self.stale:
            return "Needs the database, which does not answer."
        if not self.station.commander.may(command):
            return f"Needs the role {command.role.title}; you are {self.station.role.title}."
        return None

    def is_pending(self, key: Hashable) -> bool:
        return any(key in p.keys for p in self._pending)

    def do(
        self,
        command: Command[..., Any],
        *args: Any,
        keys: tuple[Hashable, ...] = (),
        until: Callable[[], bool] = lambda: True,
        done: str | None = None,
        options: dict[str, Any] | None = None,
        answered: Callable[[AirlockError | None, Any], None] | None = None,
    ) -> None:
        """Carries out a command. `keys` are pending until `until` holds in the read model.

        `answered` gets the refusal, or None and what the command gave back; who asks for it says refusals itself.
        """
        pending = _Pending(frozenset(keys), until)
        self._pending.append(pending)
        self.pending_changed.emit()
        work = self._do(command, args, options or {}, pending, done, answered)
        _ = spawn(work, name=f"command {command.name}")

    async def _do(
        self,
        command: Command[..., Any],
        args: tuple[Any, ...],
        options: dict[str, Any],
        pending: _Pending,
        done: str | None,
        answered: Callable[[AirlockError | None, Any], None] | None,
    ) -> None:
        try:
            result = await self.station.commander.do(command, *args, **options)
        except AirlockError as error:
            self._drop(pending)
            if answered is None or self.closed:
                self.say(str(error))
            else:
                answered(error, None)
        except BaseException:
            self._drop(pending)
            raise
        else:
            if answered is not None and not self.closed:
                answered(None, result)
            if done is not None:
                self.say(done, refused=False)
            pending.carried_out = True
            self._confirm()
            asyncio.get_running_loop().call_later(CONFIRM_WITHIN, self._drop, pending)

    def attempt(self, read: Callable[[], Awaitable[None]], name: str) -> asyncio.Task[None]:
        """Runs a reading coroutine. A lost database is not worth a sentence: the banner says it already."""

        async def run() -> None:
            try:
                await read()
            except DatabaseLost as error:
                log.info("%s: %s", name, error)
            except AirlockError as error:
                self.say(str(error))

        task = spawn(run(), name=name)
        self._readings.add(task)
        task.add_done_callback(self._readings.discard)
        return task

    def say(self, text: str, *, refused: bool = True) -> None:
        if self.closed:
            log.info("nobody is there to read: %s", text)
            return
        self.message.emit(Message(text, refused))

    def _drop(self, pending: _Pending) -> None:
        if pending in self._pending and not self.closed:
            self._pending.remove(pending)
            self.pending_changed.emit()

    def _confirm(self, _changes: object = None) -> None:
        if self.closed:
            return
        left = [p for p in self._pending if not (p.carried_out and p.until())]
        if len(left) != len(self._pending):
            self._pending = left
            self.pending_changed.emit()

    def _model_changed(self, changes: dict[str, frozenset[int]]) -> None:
        if "plant" in changes:
            self.ticker.set_rate(self.frame_rate)
        if "alarms" in changes or "plant" in changes:
            self.alarms_changed.emit()
