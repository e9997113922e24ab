"""A line on the terminal while a hub starts and Textual is loaded; then the dashboard paints over it.

It is written at once, before anything slow is imported.
"""

import contextlib
from collections.abc import Iterator

from accelwatch.tui.terminal.alternate_screen import ENTER, LEAVE, write
from accelwatch.tui.terminal.termination_signals import raised

_TITLE = "\x1b[1m accelwatch \x1b[0m"


@contextlib.contextmanager
def starting_picture(text: str, descriptor: int | None) -> Iterator[None]:
    """Show what is being started until the block ends; an error in it gives the terminal back."""
    if descriptor is None:
        yield
        return
    write(descriptor, f"{ENTER}{_TITLE}\r\n\r\n {text} ...")
    try:
        with raised():
            yield
    except BaseException:
        write(descriptor, LEAVE)
        raise
