"""Who falls silent, or speaks again: looked for several times a second while a probe may come of it."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from accelwatch.base.slices import LongWork
from accelwatch.fleet.remedies.hearing import Hearing
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.node import Node

logger = logging.getLogger(__name__)

EVERY_S = 0.25
_SHARE = 0.01
"""Of the loop's time that the looks may take: over a large fleet there are fewer."""
_AFTER_A_MISTAKE_S = 60.0


class Turns:
    """For the hub's event loop."""

    def __init__(
        self,
        fleet: Fleet,
        hearing: Hearing,
        tell: Callable[[Sequence[Node]], None],
        wanted: Callable[[], bool],
    ) -> None:
        """`tell` hears of nodes that have turned and has them told of; nobody looks unless `wanted`."""
        self._fleet = fleet
        self._hearing = hearing
        self._tell = tell
        self._wanted = wanted

    async def run(self) -> None:
        """Look until this is cancelled."""
        clock, pause = self._fleet.clock, EVERY_S
        while True:
            due = clock.monotonic() + pause
            await asyncio.sleep(pause)
            if clock.monotonic() - due > EVERY_S:
                continue  # what has arrived while everything was held up is not taken up yet
            try:
                spent = await self.look() if self._wanted() else 0.0
            except Exception:
                # Every second all nodes are looked at besides, and what is wrong then is told.
                logger.exception("a look for nodes that fall silent failed")
                pause = _AFTER_A_MISTAKE_S
            else:
                pause = max(EVERY_S, spent / _SHARE)

    async def look(self) -> float:
        """Look once; seconds that it took."""
        work, turned = LongWork(), []
        for node in list(self._fleet.nodes.values()):
            await work.rest()
            if self._hearing.has_turned(node):
                turned.append(node)
        if turned:
            self._tell(turned)
        return work.end()
