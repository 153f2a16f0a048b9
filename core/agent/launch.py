"""Starts an agent that outlives the program that starts it, finds it again, and ends it.

Everything here blocks for up to some seconds: callers on an event loop use a thread.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fasteners
import psutil

from core.agent import process
from core.agent.errors import AgentError

log = logging.getLogger(__name__)
STATE = "agent.json"
LAUNCH = "launch.json"
LOG = "agent.log"
PATIENCE = 15.0
LARGEST_LOG = 8 * 1024**2
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class LaunchedAgent:
    node: str
    pid: int
    base_url: str


def command_for(node: str, home: Path, media: Path, program: Sequence[str] | None = None) -> list[str]:
    program = [sys.executable, str(ROOT / "main.py"), "agent"] if program is None else program
    return [*program, "--node", node, "--home", str(home), "--media", str(media)]


def launch_agent(
    node: str, database_url: str, token: str, home: Path, media: Path, program: Sequence[str] | None = None
) -> LaunchedAgent:
    """The agent of that folder: the one that runs, or a new one. `program` is what comes before --node."""
    home.mkdir(parents=True, exist_ok=True)
    lock = fasteners.InterProcessLock(home / ".launching")
    if not lock.acquire(timeout=PATIENCE * 2):
        raise AgentError(f"Another program has been starting the agent {node} for half a minute: try again.")
    try:
        found = find_agent(home)
        return _launch(node, database_url, token, home, media, program) if found is None else found
    finally:
        lock.release()


def _launch(
    node: str, database_url: str, token: str, home: Path, media: Path, program: Sequence[str] | None
) -> LaunchedAgent:
    argv = command_for(node, home, media, program)
    environment = {**os.environ, "AIRLOCK_TOKEN": token, "AIRLOCK_DATABASE_URL": database_url}
    output = home / LOG
    if output.exists() and output.stat().st_size > LARGEST_LOG:
        output.replace(home / f"{LOG}.old")
    (home / LAUNCH).unlink(missing_ok=True)
    started = process.spawn(argv, output, environment=environment, folder=ROOT)
    (home / LAUNCH).write_text(json.dumps({"pid": started.pid, "argv": argv}), encoding="utf-8")
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if (found := find_agent(home)) is not None:
            started.let_go()
            return found
        if not started.running():
            raise AgentError(
                f"The agent {node} ended as it started: {_last_words(output)} Its log is {output}."
            )
        time.sleep(0.05)
    started.kill()
    while started.running():
        time.sleep(0.05)
    raise AgentError(f"The agent {node} did not get ready in {PATIENCE:.0f} s. Its log is {output}.")


def find_agent(home: Path) -> LaunchedAgent | None:
    """The agent of that folder, if it runs and listens."""
    launched, state = _read(home / LAUNCH), _read(home / STATE)
    pid, argv = launched.get("pid"), launched.get("argv")
    if not isinstance(pid, int) or not isinstance(argv, list) or process.find(pid, argv) is None:
        return None
    # A virtual environment's python may start the real one as its child.
    if state.get("pid") not in {pid, *_children(pid)}:
        return None  # it has not come so far yet
    return LaunchedAgent(str(state.get("node", "")), pid, str(state.get("base_url", "")))


def stop_agent(home: Path, limit: float = PATIENCE) -> bool:
    """Ends the agent and leaves its recordings running. Returns whether it is gone."""
    launched = _read(home / LAUNCH)
    found = process.find(launched.get("pid"), launched.get("argv") or [])
    if found is None:
        return True
    found.terminate()
    deadline = time.monotonic() + limit
    while found.running():
        if time.monotonic() > deadline:
            log.warning("the agent in %s does not end when asked and is killed", home)
            found.kill()
            time.sleep(0.2)
            return not found.running()
        time.sleep(0.02)
    return True


def _children(pid: int) -> list[int]:
    try:
        return [child.pid for child in psutil.Process(pid).children()]
    except psutil.Error:
        return []


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _last_words(output: Path) -> str:
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[-1].rpartition(": ")[2] if lines else "it said nothing."
