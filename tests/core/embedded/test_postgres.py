"""The embedded database: started once, found again, and a sentence when it cannot be."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import psutil
import pytest

from core.embedded import postgres as module
from core.embedded.postgres import NO_PROCESS, SYSTEM_USER, EmbeddedPostgres, Running
from core.errors import EmbeddedPlantError

ROOT = Path(__file__).parents[3]
START = (
    "import sys; from pathlib import Path; from core.embedded.postgres import EmbeddedPostgres; "
    "print(EmbeddedPostgres(Path(sys.argv[1])).start().pid)"
)


def make_home() -> Path:
    home = Path(tempfile.mkdtemp(prefix="airlock-test-"))
    home.chmod(0o755)
    return home


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """One folder for all tests here, because making a database takes a second. Each test starts it itself."""
    home = make_home()
    yield home
    EmbeddedPostgres(home).stop()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def empty() -> Iterator[Path]:
    home = make_home()
    yield home
    EmbeddedPostgres(home).stop()
    shutil.rmtree(home, ignore_errors=True)


def at_once(program: str, *arguments: str, times: int) -> list[str]:
    command = [sys.executable, "-c", program, *arguments]
    running = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(times)]
    said = [process.communicate(timeout=90)[0].strip() for process in running]
    assert [process.returncode for process in running] == [0] * times
    return said


def somebodys_process() -> subprocess.Popen[bytes]:
    """A process of the user that PostgreSQL runs as."""
    options = {"user": SYSTEM_USER} if os.geteuid() == 0 else {}
    return subprocess.Popen([shutil.which("sleep") or "sleep", "60"], **options)  # type: ignore[call-overload]


async def works(running: Running) -> bool:
    connection = await asyncpg.connect(running.url)
    answer = await connection.fetchval("SELECT 41 + 1")
    await connection.close()
    return bool(answer == 42)


def test_two_programs_at_once_start_one_server(home: Path) -> None:
    pids = at_once(START, str(home), times=2)
    assert pids[0] == pids[1] and psutil.pid_exists(int(pids[0]))
    # A server's own helpers work in its folder too; the server is the one whose parent is none of them.
    inside = {
        p.pid: p.ppid()
        for p in psutil.process_iter(["name", "cwd"])
        if p.info["cwd"] == str(home / "database")
    }
    assert [str(pid) for pid, parent in inside.items() if parent not in inside] == pids[:1]


async def test_it_is_found_again_and_quickly(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    postgres = EmbeddedPostgres(home)
    first = postgres.start()
    took = []
    for _ in range(5):
        began = time.perf_counter()
        assert EmbeddedPostgres(home).start() == first
        took.append(time.perf_counter() - began)
    with capsys.disabled():
        print(f"\n  embedded database found again in {min(took) * 1000:.1f} to {max(took) * 1000:.1f} ms")
    assert min(took) < 0.05
    assert await works(first)
    link = home.parent / f"{home.name}-link"
    link.symlink_to(home)
    try:
        assert EmbeddedPostgres(link).start().pid == first.pid, "the same folder by another name"
    finally:
        link.unlink()
    assert (home / "database").stat().st_mode & 0o077 == 0, "others can enter the database's folder"


async def test_it_stops_and_starts_and_keeps_what_it_has(home: Path) -> None:
    postgres = EmbeddedPostgres(home)
    connection = await asyncpg.connect(postgres.start().url)
    await connection.execute("CREATE TABLE IF NOT EXISTS kept (id int)")
    await connection.close()
    postgres.stop()
    assert postgres.find() is None
    postgres.stop()
    (home / "database.log").unlink()
    connection = await asyncpg.connect(postgres.start().url)
    assert await connection.fetchval("SELECT count(*) FROM kept") == 0
    await connection.close()


async def test_a_killed_server_is_started_again_at_once(home: Path, eventually: Callable[..., Any]) -> None:
    postgres = EmbeddedPostgres(home)
    running = postgres.start()
    session = await asyncpg.connect(running.url)
    orphan = session.get_server_pid()
    os.kill(
        orphan, signal.SIGSTOP
    )  # so that it outlives its server for a while, and keeps the memory they share
    os.kill(running.pid, signal.SIGKILL)
    await eventually(lambda: postgres.find() is None, what="its end")
    timer = threading.Timer(0.4, os.kill, (orphan, signal.SIGCONT))
    timer.start()
    again = postgres.start()
    timer.join()
    assert again.pid != running.pid and await works(again)
    session.terminate()


async def test_a_process_number_that_came_round_again_is_no_server(home: Path) -> None:
    """A lock file left by a crash may name any process by now, one of the same user included."""
    postgres = EmbeddedPostgres(home)
    running = postgres.start()
    lock = home / "database" / "postmaster.pid"
    socket_lock = home / "database" / ".s.PGSQL.5432.lock"
    kept = {path: path.read_text(encoding="utf-8").splitlines() for path in (lock, socket_lock)}
    postgres.stop()
    stranger = somebodys_process()
    try:
        for number in (stranger.pid, os.getpid(), NO_PROCESS):
            for path, lines in kept.items():
                path.write_text("\n".join([str(number), *lines[1:]]) + "\n", encoding="utf-8")
            assert postgres.find() is None
            again = postgres.start()
            assert again.pid not in (number, running.pid) and await works(again)
            postgres.stop()
        assert stranger.poll() is None, "a stranger's process was ended"
    finally:
        stranger.kill()
        stranger.wait()


def test_a_server_that_is_still_starting_is_waited_for(home: Path) -> None:
    postgres = EmbeddedPostgres(home)
    running = postgres.start()
    lock = home / "database" / "postmaster.pid"
    ready = lock.read_text(encoding="utf-8")
    lock.write_text(ready.replace("ready   ", "starting"), encoding="utf-8")
    assert postgres.find() is None
    timer = threading.Timer(0.3, lambda: lock.write_text(ready, encoding="utf-8"))
    timer.start()
    began = time.monotonic()
    assert postgres.start() == running and time.monotonic() - began > 0.2
    timer.join()


def test_a_full_disk_is_said_before_anything_is_written_and_stops_nobody_from_looking(
    home: Path, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A disk cannot be filled in a test: what the system says about it is replaced.
    running = EmbeddedPostgres(home).start()
    monkeypatch.setattr(
        module.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**9, 10**9, 50 * 1024**2)
    )
    with pytest.raises(EmbeddedPlantError) as said:
        EmbeddedPostgres(empty).start()
    assert str(said.value) == (
        f"Only 50 MB are free where the plant's folder {empty} lies and the database needs 200 MB: make room, "
        f"or name another folder with AIRLOCK_HOME."
    )
    assert not (empty / "database").exists()
    assert EmbeddedPostgres(home).start() == running


def test_a_server_that_cannot_start_says_what_postgresql_says(home: Path) -> None:
    postgres = EmbeddedPostgres(home)
    postgres.start()
    postgres.stop()
    conf = home / "database" / "postgresql.conf"
    good = conf.read_text(encoding="utf-8")
    conf.write_text(good + "\nmax_connections = many\n", encoding="utf-8")
    try:
        with pytest.raises(EmbeddedPlantError) as said:
            postgres.start()
    finally:
        conf.write_text(good, encoding="utf-8")
    assert str(said.value).startswith(
        "The embedded database could not be started (pg_ctl failed). PostgreSQL says: "
    )
    assert "contains errors" in str(said.value) and str(said.value).endswith(
        f"Its log is {home / 'database.log'}."
    )
    postgres.start()


# -- folders -----------------------------------------------------------------------------------------


def test_a_database_of_another_version(empty: Path) -> None:
    (empty / "database").mkdir()
    (empty / "database" / "PG_VERSION").write_text("17\n", encoding="utf-8")
    with pytest.raises(EmbeddedPlantError) as said:
        EmbeddedPostgres(empty).start()
    assert str(said.value) == (
        f"{empty / 'database'} was made by PostgreSQL 17 and this Airlock has PostgreSQL 18: "
        f"open it with the Airlock that made it, or name another folder with AIRLOCK_HOME."
    )


def test_a_folder_of_somebody_elses_files_is_left_alone(empty: Path) -> None:
    (empty / "database").mkdir()
    (empty / "database" / "photo.jpg").write_text("x", encoding="utf-8")
    with pytest.raises(
        EmbeddedPlantError, match=r"holds files and no database: empty it, or name another folder"
    ):
        EmbeddedPostgres(empty).start()
    assert (empty / "database" / "photo.jpg").exists()


@pytest.mark.parametrize("inside", [False, True])
def test_a_file_in_place_of_the_folder(empty: Path, inside: bool) -> None:
    (empty / "plant").write_text("a file", encoding="utf-8")
    folder = empty / "plant" / "deeper" if inside else empty / "plant"
    with pytest.raises(EmbeddedPlantError) as said:
        EmbeddedPostgres(folder).start()
    assert str(said.value).startswith(f"The plant's folder {folder} cannot be used: ")
    assert str(said.value).endswith("Name another one with AIRLOCK_HOME.")


@pytest.fixture
def ordinary_user() -> Iterator[None]:
    """Permissions do not stop root: for the time of a test we are somebody else."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    yield
    os.seteuid(0)


@pytest.mark.parametrize("which", [".", "database"])
def test_a_folder_that_is_locked_away(empty: Path, which: str, ordinary_user: None) -> None:
    effective = os.geteuid()
    if os.getuid() == 0:
        os.seteuid(0)
    try:
        (empty / "database").mkdir(exist_ok=True)
        empty.chmod(0o777)
        (empty / which).chmod(0o000 if os.getuid() else 0o700)
        os.seteuid(effective)
        with pytest.raises(EmbeddedPlantError) as said:
            EmbeddedPostgres(empty).start()
        assert str(said.value) == (
            f"The plant's folder {empty} cannot be used: Permission denied. Name another one with AIRLOCK_HOME."
        )
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        (empty / which).chmod(0o755)
        empty.chmod(0o755)


def test_a_folder_that_cannot_be_locked(empty: Path) -> None:
    (empty / ".starting").mkdir()
    with pytest.raises(EmbeddedPlantError, match=r"cannot be locked: Is a directory\. Name another one"):
        EmbeddedPostgres(empty).start()
    (empty / ".starting").rmdir()


async def test_a_first_start_that_was_cut_off_is_begun_again_whatever_the_folder_is_called(
    empty: Path,
) -> None:
    """Spaces, quotes, dollars and the like: pg_ctl hands much of what it is given to a shell."""
    odd = empty / "plant $(touch x) `y` 'q' \"d\" & 100% #ü"
    half = odd / "database.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n", encoding="utf-8")  # as initdb leaves it when it is killed
    (odd / "database").mkdir()
    postgres = EmbeddedPostgres(odd)
    try:
        assert await works(postgres.start())
        assert not half.exists() and "x" not in {path.name for path in postgres.data.iterdir()}
    finally:
        postgres.stop()


async def test_a_very_long_folder(empty: Path) -> None:
    long = empty / ("a,long/" + "x" * 60 + "/" + "y" * 60)
    postgres = EmbeddedPostgres(long)
    running = postgres.start()
    short = postgres._socket_folder()
    try:
        assert await works(running)
        assert len(str(short)) < 60 and short.stat().st_mode & 0o077 == 0
        assert EmbeddedPostgres(long).start() == running
    finally:
        postgres.stop()
        shutil.rmtree(short)


def test_the_short_folder_is_not_taken_from_a_stranger(empty: Path) -> None:
    long = empty / ("x" * 60 + "/" + "y" * 60)
    (long / "database").mkdir(parents=True)
    postgres = EmbeddedPostgres(long)
    postgres._hand_over(postgres.data)
    short = postgres._socket_folder()
    short.rmdir()
    target = empty / "elsewhere"
    target.mkdir(mode=0o750)
    owner = target.stat().st_uid
    short.symlink_to(target)
    try:
        with pytest.raises(EmbeddedPlantError, match=r"belongs to somebody else or is open to others"):
            postgres._socket_folder()
        assert target.stat().st_uid == owner, "a link led us to change the owner of somebody else's folder"
    finally:
        short.unlink()
