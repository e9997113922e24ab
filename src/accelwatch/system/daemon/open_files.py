"""How many files a process may hold, and so connections."""

import contextlib
import resource


def raise_open_files() -> None:
    """Let the process hold as many connections as the system allows it; a stream is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
