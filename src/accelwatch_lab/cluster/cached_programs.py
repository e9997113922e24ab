"""Where programs of others are kept that `make` has installed or built once for tests and the lab."""

import os
from pathlib import Path


def cached(*names: str) -> Path:
    """A folder in the user's cache, such as of a program and its version; it may not exist."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "accelwatch", *names)
