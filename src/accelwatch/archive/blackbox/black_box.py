"""The black box on a thread of its own: a disk that hangs delays nobody.

Snapshots wait in a short queue; when the disk does not keep up, the newest are left out. Arguments
of processes are never kept.
"""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING

from accelwatch.archive.blackbox.redaction import without_argv
from accelwatch.schema.snapshot import Snapshot

if TYPE_CHECKING:
    from accelwatch.archive.blackbox.writer import Writer

_QUEUE = 8
_CLOSE_S = 2.0


class BlackBox:
    """What a program gives its snapshots to."""

    def __init__(self, make: "Callable[[], Writer]") -> None:
        """`make` gives the writer; it is called on the thread, with the first snapshot."""
        self._make = make
        self._waiting: SimpleQueue[Snapshot | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._last: Snapshot | None = None

    def offer(self, snapshot: Snapshot) -> None:
        """Have a snapshot kept; returns at once."""
        if snapshot is self._last or not snapshot.devices:
            return
        self._last = snapshot
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="black-box", daemon=True)
            self._thread.start()
        if self._waiting.qsize() < _QUEUE:
            self._waiting.put(snapshot)

    def close(self) -> None:
        """Wait a moment for what was offered to be written; blocks up to two seconds."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._waiting.put(None)
        thread.join(_CLOSE_S)

    def _serve(self) -> None:
        writer = self._make()
        while (snapshot := self._waiting.get()) is not None:
            writer.record(without_argv(snapshot))
        writer.close()
