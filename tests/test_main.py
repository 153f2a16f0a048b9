"""The entry point, run as a person or a service manager runs it: as a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from core import __version__

ROOT = Path(__file__).resolve().parents[1]
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {n: v for n, v in os.environ.items() if not n.startswith("AIRLOCK_") and n not in SCREENS}
    return kept | {"AIRLOCK_HOME": str(home)} | more


def run(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "main.py", *arguments],
        cwd=ROOT, env=environment(home, **more), capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip


def assert_one_sentence(done: subprocess.CompletedProcess[str], code: int = 1) -> str:
    """Nothing but one line that a person can read, and no traceback anywhere."""
    assert done.returncode == code, done.stderr
    lines = [line for line in done.stderr.splitlines() if line]
    assert len(lines) == 1, done.stderr
    assert lines[0].endswith("."), lines[0]
    assert "Traceback" not in done.stdout + done.stderr
    return lines[0]


class Scheduler:
    def __init__(self, home: Path, *arguments: str, program: list[str] | None = None) -> None:
        self.log = home / "logs" / "scheduler.log"
        self._process = subprocess.Popen(
            [sys.executable, *(program or ["main.py"]), "scheduler", *arguments],
            cwd=ROOT, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def wait_for(self, text: str, within: float = 20.0) -> None:
        deadline = time.monotonic() + within
        while not (self.log.exists() and text in self.log.read_text(encoding="utf-8")):
            assert self._process.poll() is None, self.output()
            assert time.monotonic() < deadline, f"{text!r} was not said in {within} s"
            time.sleep(0.02)

    def end(self, how: signal.Signals) -> tuple[int, float]:
        """Its exit code, and how long it took to leave."""
        began = time.monotonic()
        self._process.send_signal(how)
        code = self._process.wait(15)
        return code, time.monotonic() - began

    def output(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.read()

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()


@pytest.fixture
def schedulers() -> Iterator[list[Scheduler]]:
    """Whatever a test starts is ended, however the test ends."""
    started: list[Scheduler] = []
    yield started
    for scheduler in started:
        scheduler.close()


async def ask(url: str, question: str) -> list[tuple[object, ...]]:
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(question)]
    finally:
        await connection.close()


# -- what it says ------------------------------------------------------------------------------


def test_help_names_every_program_and_every_setting(tmp_path: Path) -> None:
    done = run(tmp_path, "--help")
    assert done.returncode == 0
    programs = ("scheduler", "agent", "snapshot")
    settings = ("AIRLOCK_DATABASE_URL", "AIRLOCK_HOME", "AIRLOCK_TICK_MS", "LIVE_ASSET_TIMEOUT_MINUTES")
    for word in (*programs, "--database", "--home", *settings, "airlock.toml"):
        assert word in done.stdout
    assert "AIRLOCK_TOKEN" not in done.stdout, "a secret is not a flag: other users see the arguments"
    assert not done.stderr


@pytest.mark.parametrize("command", ["scheduler", "snapshot"])
def test_each_command_has_its_own_help(tmp_path: Path, command: str) -> None:
    done = run(tmp_path, command, "--help")
    assert done.returncode == 0
    assert command in done.stdout.splitlines()[0]
    assert "--database" in done.stdout


def test_version(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").stdout.strip() == f"Airlock {__version__}"


def test_without_a_screen_the_control_room_says_what_to_run_instead(tmp_path: Path) -> None:
    done = run(tmp_path)
    sentence = assert_one_sentence(done, code=2)
    assert "main.py scheduler" in sentence and "snapshot" in sentence


# -- what it refuses ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, named",
    [
        (("scheduler", "--tick-ms", "soon"), "--tick-ms"),
        (("scheduler", "--tick-ms", "1"), "--tick-ms"),
        (("--metrics-port", "70000", "scheduler"), "--metrics-port"),
        (("scheduler", "--database", "mysql://x/y"), "--database"),
        (("scheduler", "--station", "two words"), "--station"),
        (("scheduler", "--log-level", "loud"), "--log-level"),
    ],
)
def test_a_wrong_flag_is_one_sentence(tmp_path: Path, arguments: tuple[str, ...], named: str) -> None:
    assert named in assert_one_sentence(run(tmp_path, *arguments))


def test_a_wrong_environment_variable_is_one_sentence(tmp_path: Path) -> None:
    assert "AIRLOCK_TICK_MS" in assert_one_sentence(run(tmp_path, "scheduler", AIRLOCK_TICK_MS="soon"))


@pytest.mark.parametrize("content", ["tick = 5\n", "tick_ms = 'soon'\n", "this is no toml\n"])
def test_a_wrong_configuration_file_is_one_sentence(tmp_path: Path, content: str) -> None:
    (tmp_path / "airlock.toml").write_text(content, encoding="utf-8")
    assert "airlock.toml" in assert_one_sentence(run(tmp_path, "scheduler"))


def test_an_unreachable_database_is_one_sentence_without_the_password(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"postgresql://someone:secret-word@127.0.0.1:{closed.getsockname()[1]}/plant"
        done = run(tmp_path, "scheduler", "--database", address)
    sentence = assert_one_sentence(done)
    assert "cannot be reached" in sentence
    assert "secret-word" not in done.stdout + done.stderr


def test_a_database_that_does_not_exist_is_one_sentence(tmp_path: Path, server: str) -> None:
    address = server.replace("/postgres?", "/no_such_plant?")
    assert "no_such_plant" in assert_one_sentence(run(tmp_path, "scheduler", "--database", address))


@pytest.mark.parametrize("right", ["no right to connect", "no right to read"])
async def test_a_login_that_may_not_is_one_sentence(tmp_path: Path, plant: str, right: str) -> None:
    name = f"nobody_{uuid.uuid4().hex[:8]}"
    admin = await asyncpg.connect(plant)
    await admin.execute(f"CREATE ROLE {name} LOGIN")
    if right == "no right to connect":
        database = await admin.fetchval("SELECT current_database()")
        await admin.execute(f"REVOKE CONNECT ON DATABASE {database} FROM PUBLIC")
    try:
        done = run(tmp_path, "scheduler", "--database", plant.replace("postgres@", f"{name}@"))
        assert_one_sentence(done)
    finally:
        await admin.execute(f"DROP ROLE {name}")
        await admin.close()


# -- the headless station ----------------------------------------------------------------------


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_a_scheduler_leads_and_leaves_when_asked(
    tmp_path: Path, plant: str, schedulers: list[Scheduler], how: signal.Signals
) -> None:
    scheduler = Scheduler(tmp_path, "--database", plant, "--station", "HEADLESS")
    schedulers.append(scheduler)
    scheduler.wait_for("leading, epoch")
    assert await ask(plant, "SELECT name, kind, status FROM stations") == [("HEADLESS", "headless", "online")]
    code, took = scheduler.end(how)
    assert code == 0, scheduler.output()
    assert took < 3.0
    assert await ask(plant, "SELECT name, status FROM stations") == [("HEADLESS", "left")]
    assert await ask(plant, "SELECT station, ended_by FROM leadership") == [("HEADLESS", "left")]
    assert "Traceback" not in scheduler.output()


async def test_two_schedulers_of_one_name_get_names_of_their_own(
    tmp_path: Path, plant: str, schedulers: list[Scheduler]
) -> None:
    for number in (1, 2):
        home = tmp_path / str(number)
        schedulers.append(Scheduler(home, "--database", plant, "--station", "DESK"))
        schedulers[-1].wait_for(" runs; ")
    found = await ask(plant, "SELECT name, status FROM stations ORDER BY name")
    assert found == [("DESK", "online"), ("DESK-2", "online")]


WITHOUT_QT = """
    import sys

    class Blocker:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in {"PySide6", "shiboken6", "qasync", "pyqtgraph", "gui"}:
                raise ImportError(f"a headless station asked for {name}")

    sys.meta_path.insert(0, Blocker())
    sys.path.insert(0, "")
    import main
    sys.exit(main.main(sys.argv[1:]))
"""


async def test_a_scheduler_runs_where_qt_is_not_installed(
    tmp_path: Path, plant: str, schedulers: list[Scheduler]
) -> None:
    program = ["-c", textwrap.dedent(WITHOUT_QT)]
    scheduler = Scheduler(tmp_path, "--database", plant, program=program)
    schedulers.append(scheduler)
    scheduler.wait_for("leading, epoch")
    code, _ = scheduler.end(signal.SIGTERM)
    output = scheduler.output()
    assert code == 0, output
    assert "asked for" not in output
