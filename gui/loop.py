"""The event loop of the desktop: asyncio's own scheduling, driven by Qt.

qasync supplies the frame (a loop that is an asyncio loop and runs inside `QApplication.exec`) and, where
epoll does not exist, the watching of files. The scheduling is asyncio's: callbacks wait in its deque, timers
in its heap, and `_pump` runs them in batches from Qt's event loop.

What must stay true:
- Whenever callbacks are ready, the zero timer `_again` runs. It is restarted before callbacks are called, so
  that a nested Qt loop (a menu, a dialog, a drag) opened by one of them still finds a timer that can fire:
  Qt never fires a timer again whose event is still being handled.
- A timer is never early. Waking up does not mean due: the clock is asked each time.
- The order of callbacks is asyncio's: what is ready when a turn begins runs in that turn, the rest in the
  next. A turn that outlasts its budget is continued after Qt had its turn, and files are not polled before
  it is finished; otherwise one event could call its reader twice.
- No exception leaves into Qt, which would print and forget it: `run_forever` raises it.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import math
import os
import select
import selectors
import signal
import sys
import threading
import time
from asyncio.base_events import BaseEventLoop, _format_handle  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSocketNotifier, Qt, QTimer

os.environ["QT_API"] = "pyside6"  # else qasync takes the first Qt binding that it finds
import qasync

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

log = logging.getLogger(__name__)

# How long callbacks may keep Qt from painting: well below a frame of 60 Hz, with room for the painting.
BUDGET = 0.006
# The last stretch before a timer is waited out by polling, because Qt counts whole milliseconds.
POLLED = 0.00025
# A timer further away is armed again on the way: Qt counts milliseconds in 32 bits.
FARTHEST = 24 * 3600.0
# Handlers that open nested Qt loops inside each other without end must not exhaust the stack.
DEEPEST = 16


class _Wake(QObject):
    """Receives an event that any thread may post."""

    def __init__(self, woken: Callable[[], None]) -> None:
        super().__init__()
        self._woken = woken

    def customEvent(self, _event: QEvent) -> None:
        self._woken()

    def post(self) -> None:
        QCoreApplication.postEvent(self, QEvent(QEvent.Type.User))


class AirlockLoop(qasync.QEventLoop):
    """Works wherever Qt does: qasync watches the files. `new_event_loop` makes the best for the platform."""

    # qasync replaced these; asyncio's are faster and complete (cancel accounting, debug mode, executor).
    time = BaseEventLoop.time
    call_later = BaseEventLoop.call_later
    call_soon_threadsafe = BaseEventLoop.call_soon_threadsafe
    run_in_executor = BaseEventLoop.run_in_executor
    set_default_executor = BaseEventLoop.set_default_executor
    set_exception_handler = BaseEventLoop.set_exception_handler
    default_exception_handler = BaseEventLoop.default_exception_handler
    call_exception_handler = BaseEventLoop.call_exception_handler
    get_debug = BaseEventLoop.get_debug
    set_debug = BaseEventLoop.set_debug
    is_running = BaseEventLoop.is_running
    run_until_complete = BaseEventLoop.run_until_complete
    _add_callback = BaseEventLoop._add_callback  # type: ignore[attr-defined]

    # True while someone is going to pump without being asked: in a pump, on the zero timer, or not running.
    _woken = True
    _wake: _Wake | None = None

    # asyncio's, for the type checker.
    _current_handle: asyncio.Handle | None
    _selector: selectors.BaseSelector
    _thread_id: int | None
    _timer_cancelled_count: int

    def __init__(self) -> None:
        app = QCoreApplication.instance()
        if app is None:
            raise RuntimeError("Create the QApplication before its event loop.")
        self._app = app
        super().__init__(app)
        self._batch = 0  # callbacks left of the current turn
        self._depth = 0  # pumps on the stack
        self._quitting = False
        self._fatal: BaseException | None = None
        self._again = QTimer()
        self._again.setInterval(0)
        self._again.timeout.connect(self._pump)
        self._alarm = QTimer()
        self._alarm.setSingleShot(True)
        self._alarm.setTimerType(Qt.TimerType.PreciseTimer)
        self._alarm.timeout.connect(self._pump)
        self._alarm_at = 0.0
        self._wake = _Wake(self._pump)

    # Scheduling

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = BaseEventLoop.call_soon(self, callback, *args, context=context)
        if not self._woken:
            self._wake_up()
        return handle

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = BaseEventLoop.call_at(self, when, callback, *args, context=context)
        if not self._woken and self._scheduled[0] is timer:
            self._arm()
        return timer

    def _write_to_self(self) -> None:
        wake = self._wake
        if wake is not None:
            wake.post()

    def _wake_up(self) -> None:
        self._woken = True
        self._again.start()

    def _arm(self) -> None:
        """See to it that the next pump comes in time."""
        if self._ready or self._stopping:
            if not self._woken:
                self._wake_up()
            return
        self._drop_cancelled_timers()
        if not self._scheduled:
            self._alarm.stop()
        else:
            when = self._scheduled[0].when()
            if when != self._alarm_at or not self._alarm.isActive():
                wait = min(when - time.monotonic(), FARTHEST) - POLLED
                if wait <= 0:
                    self._wake_up()
                    return
                self._alarm_at = when
                self._alarm.start(math.ceil(wait * 1000))
        self._woken = False
        self._again.stop()

    # Running

    def _pump(self, *_: object) -> None:
        """Run what is ready, for no longer than the budget, from an event of Qt."""
        if self._thread_id is None or self._quitting:
            self._again.stop()
            return
        if self._depth >= DEEPEST:
            # The pumps below go on; each sees to the next wake-up as it ends.
            self._woken = False
            self._again.stop()
            return
        # There is one when a task opened a nested Qt loop; it must not seem to be the task that runs here.
        parked = asyncio.current_task(self)
        if parked is not None:
            asyncio.tasks._leave_task(self, parked)
        self._depth += 1
        try:
            self._wake_up()
            until = time.monotonic() + BUDGET
            while self._turn(until):
                pass
        except BaseException as exc:  # noqa: BLE001 - handed to run_forever, see the module's text
            self._batch = 0
            self._fatal = exc
            self._quit()
        finally:
            self._depth -= 1
            if parked is not None:
                asyncio.tasks._enter_task(self, parked)
        if not self._quitting:
            self._arm()

    def _turn(self, until: float) -> bool:
        """One iteration of an asyncio loop, or the rest of one; true if another may follow at once."""
        if not self._batch:
            self._poll_files()
            self._take_due_timers()
            self._batch = len(self._ready)
        run = self._run_watched if self._debug else asyncio.Handle._run
        ready = self._ready
        while self._batch:
            self._batch -= 1
            handle = ready.popleft()
            if not handle._cancelled:
                run(handle)
            if time.monotonic() >= until:
                break
        if self._batch or self._quitting:
            return False
        if self._stopping:
            self._quit()
            return False
        return bool(ready) and time.monotonic() < until

    def _run_watched(self, handle: asyncio.Handle) -> None:
        self._current_handle = handle
        try:
            began = time.monotonic()
            handle._run()
            took = time.monotonic() - began
        finally:
            self._current_handle = None
        if took >= self.slow_callback_duration:
            log.warning("Executing %s took %.3f seconds", _format_handle(handle), took)

    def _poll_files(self) -> None:
        """Collect what files have for us; qasync brings it by itself."""

    def _take_due_timers(self) -> None:
        scheduled = self._scheduled
        if not scheduled:
            return
        self._drop_cancelled_timers()
        now = time.monotonic()
        while scheduled and scheduled[0]._when <= now:
            timer = heapq.heappop(scheduled)
            timer._scheduled = False
            if timer._cancelled:
                self._timer_cancelled_count -= 1
            else:
                self._ready.append(timer)

    def _drop_cancelled_timers(self) -> None:
        scheduled = self._scheduled
        if self._timer_cancelled_count > 50 and self._timer_cancelled_count * 2 > len(scheduled):
            for timer in scheduled:
                if timer._cancelled:
                    timer._scheduled = False
            # In place: a pump below this one may hold the list.
            scheduled[:] = [timer for timer in scheduled if timer._scheduled]
            heapq.heapify(scheduled)
            self._timer_cancelled_count = 0
        while scheduled and scheduled[0]._cancelled:
            heapq.heappop(scheduled)._scheduled = False
            self._timer_cancelled_count -= 1

    # Life cycle

    def run_forever(self) -> None:
        self._check_closed()
        self._check_running()
        self._set_coroutine_origin_tracking(self._debug)
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(
            firstiter=self._asyncgen_firstiter_hook, finalizer=self._asyncgen_finalizer_hook
        )
        self._thread_id = threading.get_ident()
        asyncio._set_running_loop(self)
        restore_signals = self._let_signals_wake()
        self._before_run_forever()
        try:
            self._wake_up()
            self._app.exec()
        finally:
            self._after_run_forever()
            restore_signals()
            asyncio._set_running_loop(None)
            self._woken = True
            self._again.stop()
            self._alarm.stop()
            self._batch = 0
            self._quitting = self._stopping = False
            self._thread_id = None
            sys.set_asyncgen_hooks(*hooks)
            self._set_coroutine_origin_tracking(False)
        fatal, self._fatal = self._fatal, None
        if fatal is not None:
            try:
                raise fatal
            finally:
                del fatal  # the traceback holds this frame

    def stop(self) -> None:
        self._stopping = True
        if not self._woken:
            self._wake_up()

    def _quit(self) -> None:
        self._quitting = True
        self._again.stop()
        self._app.exit()

    def _let_signals_wake(self) -> Callable[[], None]:
        """Python handles a signal only when it runs code, and inside Qt's wait it does not."""
        on_unix = hasattr(self, "_signal_handlers")
        if not on_unix or threading.current_thread() is not threading.main_thread():
            return lambda: None
        before = signal.set_wakeup_fd(self._csock.fileno(), warn_on_full_buffer=False)

        def restore() -> None:
            if not self._signal_handlers:
                signal.set_wakeup_fd(before)

        return restore

    def close(self) -> None:
        if self.is_running():
            raise RuntimeError("Cannot close a running event loop")
        if self.is_closed():
            return
        self._again.timeout.disconnect(self._pump)
        self._alarm.timeout.disconnect(self._pump)
        self._wake = None
        super().close()


class EpollLoop(AirlockLoop):
    """Watches all files through one epoll, whose own descriptor is the only one that Qt watches."""

    _add_reader = asyncio.SelectorEventLoop._add_reader  # type: ignore[attr-defined]
    _remove_reader = asyncio.SelectorEventLoop._remove_reader  # type: ignore[attr-defined]
    _add_writer = asyncio.SelectorEventLoop._add_writer  # type: ignore[attr-defined]
    _remove_writer = asyncio.SelectorEventLoop._remove_writer  # type: ignore[attr-defined]
    _write_to_self = asyncio.SelectorEventLoop._write_to_self  # type: ignore[attr-defined]

    def __init__(self) -> None:
        super().__init__()
        # qasync insists on its own selector; nothing but the wake-up socket is in it yet.
        self._remove_reader(self._ssock.fileno())
        self._selector.close()
        self._selector = selectors.EpollSelector()
        self._add_reader(self._ssock.fileno(), self._read_from_self)
        self._notifier = QSocketNotifier(self._selector.fileno(), QSocketNotifier.Type.Read)
        self._notifier.setEnabled(False)
        self._notifier.activated.connect(self._pump)

    def _poll_files(self) -> None:
        self._process_events(self._selector.select(0))

    def _before_run_forever(self) -> None:
        super()._before_run_forever()
        self._notifier.setEnabled(True)

    def _after_run_forever(self) -> None:
        self._notifier.setEnabled(False)
        super()._after_run_forever()

    def close(self) -> None:
        if not self.is_running() and not self.is_closed():
            self._notifier.activated.disconnect(self._pump)
        super().close()


def new_event_loop() -> AirlockLoop:
    """The loop for this platform; a `loop_factory` for `asyncio.Runner`."""
    return EpollLoop() if hasattr(select, "epoll") else AirlockLoop()
