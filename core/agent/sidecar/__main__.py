"""`python -m core.agent.sidecar FOLDER FD`: plays the order in FOLDER; FD is the socket it answers on.

The token comes by the environment. `end.json` says when and why it went off air, and whether that was
asked of it by those who may (a signal may come from anybody): a sidecar that ends otherwise died.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import ssl
import sys
import threading
from pathlib import Path

from core import tls
from core.agent.sidecar.air import Air
from core.agent.sidecar.http import Http
from core.agent.sidecar.order import Order


def _identity() -> ssl.SSLContext | None:
    certificate, key = os.environ.get("AIRLOCK_CERTIFICATE"), os.environ.get("AIRLOCK_KEY")
    return tls.identity(Path(certificate), Path(key) if key else None) if certificate else None


def main() -> int:
    folder, descriptor = Path(sys.argv[1]), int(sys.argv[2])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    told = json.loads((folder / "order.json").read_text(encoding="utf-8"))
    air = Air(Order.parse(told["order"]), told["ffmpeg"], Path(told["media"]), folder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: air.end("It was ended by a signal.", asked=False))
    # The threads that make children must live as long as the sidecar: see Child.
    threading.Thread(target=air.run, name="air", daemon=True).start()
    threading.Thread(target=air.cue, name="cue", daemon=True).start()
    http = Http(air, os.environ["AIRLOCK_TOKEN"], _identity())
    threading.Thread(target=http.serve, args=(socket.socket(fileno=descriptor),), daemon=True).start()
    while not air.done.wait(1.0):
        pass
    end = {"at": air.now(), "why": air.ending or "", "asked": air.asked}
    (folder / "end.json").write_text(json.dumps(end), encoding="utf-8")
    return 0 if air.asked else 1


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    os._exit(code)  # reader threads may wait for pipes for ever
