"""A file that one process at a time holds, until it ends or closes the descriptor."""

import fcntl
import os
from pathlib import Path

FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
PRIVATE = 0o600


def lock_file(path: Path) -> int:
    """A descriptor that holds the file, which is made if need be; links are not followed.

    Raises BlockingIOError while another process holds it, OSError where it cannot be made or the file
    system has no locks.
    """
    descriptor = os.open(path, FLAGS, PRIVATE)
    try:
        # flock, not lockf: the lock belongs to the descriptor, so closing another descriptor of the
        # same file does not drop it, and the kernel drops it when the process dies.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
