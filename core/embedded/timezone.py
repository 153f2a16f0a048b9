"""Which time zone this machine is in, by its IANA name; UTC where that cannot be told."""

from __future__ import annotations

import os
from pathlib import Path
from zoneinfo import available_timezones


def local_timezone() -> str:
    link = Path("/etc/localtime")
    candidates = [os.environ.get("TZ", "").lstrip(":")]
    if link.is_symlink():
        candidates.append(str(link.resolve()).partition("zoneinfo/")[2])
    known = available_timezones()
    return next((name for name in candidates if name in known), "UTC")
