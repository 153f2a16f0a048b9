"""Prepares the folder `.venv` so that Airlock can run: `python bootstrap.py GROUP [--libraries PURPOSE]`.

Standard library only, because nothing is installed yet. What must stay true:
- The stamp file in `.venv` names a group only when every package of that group is installed whole. It is
  taken away before anything is changed, so an interrupted set-up is begun again from an empty folder.
- One set-up at a time: a lock in `.venv` is held, also by pip itself, until the work is over.
- The user's own pip configuration decides where packages come from; the hashes decide what is accepted.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import system_libraries

HERE = Path(__file__).resolve().parent
VENV = HERE.parent.parent / ".venv"
STAMP = VENV / "airlock-stamp.json"
LOCK = VENV / "airlock-setup.lock"
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

# Each group's pins hold those of the groups before it, at the same versions.
GROUPS = ("run", "test", "bench")

# The oldest GNU C libraries for which Qt for Python 6.11 is published.
OLDEST_GLIBC = {"x86_64": (2, 34), "aarch64": (2, 39)}


class SetupFailed(Exception):
    """Set-up cannot go on; the message is all that the user needs to see."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def requirements(group: str) -> Path:
    return HERE / f"{group}.txt"


def python_identity() -> dict[str, str]:
    """What the installed packages depend on, read from the Python that runs this."""
    return {
        "implementation": sys.implementation.cache_tag or sys.implementation.name,
        "platform": sysconfig.get_platform(),
        "base": os.path.realpath(sys.base_prefix),
        "venv": str(VENV),
    }


def digest(group: str) -> str:
    # Read as text, so that a checkout with Windows line ends is the same.
    content = requirements(group).read_text(encoding="utf-8")
    return hashlib.sha256(content.encode()).hexdigest()


def read_stamp() -> dict[str, dict[str, str]]:
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
        return {"python": dict(stamp["python"]), "groups": dict(stamp["groups"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"python": {}, "groups": {}}


def write_stamp(groups: dict[str, str]) -> None:
    unfinished = STAMP.with_suffix(".new")
    unfinished.write_text(
        json.dumps({"python": python_identity(), "groups": groups}, indent=1), encoding="utf-8"
    )
    unfinished.replace(STAMP)


def is_ready(group: str) -> bool:
    stamp = read_stamp()
    return (
        stamp["python"] == python_identity()
        and stamp["groups"].get(group) == digest(group)
        and VENV_PYTHON.exists()
    )


def is_another_pythons() -> bool:
    """Whether `.venv` is sound but made by another Python than this one, which nobody asked for by name.

    Its programs may be running, so its own Python must do the work rather than this one making it anew.
    """
    made_by = read_stamp()["python"]
    if os.environ.get("PYTHON") or Path(sys.prefix) == VENV:
        return False
    if not made_by or made_by == python_identity() or made_by["venv"] != str(VENV):
        return False
    supported = "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))"
    try:
        return subprocess.run([VENV_PYTHON, "-c", supported], stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


@contextlib.contextmanager
def only_one() -> Iterator[int]:
    """Holds the lock and gives its file descriptor, which children inherit: they may outlive this process."""
    VENV.mkdir(exist_ok=True)
    with LOCK.open("a+b") as file:
        if not _try_lock(file.fileno()):
            say("Waiting for another set-up of this folder to finish …")
            _wait_for_lock(file.fileno())
        yield file.fileno()


if sys.platform == "win32":
    import msvcrt
    import time

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _wait_for_lock(descriptor: int) -> None:
        while not _try_lock(descriptor):
            time.sleep(0.2)

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait_for_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def run(arguments: list[str], lock: int) -> tuple[int, bool, str]:
    """Runs a Python child quietly; gives its exit code, whether it began to install, and its last lines.

    Only large downloads are told, so that a slow connection does not look like a standstill.
    """
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    environment |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PYTHONUNBUFFERED": "1"}
    last: deque[str] = deque(maxlen=15)
    installing = False
    with subprocess.Popen(
        arguments,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        pass_fds=(lock,) if os.name == "posix" else (),
    ) as child:
        assert child.stdout is not None
        try:
            for line in child.stdout:
                if large := re.match(r"\s*Downloading (\S+?)-\d\S* \((\d{2,}\.\d MB)\)", line):
                    say(f"  downloading {large[1].rpartition('/')[2]}, {large[2]}")
                installing |= line.startswith("Installing collected packages")
                # These come by the dozen and would push the reason of a failure out of sight.
                if not line.lstrip().startswith(("Requirement already satisfied", "Expected     or")):
                    last.append(line.rstrip())
        except BaseException:
            child.terminate()
            raise
    return child.returncode, installing, "\n".join(last)


def check_glibc() -> None:
    """Says the real reason, where pip would only say that no version of Qt matches."""
    if sys.platform != "linux":
        return
    try:
        found = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        return
    numbers = re.search(r"(\d+)\.(\d+)", found or "")
    oldest = OLDEST_GLIBC.get(os.uname().machine)
    if numbers and oldest and (int(numbers[1]), int(numbers[2])) < oldest:
        raise SetupFailed(
            f"Qt for Python needs glibc {oldest[0]}.{oldest[1]} or newer on {os.uname().machine} and this "
            f"system has {numbers[0]}: use a newer system, such as Debian 13 or Ubuntu 24.04."
        )


def make_venv(lock: int) -> None:
    """An empty `.venv` of the Python that runs this, whatever was there before."""
    say(f"Making .venv with Python {sys.version.split()[0]} …")
    for entry in VENV.iterdir():
        if entry == LOCK:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    base = getattr(sys, "_base_executable", None) or sys.executable
    code, _, said = run([base, "-m", "venv", str(VENV)], lock)
    if code != 0:
        raise SetupFailed(
            f"{said}\nPython could not make a virtual environment in {VENV}; see its words above."
        )


def install(group: str, lock: int) -> None:
    check_glibc()
    stamp = read_stamp()
    # In place where it can be: a station may be running from these very files.
    groups = stamp["groups"] if stamp["python"] == python_identity() and VENV_PYTHON.exists() else {}
    STAMP.unlink(missing_ok=True)
    if not groups:
        make_venv(lock)
    names = ", ".join(GROUPS[: GROUPS.index(group) + 1])
    say(f"Installing packages ({names}{'' if groups else '; about 200 MB to download'}) …")
    pip = [str(VENV_PYTHON), "-m", "pip", "install", "--no-user", "--progress-bar=off"]
    exactly = ["--require-hashes", "--no-deps", "--only-binary=:all:", "-r", str(requirements(group))]
    code, installing, said = run([*pip, *exactly], lock)
    if code != 0:
        if groups and not installing:
            write_stamp(groups)
        raise SetupFailed(
            f"{said}\nPackages could not be installed (pip's own words are above): "
            "see that this machine reaches its package index, then run it again."
        )
    for included in GROUPS[: GROUPS.index(group) + 1]:
        groups[included] = digest(included)
    write_stamp(groups)


def main() -> int:
    parser = argparse.ArgumentParser(description="Prepare .venv for Airlock.")
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("--libraries", choices=("none", "offscreen", "screen"), default="screen")
    options = parser.parse_args()
    if not (3, 11) <= sys.version_info < (3, 14):
        say(f"Airlock needs Python 3.11, 3.12 or 3.13, and this is {sys.version.split()[0]}.")
        return 1
    try:
        if not is_ready(options.group):
            with only_one() as lock:
                hand_over = is_another_pythons()
                if not hand_over and not is_ready(options.group):
                    install(options.group, lock)
                    say("Ready.")
            if hand_over:
                return subprocess.run([VENV_PYTHON, __file__, *sys.argv[1:]]).returncode
        system_libraries.provide(options.libraries)
    except (SetupFailed, system_libraries.LibrariesMissing) as problem:
        say(str(problem))
        return 1
    except OSError as problem:
        say(f"Set-up could not write what it must: {problem}.")
        return 1
    except KeyboardInterrupt:
        say("Set-up interrupted; the next run begins it again.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
