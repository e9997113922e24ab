"""Who falls silent, or speaks again: looked for several times a second while a probe may come of it."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from accelwatch.base.slices import LongWork
from accelwatch.fleet.remedies.node_status import NodeStatusReader
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.node import Node

logger = logging.getLogger(__name__)

EVERY_S = 0.25
# Share of the loop's time for the polls: over a large fleet there are fewer.
_SHARE = 0.01
_AFTER_A_MISTAKE_S = 60.0


class Turns:
    """For the hub's event loop."""

    def __init__(
        self,
        fleet: Fleet,
        node_status: NodeStatusReader,
        report: Callable[[Sequence[Node]], None],
        is_needed: Callable[[], bool],
    ) -> None:
        """`report` gets nodes that have turned and submits their status; nothing is polled unless
        `is_needed`.
        """
        self._fleet = fleet
        self._node_status = node_status
        self._report = report
        self._is_needed = is_needed

    async def run(self) -> None:
        """Look until this is cancelled."""
        clock, pause = self._fleet.clock, EVERY_S
        while True:
            due = clock.monotonic() + pause
            await asyncio.sleep(pause)
            if clock.monotonic() - due > EVERY_S:
                continue  # messages that came while the loop was held up are not processed yet
            try:
                spent = await self.poll() if self._is_needed() else 0.0
            except Exception:
                # Every second all nodes are observed besides, and that reports what is wrong.
                logger.exception("a look for nodes that fall silent failed")
                pause = _AFTER_A_MISTAKE_S
            else:
                pause = max(EVERY_S, spent / _SHARE)

    async def poll(self) -> float:
        """Poll once; the seconds that it used."""
        work, turned = LongWork(), []
        for node in list(self._fleet.nodes.values()):
            await work.yield_control()
            if self._node_status.has_turned(node):
                turned.append(node)
        if turned:
            self._report(turned)
        return work.busy_seconds()
