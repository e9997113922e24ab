"""A script that is killed by SIGTERM ends the processes that it has started.

The signal's default ends Python at once: no block of `with` and no `finally` runs, and what the script
has started goes on without it.
"""

import atexit
import signal
import threading
from types import FrameType

import psutil

# For processes that end in good order; whatever is left then is killed.
_GRACE_S = 5.0


def end_children_when_terminated() -> None:
    """Have SIGTERM end this process as an exception does, and its end the processes below it.

    For the main thread of a script, as often as it starts something; a handler that is there stays.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _leave)
        atexit.register(_end_children)


def _leave(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # once: the blocks end what they have started
    raise SystemExit(128 + number)


def _end_children() -> None:
    """Those that no block has ended, and what they have started, whatever their sessions."""
    children = psutil.Process().children(recursive=True)
    for child in children:
        try:
            child.terminate()
        except psutil.NoSuchProcess:
            continue
    for child in psutil.wait_procs(children, timeout=_GRACE_S)[1]:
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
