"""The terminal's second screen, for what is shown before Textual owns the terminal."""

import contextlib
import os
import sys

# The second screen, without a cursor, empty (xterm's ctlseqs, DECSET 1049 and 25).
ENTER = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J"
LEAVE = "\x1b[?25h\x1b[?1049l"


def own_terminal() -> int | None:
    """The descriptor that our driver writes to, where it is a terminal in front of this process."""
    stream = sys.__stdout__
    if "TEXTUAL_DRIVER" in os.environ or stream is None or not stream.isatty():
        return None
    return stream.fileno()


def write(descriptor: int, text: str) -> None:
    """Write; a terminal that has gone is the dashboard's affair."""
    remaining = text.encode("utf-8", "replace")
    with contextlib.suppress(OSError):
        while remaining:
            remaining = remaining[os.write(descriptor, remaining) :]
