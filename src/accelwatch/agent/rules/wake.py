"""Waiting until a moment, or an earlier one that something brings about: one wake, whatever happens."""

import asyncio


class Wake:
    """One such waiting; on the loop that runs. Moments are those of `loop.time()`."""

    def __init__(self, at: float) -> None:
        """At this moment at the latest."""
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[bool] = self._loop.create_future()
        self._timer = self._loop.call_at(at, self._ring, False)
        self._triggered = False

    def wake_at(self, at: float) -> None:
        """Something has happened that ends it at this moment; what happens later changes nothing."""
        if not self._triggered and not self._done.done():
            self._triggered = True
            self._timer.cancel()
            self._timer = self._loop.call_at(at, self._ring, True)

    def _ring(self, triggered: bool) -> None:
        if not self._done.done():
            self._done.set_result(triggered)

    async def over(self) -> bool:
        """Wait; whether something has brought it about."""
        try:
            return await self._done
        finally:
            self._timer.cancel()
