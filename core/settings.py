"""Every setting Airlock has, in one place: its flag, its environment variable, its name in
airlock.toml, its default and its meaning.

A flag beats the environment, which beats airlock.toml, which beats the default. airlock.toml is
looked for in the working folder and then in the plant's folder, or named by AIRLOCK_CONFIG.
"""

from __future__ import annotations

import getpass
import os
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from core.errors import SettingsError


def default_home() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "Airlock"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Airlock"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "airlock"


def _operator() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "operator"


def _url(text: str) -> str:
    try:
        scheme = urlsplit(text).scheme
    except ValueError:
        scheme = ""
    if scheme not in ("postgresql", "postgres"):
        raise SettingsError("must look like postgresql://user@host/database")
    return text


def _name(text: str) -> str:
    if not re.fullmatch(r"[\w.-]{1,40}", text):
        raise SettingsError("takes 1 to 40 letters, digits, dots, dashes and underscores")
    return text


def _path(text: str) -> Path:
    if not text.strip() or "\0" in text:
        raise SettingsError("takes a path")
    try:
        return Path(text).expanduser().absolute()
    except (RuntimeError, OSError) as error:
        raise SettingsError(f"names a folder that cannot be found: {error}") from None


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise SettingsError("takes a whole number") from None
        if not least <= value <= most:
            raise SettingsError(f"takes a number from {least} to {most}")
        return value

    return parse


def _level(text: str) -> str:
    if text.upper() not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise SettingsError("takes debug, info, warning or error")
    return text.upper()


def _person(text: str) -> str:
    if not text.strip().isprintable() or not 1 <= len(text.strip()) <= 80:
        raise SettingsError("takes a name of 1 to 80 printable characters")
    return text.strip()


def _secret(text: str) -> str:
    # It travels in an HTTP header. The value itself is not repeated: messages are shown and logged.
    if not re.fullmatch(r"[!-~]{1,200}", text):
        raise SettingsError("takes 1 to 200 letters, digits and signs without spaces")
    return text


def _setting(
    default: Any, env: str, help: str, parse: Callable[[str], Any], flag: bool = True, secret: bool = False
) -> Any:
    kept = {"env": env, "help": help, "parse": parse, "flag": flag}
    if callable(default):
        return field(default_factory=default, metadata=kept, repr=not secret)
    return field(default=default, metadata=kept, repr=not secret)


@dataclass(frozen=True)
class Settings:
    database: str | None = _setting(
        None,
        "AIRLOCK_DATABASE_URL",
        "the plant's database, postgresql://user@host/name; several hosts may be "
        "listed, the one that can write is found. Without it the embedded plant is used",
        _url,
        secret=True,
    )
    home: Path = _setting(  # noqa: RUF009
        default_home, "AIRLOCK_HOME", "the folder of the embedded plant, logs and layouts", _path
    )
    token: str | None = _setting(
        None,
        "AIRLOCK_TOKEN",
        "the plant's secret for agents and recorders; the embedded plant makes its own. "
        "Not a flag, because other users can see those",
        _secret,
        flag=False,
        secret=True,
    )
    agent_ca: Path | None = _setting(  # noqa: RUF009
        None,
        "AIRLOCK_AGENT_CA",
        "the authority (a PEM file) whose certificates agents with https addresses must have "
        "(default: the system's authorities)",
        _path,
    )
    station: str | None = _setting(
        None, "AIRLOCK_STATION", "this station's name (default: the host's name)", _name
    )
    operator: str = _setting(_operator, "AIRLOCK_OPERATOR", "who operates (default: the login name)", _person)
    tick_ms: int = _setting(
        5000, "AIRLOCK_TICK_MS", "milliseconds between two sweeps of the safety net", _whole(200, 60_000)
    )
    probe_ms: int = _setting(
        1000, "AIRLOCK_PROBE_MS", "milliseconds between two probes of a channel on air", _whole(100, 60_000)
    )
    live_asset_timeout_minutes: int = _setting(
        120,
        "LIVE_ASSET_TIMEOUT_MINUTES",
        "a recording that has not grown for so long is called broken",
        _whole(1, 100_000),
    )
    metrics_port: int = _setting(
        0,
        "AIRLOCK_METRICS_PORT",
        "serve /metrics on this port of the loopback address (default: 9464 without a window, not with one)",
        _whole(0, 65_535),
    )
    log_level: str = _setting("INFO", "AIRLOCK_LOG_LEVEL", "debug, info, warning or error", _level)


def flag_of(name: str) -> str:
    return "--" + name.replace("_", "-")


def _find_config(environment: Mapping[str, str], home: Path) -> Path | None:
    named = environment.get("AIRLOCK_CONFIG")
    if named:
        try:
            path = Path(named).expanduser()
        except RuntimeError as error:
            raise SettingsError(f"AIRLOCK_CONFIG names a folder that cannot be found: {error}.") from None
        if not path.is_file():
            raise SettingsError(f"AIRLOCK_CONFIG names {path}, and there is no such file.")
        return path
    for path in (Path("airlock.toml"), home / "airlock.toml"):
        try:
            if path.is_file():
                return path.absolute()
        except OSError as error:
            raise SettingsError(f"{path} cannot be read: {error.strerror}.") from error
    return None


def _read(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}.") from error


def load(flags: Mapping[str, str | None], environment: Mapping[str, str]) -> Settings:
    """The settings in force. Says which of the three places is wrong when one is."""
    described = {f.name: f.metadata for f in fields(Settings)}
    home = flags.get("home") or environment.get("AIRLOCK_HOME")
    try:
        folder = _path(home) if home else default_home()
    except SettingsError as error:
        place = flag_of("home") if flags.get("home") else "AIRLOCK_HOME"
        raise SettingsError(f"{place} {error}.") from None
    path = _find_config(environment, folder)
    file = _read(path)
    if unknown := sorted(set(file) - set(described)):
        known = ", ".join(described)
        raise SettingsError(f"{path} has a setting that does not exist: {unknown[0]}. There are: {known}.")
    values: dict[str, Any] = {}
    for name, about in described.items():
        for place, text in (
            (flag_of(name), flags.get(name)),
            (about["env"], environment.get(about["env"]) or None),
            (f"{name} in {path}", file.get(name)),
        ):
            if text is not None:
                try:
                    values[name] = about["parse"](str(text))
                except SettingsError as error:
                    raise SettingsError(f"{place} {error}.") from None
                break
    return Settings(**values)
