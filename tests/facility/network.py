"""Hosts of their own on this machine: network namespaces on one bridge, each with a name and a cable to pull."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

NET = "10.73.0"


def run(*words: str, check: bool = True) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Network:
    """Made when entered, gone with everything in it when left."""

    def __init__(self, names: Sequence[str]) -> None:
        self._mark = f"al{os.getpid() % 100_000}"
        self.address = {name: f"{NET}.{n}" for n, name in enumerate(names, 10)}

    def space(self, name: str) -> str:
        return f"{self._mark}-{name}"

    def __enter__(self) -> Network:
        bridge = f"{self._mark}br"
        run("ip", "link", "add", bridge, "type", "bridge")
        run("ip", "address", "add", f"{NET}.1/24", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
        known = "127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in self.address.items())
        for name, address in self.address.items():
            space, cable = self.space(name), self.cable(name)
            own = Path("/etc/netns") / space
            own.mkdir(parents=True)
            (own / "hosts").write_text(known, encoding="utf-8")
            run("ip", "netns", "add", space)
            run("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
            run("ip", "link", "set", cable, "master", bridge, "up")
            run("ip", "-n", space, "address", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                run("ip", "-n", space, "link", "set", device, "up")
        return self

    def cable(self, name: str) -> str:
        return f"{self._mark}v{list(self.address).index(name)}"

    def pull(self, name: str) -> None:
        """Nothing gets through and nobody is told, as with a pulled cable."""
        run("ip", "link", "set", self.cable(name), "down")

    def plug(self, name: str) -> None:
        run("ip", "link", "set", self.cable(name), "up")

    def on(self, name: str, *words: str) -> list[str]:
        """A command as it is run on that host."""
        return ["ip", "netns", "exec", self.space(name), *words]

    def __exit__(self, *_: object) -> None:
        for name in self.address:
            run("ip", "netns", "delete", self.space(name), check=False)
            run("ip", "link", "delete", self.cable(name), check=False)
            shutil.rmtree(Path("/etc/netns") / self.space(name), ignore_errors=True)
        run("ip", "link", "delete", f"{self._mark}br", check=False)
