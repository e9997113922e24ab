"""Where programs of others are kept that `make` has installed or built once for tests and examples."""

import os
from pathlib import Path


def cached(name: str, version: str) -> Path:
    """The folder of a version in the user's cache, which may not exist."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "accelwatch" / name / version
