"""Whether output goes to a person's terminal; checked before anything is loaded."""

import os
import sys

# Set by the shell's completion function (the name is click's rule).
COMPLETION = "_ACCELWATCH_COMPLETE"


def on_terminal() -> bool:
    """Whether a person looks: a dashboard needs both ends of a terminal that can move its cursor."""
    if COMPLETION in os.environ or os.environ.get("TERM", "dumb") == "dumb":
        return False
    if sys.stdin is None or sys.stdout is None:  # it was closed at the start
        return False
    return sys.stdin.isatty() and sys.stdout.isatty()
