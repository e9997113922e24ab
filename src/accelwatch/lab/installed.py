"""Where the daemons of Slurm and munge are on this machine, and what to install where they are not."""

import os
import shutil

from accelwatch.errors import UnmetError

SLURM = ("munged", "slurmctld", "slurmd", "scontrol", "sbatch", "squeue", "scancel")
"""Programs that a cluster on one machine needs."""
MEND = "on Debian and Ubuntu: apt-get install --no-install-recommends slurm-wlm slurm-client munge"


def missing(names: tuple[str, ...] = SLURM) -> list[str]:
    """Those that are not installed."""
    return [name for name in names if _where(name) is None]


def program(name: str) -> str:
    """Path of a program. Raises UnmetError where it is not installed."""
    path = _where(name)
    if path is None:
        raise UnmetError(f"{name} is not installed ({MEND})")
    return path


def _where(name: str) -> str | None:
    """Daemons are not on every user's PATH."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
