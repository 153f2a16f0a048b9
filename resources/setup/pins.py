"""Writes run.txt, test.txt and bench.txt anew from the .in files beside them; for maintainers, `make pins`.

The pins are universal: one version of each package for every supported Python and system, with the hashes of
all its files and without any address. uv is fetched into a temporary folder for the occasion.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

from bootstrap import GROUPS, HERE

PYPROJECT = HERE.parent.parent / "pyproject.toml"


def check_same_dependencies() -> None:
    """pyproject.toml tells other tools what run.in tells us; the two must not drift apart."""
    declared = set(tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["dependencies"])
    lines = (HERE / "run.in").read_text(encoding="utf-8").splitlines()
    wanted = {line.strip() for line in lines if line.strip() and not line.startswith("#")}
    if declared != wanted:
        sys.exit(f"pyproject.toml and run.in disagree about: {', '.join(sorted(declared ^ wanted))}")


def main() -> None:
    check_same_dependencies()
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        scripts = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
        subprocess.run([scripts / "python", "-m", "pip", "install", "--quiet", "uv"], check=True)
        tool = [str(scripts / "uv"), "pip", "compile", "--quiet", "--upgrade"]
        universal = ["--universal", "--python-version=3.11", "--fork-strategy=fewest"]
        bare = ["--generate-hashes", "--no-header", "--no-annotate"]
        for group in GROUPS:
            files = [f"{group}.in", f"--output-file={group}.txt"]
            subprocess.run([*tool, *universal, *bare, *files], check=True, cwd=HERE)
            content = (HERE / f"{group}.txt").read_text(encoding="utf-8")
            if re.search(r"https?:|file:|^-", content, re.MULTILINE):
                sys.exit(f"{group}.txt holds an address or an option; only versions and hashes belong there.")
            print(f"{group}.txt: {content.count('==')} packages")


if __name__ == "__main__":
    main()
