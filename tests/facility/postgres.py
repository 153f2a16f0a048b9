"""Debian's PostgreSQL on two hosts: TLS only, a streaming replica, and its promotion."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.facility.authority import Authority
from tests.facility.network import NET, Network, run

FOUND = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[4]))
CONFIGURATION = """
listen_addresses = '*'
ssl = on
ssl_cert_file = 'server.pem'
ssl_key_file = 'server-key.pem'
ssl_min_protocol_version = 'TLSv1.2'
password_encryption = 'scram-sha-256'
wal_level = replica
hot_standby = on
"""
ACCESS = f"""
local     all          postgres              peer
hostssl   replication  replica   {NET}.0/24  scram-sha-256
hostssl   all          all       {NET}.0/24  scram-sha-256
hostnossl all          all       0.0.0.0/0   reject
"""


class Server:
    def __init__(self, host: str, network: Network, authority: Authority, folder: Path) -> None:
        self.host, self._network, self._authority = host, network, authority
        self.data = folder / host
        self.log = folder / f"{host}-postgresql.log"
        self.door = folder / f"{host}-socket"
        self.door.mkdir()
        shutil.chown(self.door, "postgres")
        self._bin = FOUND[-1].parent

    def _as_postgres(self, *words: str) -> str:
        return run(*self._network.on(self.host, "runuser", "-u", "postgres", "--", *words))

    def _dress(self) -> None:
        certificate, key = self._authority.issue(self.host)
        for source, name in ((certificate, "server.pem"), (key, "server-key.pem")):
            shutil.copy(source, self.data / name)
            shutil.chown(self.data / name, "postgres", "postgres")
            (self.data / name).chmod(0o600)

    def create(self) -> None:
        self._as_postgres(
            str(self._bin / "initdb"), "-D", str(self.data), "-A", "peer", "-E", "UTF8", "--no-locale"
        )
        self._dress()
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(CONFIGURATION + f"unix_socket_directories = '{self.door}'\n")
        (self.data / "pg_hba.conf").write_text(ACCESS, encoding="utf-8")
        self.start()

    def follow(self, primary: str, password: str, authority: Path) -> None:
        source = (
            f"host={primary} user=replica password={password} sslmode=verify-full sslrootcert={authority}"
        )
        self._as_postgres(
            str(self._bin / "pg_basebackup"), "-D", str(self.data), "-R", "-c", "fast", "-d", source
        )
        self._dress()
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(f"unix_socket_directories = '{self.door}'\n")
        self.start()

    def start(self) -> None:
        self._as_postgres(str(self._bin / "pg_ctl"), "-D", str(self.data), "-w", "-l", str(self.log), "start")

    def promote(self) -> None:
        self._as_postgres(str(self._bin / "pg_ctl"), "-D", str(self.data), "-w", "promote")

    def stop(self) -> None:
        words = (
            "runuser",
            "-u",
            "postgres",
            "--",
            str(self._bin / "pg_ctl"),
            "-D",
            str(self.data),
            "-m",
            "immediate",
            "stop",
        )
        subprocess.run(self._network.on(self.host, *words), capture_output=True, check=False)

    def sql(self, text: str, database: str = "postgres") -> str:
        """As its administrator, on the host itself."""
        psql = ("psql", "-h", str(self.door), "-v", "ON_ERROR_STOP=1", "-qtA", "-d", database, "-c", text)
        return self._as_postgres(*psql).strip()
