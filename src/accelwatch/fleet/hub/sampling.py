"""Keeps samples of what a hub's rules and detector read, for the graphs of incidents."""

from collections.abc import Callable

from accelwatch.base.slices import LongWork
from accelwatch.fleet.rounds import rounds
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.samples import STEP_S


class Sampling:
    """For the hub's event loop."""

    def __init__(self, fleet: Fleet, is_evaluated: Callable[[], bool]) -> None:
        """`is_evaluated`: whether rules are; without them there are no incidents."""
        self._fleet = fleet
        self._is_evaluated = is_evaluated

    async def run(self) -> None:
        """Sample until cancelled."""
        await rounds(STEP_S, self._sample, "samples")

    async def _sample(self) -> None:
        if self._is_evaluated():
            await self._fleet.history.sample(LongWork())
