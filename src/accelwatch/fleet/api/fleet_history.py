"""/v1/fleet/history: the fleet in numbers over the last hour, every minute."""

import asyncio
import math
from array import array
from collections.abc import Awaitable, Callable

from accelwatch.base.clock import Clock
from accelwatch.fleet.api.query.totals import Totals
from accelwatch.fleet.documents.fleet import FleetHistory
from accelwatch.schema.device import UP
from accelwatch.schema.timestamps import timestamp
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Headers, Page, Query

# As many points as a graph has room for. Every ten seconds would be a tenth of what a hub does.
STEP_S = 60
STEPS = 60
# After the start, when most nodes have reported something.
FIRST_S = 5.0
NAMES = (
    "utilization_ratio",
    "power_watts",
    "memory_used_bytes",
    "memory_size_bytes",
    "devices",
    "devices_not_answering",
)
_BLANK = (math.nan,) * len(NAMES)


class KeptTotals:
    """A ring of what the fleet came to at each step; the loop's thread only."""

    def __init__(self, clock: Clock, sums: Callable[[], Awaitable[Totals]]) -> None:
        """`sums` counts the fleet now and keeps nothing that a page would be answered with.

        The first count is of a fleet that has not reported yet.
        """
        self._clock = clock
        self._sums = sums
        self._values = [array("d", [math.nan]) * STEPS for _ in NAMES]
        # The last step that was counted, in STEP_S of the monotonic clock.
        self._newest: int | None = None
        # When, in Unix seconds.
        self._counted_at = 0.0

    async def run(self) -> None:
        """Count until cancelled."""
        await asyncio.sleep(FIRST_S)
        while True:
            await self.refresh()
            await asyncio.sleep(STEP_S - self._clock.monotonic() % STEP_S)

    async def refresh(self) -> None:
        """Count now. A step in which nobody counted, as of a machine that slept, stays empty."""
        step = int(self._clock.monotonic() // STEP_S)
        totals = await self._sums()
        if self._newest is not None:
            for missed in range(max(self._newest + 1, step - STEPS + 1), step):
                self._write(missed, _BLANK)
        self._write(step, numbers_of(totals))
        self._newest, self._counted_at = step, self._clock.wall()

    def _write(self, step: int, numbers: tuple[float, ...]) -> None:
        for ring, number in zip(self._values, numbers, strict=True):
            ring[step % STEPS] = number

    def document(self) -> FleetHistory:
        """Oldest step first; a quantity without any value is not there."""
        values: dict[str, list[float | None]] = {}
        after = 0 if self._newest is None else (self._newest + 1) % STEPS
        for name, ring in zip(NAMES, self._values, strict=True):
            line = [
                None if math.isnan(value) else value for value in (*ring[after:], *ring[:after])
            ]
            if any(value is not None for value in line):
                values[name] = line
        end = self._clock.wall() if self._newest is None else self._counted_at
        return FleetHistory(step_s=STEP_S, end=timestamp(end), values=values)

    def page(self, _query: Query, headers: Headers) -> Page:
        """The document."""
        return json_page(self.document(), headers)


def numbers_of(totals: Totals) -> tuple[float, ...]:
    """In the order of NAMES; NaN for what no device reports, and of a fleet without devices."""
    devices = totals.states.total()
    answering = sum(totals.states[state] for state in UP)
    return (
        totals.means.get("utilization_ratio", math.nan),
        totals.sums.get("power_watts", math.nan),
        totals.sums.get("memory_used_bytes", math.nan),
        totals.sums.get("memory_size_bytes", math.nan),
        devices or math.nan,
        devices - answering if devices else math.nan,
    )
