"""Standard input, output and errors of a process, which its parent may have closed."""

import os
import sys


def open_missing() -> None:
    """Have descriptors 0 to 2 lead somewhere.

    Whatever was opened next would be one of them otherwise: a pipe between our processes, which a child
    mistakes for its own output and closes. Call it before anything is opened. Messages then go nowhere
    without a word, while `sys.stdin` and `sys.stdout` stay None: data that nobody gets is an error.
    """
    for standard in (0, 1, 2):
        try:
            os.fstat(standard)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the least that is free
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
