"""Processes that outlive us: started apart, recognised again by another agent, ended cleanly.

What must stay true: nothing of ours (a pipe, a terminal, a process group) ties a recording to the
agent, so the agent may be killed at any moment; and a process number alone is never believed, since
numbers come round again: a process is ours when it was started with our arguments, which name a file
that no other process was ever told of. (Start times are no help: they move when the clock is set.)
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

log = logging.getLogger(__name__)
POLL = 0.05  # where the system cannot tell us that a process ended


@dataclass
class Detached:
    """A running process that is, or may once have been, our child."""

    pid: int
    argv: list[str]
    _child: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _code: int | None = None
    _gone: bool = False

    def running(self) -> bool:
        """Whether it runs; collects its exit code when it is our child."""
        if self._gone:
            return False
        self._gone = not (self._child_runs() if self._child is not None else self._stranger_runs())
        return not self._gone

    @property
    def exit_code(self) -> int | None:
        """None while it runs, and for a process whose code only its own parent was told."""
        return self._code

    def _child_runs(self) -> bool:
        assert self._child is not None
        self._code = self._child.poll()
        return self._code is None

    def _stranger_runs(self) -> bool:
        try:
            process = psutil.Process(self.pid)
            if process.status() != psutil.STATUS_ZOMBIE:
                return bool(process.cmdline() == self.argv)
        except psutil.NoSuchProcess:
            pass
        except psutil.AccessDenied:
            return True
        self._reap()
        return False

    def _reap(self) -> None:
        """A process found again may still be a child of ours, when the agent was restarted in one process."""
        if sys.platform == "win32":
            return
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == self.pid:
            self._code = os.waitstatus_to_exitcode(status)

    async def wait(self) -> int | None:
        """Returns within milliseconds of the process's end, with its exit code where it can be known."""
        descriptor = _pidfd(self.pid)
        try:
            if descriptor is not None and self.running():
                await _readable(descriptor)
        finally:
            if descriptor is not None:
                os.close(descriptor)
        while self.running():  # noqa: ASYNC110  (nothing else tells us here)
            await asyncio.sleep(POLL)
        return self.exit_code

    def interrupt(self) -> None:
        if sys.platform == "win32":
            self._send(signal.CTRL_BREAK_EVENT)
        else:
            self._send(signal.SIGINT)

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        if sys.platform == "win32":
            self._send(signal.SIGTERM)  # there it ends a process without asking it
        else:
            self._send(signal.SIGKILL)

    def kill_group(self) -> None:
        """Ends it together with the processes that it started."""
        if sys.platform == "win32":
            self.kill()
        elif self.running():
            _kill_group(self.pid)

    def sweep(self) -> None:
        """Ends what it left behind, where the system does not end children with their parent.

        Only right after its end: the number of a group is not given out again while anything of it is left.
        """
        if sys.platform not in ("win32", "linux"):
            _kill_group(self.pid)

    def _send(self, number: int) -> None:
        if not self.running():
            return
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass  # it ended between the question and the signal
        except OSError as error:
            log.warning("signal %s could not be sent to process %s: %s", number, self.pid, error)

    def let_go(self) -> None:
        """Leaves it running for good: we no longer care when it ends."""
        if self._child is not None and self._child.returncode is None:
            # Popen complains about a child that it outlives; this one is meant to be outlived by nobody.
            self._child.returncode = 0
            self._child = None


def spawn(
    argv: Sequence[str],
    output: Path,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    descriptors: Sequence[int] = (),
) -> Detached:
    """Starts a process in a session of its own, with its output in a file. Blocks for about a millisecond.

    `descriptors` stay open in it, under the same numbers.
    """
    apart: dict[str, object] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    # Opened for appending, so that the file can be emptied while the process goes on writing to it.
    if descriptors:
        apart["pass_fds"] = tuple(descriptors)
    with output.open("ab") as file:
        child: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload]
            list(argv), stdin=subprocess.DEVNULL, stdout=file, stderr=file,
            env=None if environment is None else dict(environment), cwd=folder, **apart,
        )  # fmt: skip
    return Detached(child.pid, list(argv), child)


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # nothing is left
    except OSError as error:
        log.warning("process group %s could not be ended: %s", pid, error)


def find(pid: int | None, argv: Sequence[str]) -> Detached | None:
    """The process of that number, if it is the one that was started with these arguments."""
    if pid is None:
        return None
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE or _arguments(process) != list(argv):
            return None
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
    return Detached(pid, list(argv))


def _arguments(process: psutil.Process) -> list[str]:
    """A process that was started this very moment shows none for some microseconds."""
    for _ in range(10):
        if found := process.cmdline():
            return list(found)
        time.sleep(0.005)
    return []


def search(argv: Sequence[str]) -> Detached | None:
    """Looks through all processes: for one whose number was never written down."""
    wanted = list(argv)
    for process in psutil.process_iter(["cmdline"]):
        if process.info["cmdline"] == wanted and (found := find(process.pid, wanted)) is not None:
            return found
    return None


async def end(process: Detached, patience: Sequence[float] = (6.0, 3.0, 3.0)) -> bool:
    """Interrupts, then terminates, then kills. Returns whether it ended."""
    waiting = asyncio.ensure_future(process.wait())
    try:
        for step, limit in zip((process.interrupt, process.terminate, process.kill), patience, strict=True):
            step()
            done, _ = await asyncio.wait({waiting}, timeout=limit)
            if done:
                return True
        return False
    finally:
        waiting.cancel()


def _pidfd(pid: int) -> int | None:
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
