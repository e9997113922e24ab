"""Content of files in a folder of strangers: opening a pipe or device of that name must not block."""

import os
import stat
from pathlib import Path


def content(path: Path, limit: int) -> bytes | None:
    """The first `limit` bytes of a regular file; None when it is none, or cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        return os.read(handle, limit)
    except OSError:
        return None
    finally:
        os.close(handle)
