"""Once a second, what the agent knows goes into the black box."""

import asyncio
import contextlib

from accelwatch.agent.feed import Feed
from accelwatch.archive.blackbox.black_box import BlackBox

STEP_S = 1.0


class BlackBoxFeeder:
    """A task of the agent; without a black box there is none. The loop's thread only."""

    def __init__(self, box: BlackBox | None, feed: Feed) -> None:
        self._box = box
        self._feed = feed
        # Between two snapshots; as often as is read, if that is less often than once a second.
        self.step_s = STEP_S
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to record snapshots."""
        if self._box is not None:
            self._task = asyncio.get_running_loop().create_task(self._run(self._box))

    async def stop(self) -> None:
        """Stop, with what was recorded on the disk."""
        task, self._task = self._task, None
        if task is not None and self._box is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await asyncio.to_thread(self._box.close)

    async def _run(self, box: BlackBox) -> None:
        while True:
            box.offer(self._feed.snapshot())  # also when nothing is new: a silence is a finding
            await asyncio.sleep(self.step_s)
