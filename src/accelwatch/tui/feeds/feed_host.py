"""What every feed needs of the dashboard that shows it."""

import asyncio
from typing import Protocol

from accelwatch.base.clock import Clock
from accelwatch.tui.state.board import Board


class FeedHost(Protocol):
    """What shows data: the dashboard, as far as all feeds need it."""

    @property
    def board(self) -> Board:
        """What is known and set."""
        ...

    @property
    def clock(self) -> Clock:
        """Wall clock and monotonic time."""
        ...

    def show(self) -> None:
        """Paint the present screen."""
        ...

    def report_task_failure(self, task: "asyncio.Task[None]") -> None:
        """End with the error of a task that nobody waits for."""
        ...
