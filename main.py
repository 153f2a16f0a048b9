"""Airlock's one entry point: reads arguments, wires the parts, nothing else."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
import zoneinfo
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from core import __version__, tls
from core.agent import program as agent_program
from core.embedded import caretaker
from core.embedded.plant import EmbeddedPlant
from core.errors import AirlockError, SettingsError
from core.jobs.lane import JobsLane
from core.jobs.shipped import shipped
from core.lanes import Lane
from core.metrics import PORT, StationMetrics
from core.playout.commands import stop_channel
from core.playout.lane import PlayoutLane
from core.playout.sidecar_client import SidecarClient
from core.recording.commands import stop_now
from core.recording.lane import RecordingLane
from core.recording.recorder_client import RecorderClient
from core.recording.series import SeriesLane
from core.settings import Settings, default_home, flag_of, load
from core.station import Identity, Station, default_name

log = logging.getLogger("airlock")

SETTLE = 2.5  # seconds until heartbeats and pictures have come in
UNDER_WAY = ("starting", "running", "stopping")
STOP_LIMIT = 20.0
FAULT = "Airlock ended by a fault of its own. The details are in its log folder."
NO_SCREEN = (
    "There is no screen here (neither DISPLAY nor WAYLAND_DISPLAY is set): run `main.py scheduler` for a station "
    "without a window, or `main.py snapshot OUT.png` for a picture of the control room."
)


def parser() -> argparse.ArgumentParser:
    # A setting may stand before or after the command: unset ones must not overwrite set ones.
    settings = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = settings.add_argument_group(
        "settings", "each can also come from the environment or from airlock.toml"
    )
    for field in fields(Settings):
        if field.metadata["flag"]:
            text = f"{field.metadata['help']} [{field.metadata['env']}; {field.name}]"
            group.add_argument(flag_of(field.name), metavar="VALUE", help=text)
    made = argparse.ArgumentParser(
        prog="main.py",
        parents=[settings],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Airlock, the control room of a broadcast plant. Without a command: the control room itself,\n"
        "on the plant named by --database, or on an embedded plant of its own.",
    )
    made.add_argument("--version", action="version", version=f"Airlock {__version__}")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    scheduler = commands.add_parser(
        "scheduler", parents=[settings], help="a station without a window, for a server"
    )
    scheduler.add_argument(
        "--until-idle",
        action="store_true",
        help="end when nothing records, no channel is on air, or another station can lead",
    )
    commands.add_parser("agent", add_help=False, help="a node agent: real recorders on this machine")
    snapshot = commands.add_parser(
        "snapshot", parents=[settings], help="renders the live control room to a picture"
    )
    snapshot.add_argument("out", metavar="OUT.png", type=Path)
    snapshot.add_argument(
        "--size", default="1920x1080", metavar="WxH", help="of the picture (default 1920x1080)"
    )
    snapshot.add_argument("--theme", choices=("dark", "light"), default="dark")
    return made


def start_logging(settings: Settings, name: str) -> None:
    """To a file that keeps itself small, and warnings to the terminal as well."""
    root = logging.getLogger()
    root.setLevel(settings.log_level)
    terminal = logging.StreamHandler()
    terminal.setLevel(logging.WARNING if name == "desktop" else settings.log_level)
    terminal.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    root.addHandler(terminal)
    try:
        folder = settings.home / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        file = RotatingFileHandler(
            folder / f"{name}.log", maxBytes=5_000_000, backupCount=3, encoding="utf-8"
        )
    except OSError as error:
        log.warning("No log file can be written in %s: %s.", settings.home, error.strerror)
        return
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    root.addHandler(file)


@dataclass(frozen=True)
class Opened:
    """A plant that can be connected to, and the secret its recorders expect."""

    url: str
    token: str
    embedded: EmbeddedPlant | None


async def open_plant(settings: Settings) -> Opened:
    if settings.database is not None:
        return Opened(settings.database, settings.token or "", None)
    embedded = EmbeddedPlant(settings.home)
    url = await embedded.open()
    return Opened(url, settings.token or embedded.token(), embedded)


def make_station(settings: Settings, plant: Opened, kind: str) -> Station:
    trusted = None if settings.agent_ca is None else tls.trust(settings.agent_ca)
    lanes: list[Lane] = [
        RecordingLane(
            RecorderClient(plant.token, trusted),
            timedelta(milliseconds=settings.tick_ms),
            timedelta(minutes=settings.live_asset_timeout_minutes),
        ),
        SeriesLane(),
        PlayoutLane(
            SidecarClient(plant.token, trusted),
            timedelta(milliseconds=settings.tick_ms),
            timedelta(milliseconds=settings.probe_ms),
        ),
        JobsLane(shipped(), timedelta(milliseconds=settings.tick_ms)),
    ]
    identity = Identity(settings.station or default_name(), kind, settings.operator)
    station = Station(plant.url, identity, lanes, plant.token, trusted)
    if kind == "desktop":
        station.clock.beside_a_window()
    return station


async def run_scheduler(settings: Settings, until_idle: bool) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(name, stop.set)
        except NotImplementedError:  # Windows
            signal.signal(name, lambda *_: loop.call_soon_threadsafe(stop.set))
    plant = await open_plant(settings)
    station = make_station(settings, plant, "headless")
    await station.start()
    showing: asyncio.Task[None] | None = None
    metrics = StationMetrics(station)
    await metrics.serve(settings.metrics_port or PORT)
    if plant.embedded is not None:
        await plant.embedded.start_agents()
        if not until_idle:  # a caretaker ends what is there and begins nothing
            showing = asyncio.create_task(plant.embedded.show_channels())
    log.info("%s runs; SIGTERM or Ctrl-C ends it", station.name)
    waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(stop.wait())]
    if until_idle:
        waits.append(asyncio.ensure_future(caretaker.until_not_needed(station)))
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    log.info("%s leaves", station.name)
    if plant.embedded is not None:
        await end_showing(showing)
        await plant.embedded.rest_channels(station.name)
    await metrics.close()
    await station.stop()
    if plant.embedded is not None:
        await plant.embedded.close_if_idle()
    return 0


async def end_showing(showing: asyncio.Task[None] | None) -> None:
    if showing is not None:
        showing.cancel()
        await asyncio.wait({showing})


async def stop_work(station: Station) -> None:
    """Stops what records and what is on air, and waits, within reason, until it is and recordings are proved."""

    def recording() -> list[int]:
        return [w.recorder_id for w in station.model.windows.values() if w.status in UNDER_WAY]

    def on_air() -> list[int]:
        return [c.id for c in station.model.channels.values() if c.status in UNDER_WAY and not c.demo]

    stopping = [station.commander.do(stop_now, recorder) for recorder in recording()]
    stopping += [station.commander.do(stop_channel, channel) for channel in on_air()]
    for said in await asyncio.gather(*stopping, return_exceptions=True):
        if isinstance(said, AirlockError):
            log.warning("%s", said)
        elif isinstance(said, BaseException):
            raise said
    for _ in range(int(STOP_LIMIT / 0.05)):
        if not recording() and not on_air():
            return
        await asyncio.sleep(0.05)
    log.warning("some recordings or channels did not stop in time and go on")


def run_control_room(settings: Settings) -> int:
    from gui.app import Desktop, Leaving, run_desktop

    async def control_room(desk: Desktop) -> int:
        desk.progress("Starting the plant…")
        plant = await open_plant(settings)
        station = make_station(settings, plant, "desktop")
        desk.progress("Connecting…")
        await station.start()
        metrics = StationMetrics(station)
        if settings.metrics_port:
            await metrics.serve(settings.metrics_port)
        # Beside the window, not before it: what runs already is only found again.
        agents = asyncio.create_task(plant.embedded.start_agents()) if plant.embedded is not None else None
        showing = asyncio.create_task(plant.embedded.show_channels()) if plant.embedded is not None else None
        await desk.attach(station)
        desk.window.repaint()
        log.info("the plant is on the screen")
        leaving = await desk.closed()
        if agents is not None:
            await agents
        if leaving is Leaving.STOP_EVERYTHING:
            await stop_work(station)
        await end_showing(showing)
        if plant.embedded is not None:
            everything = leaving is Leaving.STOP_EVERYTHING
            await plant.embedded.rest_channels(station.name, all_the_same=everything)
        await metrics.close()
        await station.stop()
        if plant.embedded is not None:
            if leaving is Leaving.STOP_EVERYTHING:
                await plant.embedded.close()
            else:
                await plant.embedded.close_if_idle(leave_caretaker=True)
        return 0

    return run_desktop(control_room, settings.home, settings.operator)


def snapshot(settings: Settings, out: Path, size: str, theme: str) -> int:
    """A picture of the live control room. It looks on: it does not contend for the lead."""
    try:
        width, height = (int(part) for part in size.split("x"))
    except ValueError:
        raise SettingsError("--size takes a width and a height, such as 1920x1080.") from None
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QSize

    from gui.app import grab, open_window, prepare_application, shut_window
    from gui.loop import new_event_loop
    from gui.preferences import Preferences

    async def look() -> None:
        plant = await open_plant(settings)
        station = make_station(settings, plant, "desktop")
        await station.start(observe=True)
        window = await open_window(station, Preferences(settings.home, settings.operator))
        window.resize(QSize(width, height))
        await asyncio.sleep(SETTLE)
        grab(window, out, QSize(width, height))
        shut_window(window)
        await station.stop()

    prepare_application(theme)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(look())
    return 0


def has_screen() -> bool:
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def main(arguments: Sequence[str] | None = None) -> int:
    # Every station goes by the pinned time zone data, not by what its system happens to have.
    zoneinfo.reset_tzpath(to=())
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["agent"]:
        return agent_program.main(given[1:], Path(os.environ.get("AIRLOCK_HOME") or default_home()))
    chosen = parser().parse_args(given)
    try:
        flags = {f.name: getattr(chosen, f.name, None) for f in fields(Settings)}
        settings = load(flags, os.environ)
        if chosen.command == "scheduler":
            start_logging(settings, "scheduler")
            return asyncio.run(run_scheduler(settings, chosen.until_idle))
        if chosen.command is None and not has_screen():
            print(NO_SCREEN, file=sys.stderr)
            return 2
        # Only here does Qt come in: a headless station runs without it being installed.
        if chosen.command == "snapshot":
            start_logging(settings, "snapshot")
            return snapshot(settings, chosen.out, chosen.size, chosen.theme)
        start_logging(settings, "desktop")
        return run_control_room(settings)
    except AirlockError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception:  # noqa: BLE001 - the last stop: the log has the traceback, the operator a sentence
        for handler in logging.getLogger().handlers:
            if isinstance(handler, RotatingFileHandler):
                handler.handle(
                    log.makeRecord(log.name, logging.CRITICAL, __file__, 0, FAULT, (), sys.exc_info())
                )
        print(FAULT, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
