"""The shared libraries that Qt loads from the Linux system, and how to get them.

Owns the list, read off the NEEDED entries of PySide6's own libraries and of its offscreen and xcb plugins.
A library counts as there when the dynamic loader can open it, which is all that Qt will ask of it.
macOS and Windows bring everything themselves.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Library(NamedTuple):
    soname: str
    debian: str
    fedora: str


# Importing QtGui and QtWidgets, and drawing into memory.
OFFSCREEN = (
    Library("libstdc++.so.6", "libstdc++6", "libstdc++"),
    Library("libz.so.1", "zlib1g", "zlib"),
    Library("libzstd.so.1", "libzstd1", "libzstd"),
    Library("libglib-2.0.so.0", "libglib2.0-0", "glib2"),
    Library("libgthread-2.0.so.0", "libglib2.0-0", "glib2"),
    Library("libdbus-1.so.3", "libdbus-1-3", "dbus-libs"),
    Library("libEGL.so.1", "libegl1", "libglvnd-egl"),
    Library("libGL.so.1", "libgl1", "libglvnd-glx"),
    Library("libX11.so.6", "libx11-6", "libX11"),
    Library("libxkbcommon.so.0", "libxkbcommon0", "libxkbcommon"),
    Library("libfontconfig.so.1", "libfontconfig1", "fontconfig"),
    Library("libfreetype.so.6", "libfreetype6", "freetype"),
)

# A window on an X screen, which also serves Wayland desktops through XWayland.
SCREEN = (
    *OFFSCREEN,
    Library("libX11-xcb.so.1", "libx11-xcb1", "libX11-xcb"),
    Library("libxcb.so.1", "libxcb1", "libxcb"),
    Library("libxcb-cursor.so.0", "libxcb-cursor0", "xcb-util-cursor"),
    Library("libxcb-glx.so.0", "libxcb-glx0", "libxcb"),
    Library("libxcb-icccm.so.4", "libxcb-icccm4", "xcb-util-wm"),
    Library("libxcb-image.so.0", "libxcb-image0", "xcb-util-image"),
    Library("libxcb-keysyms.so.1", "libxcb-keysyms1", "xcb-util-keysyms"),
    Library("libxcb-randr.so.0", "libxcb-randr0", "libxcb"),
    Library("libxcb-render.so.0", "libxcb-render0", "libxcb"),
    Library("libxcb-render-util.so.0", "libxcb-render-util0", "xcb-util-renderutil"),
    Library("libxcb-shape.so.0", "libxcb-shape0", "libxcb"),
    Library("libxcb-shm.so.0", "libxcb-shm0", "libxcb"),
    Library("libxcb-sync.so.1", "libxcb-sync1", "libxcb"),
    Library("libxcb-util.so.1", "libxcb-util1", "xcb-util"),
    Library("libxcb-xfixes.so.0", "libxcb-xfixes0", "libxcb"),
    Library("libxcb-xkb.so.1", "libxcb-xkb1", "libxcb"),
    Library("libxkbcommon-x11.so.0", "libxkbcommon-x11-0", "libxkbcommon-x11"),
)


class LibrariesMissing(Exception):
    """Qt cannot start on this machine until its administrator installs the named packages."""


def needed(purpose: str) -> Sequence[Library]:
    """What `purpose` (none, offscreen or screen) loads on this machine, as it is now."""
    if sys.platform != "linux" or purpose == "none":
        return ()
    # Without a screen no window opens and main.py says so; snapshots still draw offscreen.
    has_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return SCREEN if purpose == "screen" and has_screen else OFFSCREEN


def missing(libraries: Sequence[Library]) -> list[Library]:
    return [library for library in libraries if not _loads(library.soname)]


def _loads(soname: str) -> bool:
    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True


def _listed(field: str, libraries: Sequence[Library]) -> str:
    """One field of each, without repetition: several libraries may come from one package."""
    return " ".join(dict.fromkeys(getattr(library, field) for library in libraries))


def _can_install() -> bool:
    """Root on Debian, Ubuntu or a relative of theirs."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    try:
        release = Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return False
    values = [line.partition("=")[2] for line in release.splitlines() if line.startswith(("ID=", "ID_LIKE="))]
    return any(name in value for value in values for name in ("debian", "ubuntu"))


def _install(packages: Sequence[str]) -> str:
    """Installs Debian packages and returns the end of what apt-get said."""
    apt = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    said = ""
    # A package source that has nothing to do with us may be unreachable, so a failed update decides nothing.
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        finished = subprocess.run(
            [*apt, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        said = finished.stdout
    return "\n".join(said.splitlines()[-15:])


def provide(purpose: str) -> None:
    """Makes sure that `purpose` finds its libraries; raises LibrariesMissing with what to install."""
    libraries = needed(purpose)
    absent = missing(libraries)
    if not absent:
        return
    apt_said = ""
    if _can_install():
        packages = _listed("debian", absent)
        print(f"Installing system libraries that Qt needs: {packages} …", file=sys.stderr, flush=True)
        apt_said = _install(packages.split())
        absent = missing(libraries)
        if not absent:
            return
    sentence = (
        "Qt needs system libraries that are not installed: "
        f"on Debian or Ubuntu run `apt-get install {_listed('debian', absent)}` as root, "
        f"on Fedora `dnf install {_listed('fedora', absent)}`."
    )
    raise LibrariesMissing(f"{apt_said}\n{sentence}" if apt_said else sentence)
