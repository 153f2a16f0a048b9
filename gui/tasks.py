"""Tasks that a window starts and nobody awaits.

`spawn` owns them: asyncio itself holds tasks only weakly, so that one which nobody else holds may vanish
half-way. Every failure is logged with its traceback and told to the hooks, which say it to the operator.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    ErrorHook = Callable[[asyncio.Task[Any], Exception], None]

T = TypeVar("T")

log = logging.getLogger(__name__)

_tasks: set[asyncio.Task[Any]] = set()
_hooks: list[ErrorHook] = []


def spawn(coro: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
    """Start a task from a slot or a coroutine, and keep it until it is done."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        coro.close()
        raise
    task = loop.create_task(coro, name=name)
    _tasks.add(task)
    task.add_done_callback(_finished)
    return task


def loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def on_task_error(hook: ErrorHook) -> Callable[[], None]:
    """Have `hook(task, exception)` called for each spawned task that fails; returns how to end that."""
    _hooks.append(hook)
    return lambda: _hooks.remove(hook)


def _finished(task: asyncio.Task[Any]) -> None:
    _tasks.discard(task)
    if task.cancelled():
        return
    exc = task.exception()
    # KeyboardInterrupt and SystemExit leave the loop by themselves.
    if not isinstance(exc, Exception):
        return
    log.error("The task %s failed", task.get_name(), exc_info=exc)
    for hook in list(_hooks):
        try:
            hook(task, exc)
        except Exception:
            log.exception("Reporting the failure of the task %s failed", task.get_name())
