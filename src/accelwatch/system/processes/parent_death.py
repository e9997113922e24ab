"""Processes that the kernel ends with the one that began them: PR_SET_PDEATHSIG, prctl(2), Linux only.

`python parent_death.py PID COMMAND...` becomes the command, for as long as the process PID lives.
Nothing of ours is imported: it is run without site packages.
"""

import os
import signal
import sys
from collections.abc import Sequence

# linux/prctl.h
_PR_SET_PDEATHSIG = 1
_NOT_RUN = 127


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that began it ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def bound(argv: Sequence[str]) -> list[str]:
    """The arguments by which a command that may run for ever ends with this process, however that ends.

    Started by a thread, it ends with that thread. Elsewhere than on Linux these are the same arguments.
    """
    if sys.platform != "linux" or not sys.executable:
        return list(argv)
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *argv]


def main(argv: list[str]) -> int:
    """Become the command; a parent that is gone already needs it no more."""
    die_with_parent()
    if os.getppid() == int(argv[0]):
        os.execv(argv[1], argv[1:])  # noqa: S606 - a vendor's command, by its path
    return _NOT_RUN


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except OSError:
        sys.exit(_NOT_RUN)
