"""Stopping the program as ^Z does, where there is a shell that can let it go on again.

A raw terminal makes no signal of ^Z. A program that stops itself without a shell of its session above
it would stop for ever: the kernel's own ^Z does nothing there (POSIX: an orphaned process group).
"""

import os
import signal
from pathlib import Path

# Index of the parent's pid among the words behind the name in /proc/<pid>/stat (proc(5)).
_PARENT = 1


def stop(root: Path = Path("/")) -> bool:
    """Stop the whole job, wrappers such as `env` too; false where no shell waits for it.

    Returns when it goes on. Our own handler of SIGTSTP gives the terminal back first.
    """
    if not waited_for(root):
        return False
    leader = os.getpgrp()
    if leader == os.getpid():
        os.kill(leader, signal.SIGTSTP)
    else:
        os.killpg(leader, signal.SIGTSTP)
    return True


def waited_for(root: Path = Path("/")) -> bool:
    """Whether this job has a parent in its session that is another job: a shell with job control."""
    leader = os.getpgrp()
    parent = os.getppid() if leader == os.getpid() else _parent_of(leader, root)
    try:
        return os.getsid(parent) == os.getsid(0) and os.getpgid(parent) != leader
    except (OSError, OverflowError):
        return False


def _parent_of(pid: int, root: Path) -> int:
    """Our own parent where the leader has ended: its children are the ones that go on."""
    try:
        text = (root / "proc" / str(pid) / "stat").read_text("utf-8", "replace")
        return int(text.rpartition(")")[2].split()[_PARENT])
    except (OSError, ValueError, IndexError):
        return os.getppid()
