"""Signals that end a program, handled so that the terminal is restored."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

_TERMINATION_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
# What a shell adds to the number of the signal that ended a program.
_SIGNAL_EXIT_BASE = 128


def quit_on_signal(leave: Callable[[], object]) -> None:
    """Call `leave` on each of them; call it on the loop of the running dashboard."""
    import asyncio  # the first picture, which needs `raised`, does not wait for it

    loop = asyncio.get_running_loop()
    for number in _TERMINATION_SIGNALS:
        loop.add_signal_handler(number, leave)


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Have them raise SystemExit until the block ends, in which ^Z does nothing.

    A user who stopped then would find the shell behind a picture, without a cursor.
    """
    usual = {number: signal.signal(number, _raise) for number in _TERMINATION_SIGNALS}
    usual[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def _raise(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(_SIGNAL_EXIT_BASE + number)
