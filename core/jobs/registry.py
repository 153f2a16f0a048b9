"""Which handlers this program has: those that ship, and those of other packages.

A package adds one with an entry point of the group `airlock.handlers`. The entry's name is the handler's name;
what it leads to is a coroutine function that takes a RunContext and returns a small JSON object or nothing. It may
carry `recurring`, a list of Definition, for jobs that shall exist as soon as it is installed.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from core.errors import AirlockError
from core.jobs.model import Definition, Lease

log = logging.getLogger(__name__)
GROUP = "airlock.handlers"


class JobFailed(AirlockError):
    """A handler could not do its work. `retry`: whether trying again can help."""

    def __init__(self, message: str, *, code: str = "handler_error", retry: bool = True) -> None:
        super().__init__(message)
        self.code = code
        self.retry = retry


@dataclass(slots=True)
class RunContext:
    """What a handler is given. It is cancelled when its lease is lost, cancelled or out of time."""

    lease: Lease
    services: Any  # core.jobs.handlers.services.Services in an agent
    progress: float | None = None  # 0 to 1; told to everybody with the next heartbeat

    @property
    def arguments(self) -> dict[str, Any]:
        return self.lease.arguments


Handler = Callable[[RunContext], Awaitable[Mapping[str, Any] | None]]


@dataclass
class Registry:
    handlers: dict[str, Handler] = field(default_factory=dict)
    definitions: list[Definition] = field(default_factory=list)

    def add(self, name: str, handler: Handler, recurring: Iterable[Definition] = ()) -> None:
        if name in self.handlers:
            raise ValueError(f"there are two handlers called {name}")
        self.handlers[name] = handler
        self.definitions.extend(recurring)

    def discover(self, found: Iterable[EntryPoint] | None = None) -> None:
        """Takes in the handlers of installed packages. One that cannot be loaded does not keep out the others."""
        for entry in entry_points(group=GROUP) if found is None else found:
            try:
                handler = entry.load()
                if not inspect.iscoroutinefunction(handler):
                    raise TypeError("it is not a coroutine function")
                self.add(entry.name, handler, getattr(handler, "recurring", ()))
            except Exception:
                log.exception("the handler %s cannot be loaded and is left out", entry.name)
