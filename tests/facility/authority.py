"""The plant's own certificate authority, by openssl, as resources/facility.md describes it."""

from __future__ import annotations

from pathlib import Path

from tests.facility.network import run

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Authority:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificate = folder / "ca.pem"
        run("openssl", "req", "-x509", *KEY, "-days", "30", "-subj", "/CN=Airlock tour",
            "-keyout", str(folder / "ca-key.pem"),
            "-out", str(self.certificate))  # fmt: skip
        self.certificate.chmod(0o644)

    def issue(self, name: str) -> tuple[Path, Path]:
        """A certificate for a host's name, and its key."""
        key, request, made = (self.folder / f"{name}{end}" for end in ("-key.pem", ".csr", ".pem"))
        extra = self.folder / f"{name}.ext"
        extra.write_text(f"subjectAltName=DNS:{name}\n", encoding="utf-8")
        run("openssl", "req", *KEY, "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(request))
        run("openssl", "x509", "-req", "-in", str(request), "-CA", str(self.certificate),
            "-CAkey", str(self.folder / "ca-key.pem"),
            "-CAcreateserial", "-days", "30", "-extfile", str(extra), "-out", str(made))  # fmt: skip
        return made, key
