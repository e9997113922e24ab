"""Long work on the loop in short slices, so that streams and pages need not wait for it."""

import asyncio

SLICE_S = 0.005


class Breath:
    """Asked now and then during long work: lets the loop do something else when a slice is over."""

    def __init__(self, slice_s: float = SLICE_S) -> None:
        self._slice_s = slice_s
        self._now = asyncio.get_running_loop().time
        self._began = self._now()
        self.busy_s = 0.0
        """Time of the slices that are over."""

    async def take(self, pause: float = 0.0) -> None:
        """Pause if it is time, for `pause` times as long as the slice took."""
        spent = self._now() - self._began
        if spent >= self._slice_s:
            self.busy_s += spent
            await asyncio.sleep(spent * pause)
            self._began = self._now()

    def end(self) -> float:
        """Time that the work took in all, without the pauses."""
        return self.busy_s + self._now() - self._began
