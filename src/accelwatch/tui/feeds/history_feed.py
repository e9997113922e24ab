"""Snapshots on their way into the history of a board, large machines between other work."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.state.board import SLICE, Board

# Snapshots that wait for the history; when it cannot keep up, the oldest are left out.
_MOST_UNNOTED = 64


class HistoryFeed:
    """For one event loop."""

    def __init__(self, board: Board, finished: "Callable[[asyncio.Task[None]], None]") -> None:
        """`finished` is called when a task is over, which may have failed."""
        self._board = board
        self._finished = finished
        self._waiting: deque[Snapshot] = deque(maxlen=_MOST_UNNOTED)
        # What notes between other work, or did so last.
        self.task: asyncio.Task[None] | None = None

    def note(self, shots: Iterable[Snapshot]) -> None:
        """Have snapshots noted, in this order."""
        self._waiting.extend(shots)
        if self.task is not None and not self.task.done():
            return
        if len(self._waiting) == 1 and len(self._waiting[0].devices) <= SLICE:
            for _ in self._board.note(self._waiting.popleft()):
                pass
        elif self._waiting:
            self.task = asyncio.create_task(self._note_slowly())
            self.task.add_done_callback(self._finished)

    def clear(self) -> None:
        """Leave out what still waits."""
        self._waiting.clear()

    async def _note_slowly(self) -> None:
        while self._waiting:
            for _ in self._board.note(self._waiting.popleft()):
                await asyncio.sleep(0)
            await asyncio.sleep(0)
