"""`make facility`: the facility of resources/facility.md on this machine, hosts in network namespaces.

Two database hosts with Debian's PostgreSQL and TLS, a headless scheduler, two desktops (offscreen), two agents.
Records, pulls an agent's cable, then the primary's, and promotes the standby. Needs root, ip, openssl, PostgreSQL.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.facility.authority import Authority
from tests.facility.network import Network
from tests.facility.postgres import FOUND, Server

ROOT = Path(__file__).resolve().parents[2]
HOSTS = ("db-1", "db-2", "scheduler", "desk-1", "desk-2", "node-1", "node-2")
LEADER = "SELECT station FROM leadership WHERE released_at IS NULL ORDER BY epoch DESC LIMIT 1"


def missing() -> str | None:
    if os.name != "posix" or os.geteuid() != 0:
        return "make facility needs root, for network namespaces."
    for tool, package in (
        ("ip", "iproute2"),
        ("openssl", "openssl"),
        ("runuser", "util-linux"),
        ("psql", "postgresql"),
    ):
        if shutil.which(tool) is None:
            return f"{tool} is missing: apt-get install {package}."
    if not FOUND:
        return "Debian's PostgreSQL is missing: apt-get install postgresql."
    return None


def until(what: str, condition: Callable[[], object], within: float = 90.0) -> float:
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > within:
            raise SystemExit(f"FAILED: {what} did not come within {within:.0f} s.")
        time.sleep(0.05)
    return time.monotonic() - began


class Tour:
    def __init__(self, network: Network, folder: Path) -> None:
        self.network, self.folder = network, folder
        self.token = secrets.token_urlsafe(24)
        self.password = secrets.token_urlsafe(24)
        self.authority = Authority(folder)
        self.first, self.second = (Server(h, network, self.authority, folder) for h in ("db-1", "db-2"))
        self.now = self.first  # where the plant is at present
        self.programs: list[subprocess.Popen[bytes]] = []

    def url(self, login: str, hosts: str = "db-1,db-2", mode: str = "verify-full") -> str:
        trust = f"sslmode={mode}&sslrootcert={self.authority.certificate}"
        return f"postgresql://{login}:{self.password}@{hosts}/plant?{trust}"

    def program(self, host: str, login: str, *words: str) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ, "AIRLOCK_DATABASE_URL": self.url(login), "AIRLOCK_TOKEN": self.token,
            "QT_QPA_PLATFORM": "offscreen",
            "AIRLOCK_HOME": str(self.folder / f"{host}-home"), "AIRLOCK_AGENT_CA": str(self.authority.certificate),
        }  # fmt: skip
        if words[:1] != ("agent",):
            environment |= {"AIRLOCK_STATION": host.upper(), "AIRLOCK_OPERATOR": login}
        with (self.folder / f"{host}.out").open("ab") as output:
            started = subprocess.Popen(
                self.network.on(host, sys.executable, str(ROOT / "main.py"), *words),
                env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=ROOT,
            )  # fmt: skip
        self.programs.append(started)
        return started

    def sql(self, text: str) -> str:
        return self.now.sql(text, "plant")

    # -- the chapters ------------------------------------------------------------------------------

    def databases(self) -> None:
        self.first.create()
        for login, options in (
            ("airlock", "CREATEROLE"),
            ("alice", ""),
            ("ed", ""),
            ("nodes", ""),
            ("replica", "REPLICATION"),
        ):
            self.first.sql(f"CREATE ROLE {login} LOGIN NOSUPERUSER {options} PASSWORD '{self.password}'")
        self.first.sql("GRANT pg_signal_backend TO airlock")
        self.first.sql("CREATE DATABASE plant OWNER airlock")
        self.second.follow("db-1", self.password, self.authority.certificate)

    def doors(self) -> None:
        """No way in without TLS, and none to a server that is not ours."""
        other = self.folder / "other"
        other.mkdir()
        for url in (
            self.url("airlock", mode="disable"),
            self.url("airlock").replace(str(self.authority.certificate), str(Authority(other).certificate)),
        ):
            words = self.network.on(
                "desk-1", sys.executable, str(ROOT / "main.py"), "scheduler", "--home", str(self.folder / "x")
            )
            said = subprocess.run(words, env={**os.environ, "AIRLOCK_DATABASE_URL": url, "AIRLOCK_TOKEN": self.token},
                                  capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
            if (
                said.returncode != 1
                or "Traceback" in said.stderr
                or self.password in said.stderr + said.stdout
            ):
                raise SystemExit(f"FAILED: it should have been refused in one sentence: {said.stderr[-500:]}")
            print("  refused:", said.stderr.strip().splitlines()[-1].replace(str(self.folder), "…")[:150])

    def stations(self) -> None:
        self.program("scheduler", "airlock", "scheduler")
        until("the tables", lambda: self.sql("SELECT to_regclass('leadership') IS NOT NULL") == "t")
        until("a leader", lambda: self.sql(LEADER))
        self.sql("GRANT airlock_operator TO alice, nodes")
        self.sql("GRANT airlock_engineer TO ed")
        for node in ("node-1", "node-2"):
            certificate, key = self.authority.issue(node)
            self.program(node, "nodes", "agent", "--node", node.upper(), "--listen", self.network.address[node],
                         "--advertise", node,
                         "--certificate", str(certificate), "--key", str(key))  # fmt: skip
        self.program("desk-1", "alice")
        self.program("desk-2", "ed")
        until(
            "two nodes",
            lambda: (
                self.sql(
                    "SELECT count(*) FROM nodes WHERE status = 'online' AND base_url LIKE 'https://node-%'"
                )
                == "2"
            ),
        )
        until("three stations", lambda: self.sql("SELECT count(*) FROM stations") == "3")
        plain = self.sql(
            "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
            "WHERE client_addr IS NOT NULL AND NOT ssl"
        )
        if plain != "0":
            raise SystemExit(f"FAILED: {plain} sessions are not encrypted.")
        for n in ("1", "2"):
            self.sql(f"INSERT INTO recorders (name, node_id, external_id, source) "
                     f"SELECT 'REC {n}', id, 'rec-{n}', 'test:bars' "
                     f"FROM nodes WHERE name = 'NODE-{n}'")  # fmt: skip

    def window(self, name: str, recorder: str, seconds: int) -> None:
        self.sql(f"INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at) "
                 f"SELECT '{name}', id, now() + interval '4 s', "
                 f"now() + interval '{4 + seconds} s' FROM recorders WHERE name = '{recorder}'")  # fmt: skip

    def status(self, name: str) -> str:
        return self.sql(
            f"SELECT status || coalesce(': ' || error_message, '') FROM recorder_schedules WHERE name = '{name}'"
        )

    def completed(self, *names: str) -> None:
        for name in names:
            until(
                f"{name} completed",
                lambda name=name: (
                    not self.status(name).startswith(("pending", "starting", "running", "stopping"))
                ),
            )
            if self.status(name) != "completed":
                raise SystemExit(f"FAILED: {name} is {self.status(name)}.")
        print("  recorded:", ", ".join(names))

    def recording(self) -> None:
        self.window("first", "REC 1", 4)
        self.window("second", "REC 2", 4)
        self.completed("first", "second")

    def cut_around_an_agent(self) -> None:
        self.window("through the cut", "REC 1", 25)
        until("it runs", lambda: self.status("through the cut") == "running")
        self.network.pull("node-1")
        until(
            "the node is missed",
            lambda: self.sql("SELECT status FROM nodes WHERE name = 'NODE-1'") != "online",
        )
        self.network.plug("node-1")
        healed = until(
            "the node is back", lambda: self.sql("SELECT status FROM nodes WHERE name = 'NODE-1'") == "online"
        )
        print(f"  the node is back {healed:.1f} s after its cable")
        self.completed("through the cut")
        if (
            self.sql(
                "SELECT count(*) FROM assets a JOIN recorder_schedules s ON s.id = a.schedule_id "
                "WHERE s.name = 'through the cut'"
            )
            != "1"
        ):
            raise SystemExit("FAILED: the recording was interrupted.")

    def promotion(self) -> None:
        epoch = int(self.sql("SELECT max(epoch) FROM leadership"))
        sent = self.sql("SELECT pg_current_wal_lsn()")
        until(
            "the standby has all",
            lambda: self.second.sql(f"SELECT pg_last_wal_replay_lsn() >= '{sent}'") == "t",
        )
        self.network.pull("db-1")
        cut = time.monotonic()
        time.sleep(3)
        self.second.promote()
        self.now = self.second
        promoted = time.monotonic()
        until("a leader on the standby", lambda: int(self.sql("SELECT max(epoch) FROM leadership")) > epoch)
        led = time.monotonic()
        print(
            f"  leading again {led - promoted:.1f} s after the promotion, {led - cut:.1f} s after the cut: "
            f"{self.sql(LEADER)}"
        )
        until(
            "all stations",
            lambda: (
                self.sql("SELECT count(*) FROM stations WHERE last_seen_at > now() - interval '3 s'") == "3"
            ),
        )
        print(f"  all three stations there {time.monotonic() - promoted:.1f} s after the promotion")
        until(
            "both nodes",
            lambda: (
                self.sql("SELECT count(*) FROM nodes WHERE last_heartbeat_at > now() - interval '3 s'") == "2"
            ),
        )
        print(f"  both nodes there {time.monotonic() - promoted:.1f} s after the promotion")
        self.window("on the standby", "REC 2", 4)
        self.completed("on the standby")

    def secrets_kept(self) -> None:
        held = "".join(
            f.read_text(errors="replace")
            for f in self.folder.rglob("*")
            if f.suffix in (".out", ".log", ".json") and f.is_file()
        )
        held += self.sql("SELECT string_agg(a::text, ' ') FROM audit_log a")
        for secret in (self.token, self.password):
            if secret in held:
                raise SystemExit("FAILED: a secret stands in a log.")

    def close(self) -> None:
        for program in reversed(self.programs):
            program.send_signal(signal.SIGTERM)
        for program in self.programs:
            try:
                program.wait(20)
            except subprocess.TimeoutExpired:
                program.kill()
        self.first.stop()
        self.second.stop()


def main() -> int:
    if (why := missing()) is not None:
        print(why, file=sys.stderr)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="airlock-facility-"))
    folder.chmod(0o755)
    shutil.chown(folder, "postgres")
    keep = "--keep" in sys.argv
    with Network(HOSTS) as network:
        tour = Tour(network, folder)
        try:
            for chapter in (
                tour.databases,
                tour.doors,
                tour.stations,
                tour.recording,
                tour.cut_around_an_agent,
                tour.promotion,
                tour.secrets_kept,
            ):
                began = time.monotonic()
                print(chapter.__name__.replace("_", " "), flush=True)
                chapter()
                print(f"  {time.monotonic() - began:.1f} s", flush=True)
        except SystemExit:
            keep = True
            raise
        finally:
            tour.close()
            print(f"kept: {folder}" if keep else "", end="\n" if keep else "")
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)
    print("The facility works.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
