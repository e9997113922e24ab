"""A munged of one's own, which vouches to Slurm's daemons for each other; its socket is `munge.sock`."""

import os
from pathlib import Path

from accelwatch.base.errors import UsageError
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.slurm.installed import program

_FILES = {"socket": "sock", "key-file": "key", "log-file": "log", "pid-file": "pid"}
# Of a Unix socket, in bytes (linux/un.h); munged needs one more for its lock.
_LONGEST_PATH = 107
_LOCK = ".lock"


def start_munge(folder: Path, processes: Processes) -> None:
    """Begin it. Raises UnmetError where it is not installed, UsageError for too long a path."""
    longest = len(os.fsencode(folder / f"munge.sock{_LOCK}"))
    if longest > _LONGEST_PATH:
        over = longest - _LONGEST_PATH
        raise UsageError(f"{folder}: the path is {over} bytes too long for a socket; take another")
    key = folder / "munge.key"
    if not key.exists():
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
    options = [f"--{name}={folder}/munge.{end}" for name, end in _FILES.items()]
    seed = f"--seed-file={folder}/munge.seed"
    argv = [program("munged"), "--foreground", "--force", *options, seed]
    processes.start("munged", argv)
