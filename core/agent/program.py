"""The agent as a program: arguments, environment, log, signals.

Secrets come by the environment alone: arguments can be read by every user of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from core.agent.agent import run_agent
from core.agent.settings import AgentSettings
from core.errors import AirlockError

log = logging.getLogger(__name__)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="airlock agent", description="A node agent: real recorders on this machine."
    )
    made.add_argument("--node", required=True, help="the node's name in the plant")
    made.add_argument(
        "--database", default=os.environ.get("AIRLOCK_DATABASE_URL", ""), help="the plant's address"
    )
    made.add_argument(
        "--home", type=Path, help="the agent's own folder (default: agents/NODE under AIRLOCK_HOME)"
    )
    made.add_argument("--media", type=Path, help="where recordings go (default: media under AIRLOCK_HOME)")
    made.add_argument(
        "--listen", default="127.0.0.1", help="the address to listen on (default: this machine only)"
    )
    made.add_argument(
        "--jobs", type=int, default=10, metavar="N", help="background jobs at once (default 10; 0: none)"
    )
    made.add_argument("--port", type=int, default=0, help="the port to listen on (default: any, kept)")
    made.add_argument(
        "--advertise", default="", help="the host's name as stations reach it (default: as listened on)"
    )
    made.add_argument(
        "--certificate",
        type=Path,
        default=os.environ.get("AIRLOCK_CERTIFICATE") or None,
        help="a PEM file with its certificate, for https [AIRLOCK_CERTIFICATE]",
    )
    made.add_argument(
        "--key",
        type=Path,
        default=os.environ.get("AIRLOCK_KEY") or None,
        help="a PEM file with the certificate's key, when it is not in the same file [AIRLOCK_KEY]",
    )
    return made


def settings_from(arguments: Sequence[str], plant_home: Path) -> AgentSettings:
    given = parser().parse_args(list(arguments))
    if not given.database:
        raise AirlockError("No plant is named: use --database or AIRLOCK_DATABASE_URL.")
    token = os.environ.get("AIRLOCK_TOKEN", "")
    if not token:
        raise AirlockError("The agent has no token: set AIRLOCK_TOKEN to the plant's secret.")
    return AgentSettings(
        database_url=given.database,
        node=given.node,
        token=token,
        home=(given.home or plant_home / "agents" / given.node).absolute(),
        media=(given.media or plant_home / "media").absolute(),
        host=given.listen,
        port=given.port,
        jobs=given.jobs,
        advertise=given.advertise,
        certificate=given.certificate and given.certificate.absolute(),
        key=given.key and given.key.absolute(),
    )


async def run_until_signalled(settings: AgentSettings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # Windows: a plain handler must wake the loop from outside
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    await run_agent(settings, stop)


def main(arguments: Sequence[str], plant_home: Path) -> int:
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    try:
        asyncio.run(run_until_signalled(settings_from(arguments, plant_home)))
    except AirlockError as error:
        log.error("%s", error)
        return 1
    return 0
