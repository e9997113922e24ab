"""Daemon threads for calls that may hang for minutes: as many as hang, and one more.

A pool of the standard library has a bound, and waits for its threads when the process ends.
"""

import threading
from collections.abc import Callable
from queue import Empty, Queue

# After which a thread that nobody wants ends.
IDLE_S = 5.0

# Raises nothing.
Call = Callable[[], object]


class LookupThreads:
    """Each call at once, on a thread that is free or on a new one."""

    def __init__(self, idle_s: float = IDLE_S) -> None:
        self._idle_s = idle_s
        # No SimpleQueue: where several wait, its timeout may pass unheeded for ever (CPython 3.11).
        self._calls: Queue[Call] = Queue()
        # Guards the count of free threads: a call that is put without a free thread would wait for
        # ever.
        self._lock = threading.Lock()
        # Threads that wait, without those for which a call is on its way.
        self._free = 0

    def run(self, call: Call) -> None:
        """Run it on a thread; the caller is not kept."""
        with self._lock:
            has_idle = self._free > 0
            self._free -= has_idle
        if has_idle:
            self._calls.put(call)
        else:
            threading.Thread(target=self._work, args=(call,), name="resolver", daemon=True).start()

    def _work(self, call: Call | None) -> None:
        while call is not None:
            call()
            with self._lock:
                self._free += 1
            call = self._next()

    def _next(self) -> Call | None:
        try:
            return self._calls.get(timeout=self._idle_s)
        except Empty:
            pass
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return None
        return self._calls.get()  # one was put meanwhile for each thread that waits
