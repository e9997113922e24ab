"""What a Mac is to this backend before any command runs: platform, machine, and rights."""

import os
import sys
from typing import NamedTuple

IOREG = "usr/sbin/ioreg"


class System(NamedTuple):
    """What this process runs on."""

    # `darwin`, `linux`: that of Python.
    platform: str
    # `arm64`; under Rosetta macOS says `x86_64`.
    machine: str
    is_root: bool

    @property
    def is_apple_silicon(self) -> bool:
        """Whether the commands that this backend runs are those of an Apple Silicon Mac."""
        return self.platform == "darwin" and self.machine == "arm64"


def this_system() -> System:
    """Where we are."""
    if sys.platform != "darwin":
        return System(sys.platform, "", is_root=False)
    return System(sys.platform, os.uname().machine, os.geteuid() == 0)
