"""`python -m core.agent`: the agent without the rest of the program."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from core.agent.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(os.environ.get("AIRLOCK_HOME", Path.cwd()))))
