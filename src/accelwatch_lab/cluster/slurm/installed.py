"""Where the daemons of Slurm and munge are on this machine, and what to install where they are not."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from accelwatch.base.errors import UnmetError

# Programs that a cluster on one machine needs.
SLURM = ("munged", "slurmctld", "slurmd", "scontrol", "sbatch", "squeue", "scancel")
_VERSION = re.compile(r"(\d+)\.(\d+)")
INSTALL_HINT = (
    "on Debian and Ubuntu: apt-get install --no-install-recommends slurm-wlm slurm-client munge"
)


def missing(names: tuple[str, ...] = SLURM) -> list[str]:
    """Those that are not installed."""
    return [name for name in names if _where(name) is None]


def program(name: str) -> str:
    """Path of a program. Raises UnmetError where it is not installed."""
    path = _where(name)
    if path is None:
        raise UnmetError(f"{name} is not installed ({INSTALL_HINT})")
    return path


def slurm_version() -> tuple[int, int]:
    """Of the controller, `(22, 5)`. Raises UnmetError where it is not installed."""
    argv = [program("slurmctld"), "-V"]
    output = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False).stdout
    match = _VERSION.search(output)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def plugin_folder() -> str:
    """Of a Slurm that was unpacked into a folder of its own, beside its programs'; else empty."""
    folder = Path(program("slurmctld")).parent.parent / "plugins"
    return str(folder) if folder.is_dir() else ""


def _where(name: str) -> str | None:
    """Daemons are not on every user's PATH."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
