"""Counts over the whole fleet, shared by simultaneous requests."""

import asyncio

from accelwatch.base.slices import Turns
from accelwatch.fleet.api.query.groups import groups
from accelwatch.fleet.api.query.names import condition, target_labels
from accelwatch.fleet.api.query.totals import Totals, counted
from accelwatch.fleet.documents.fleet import GroupRow
from accelwatch.fleet.state.fleet import Fleet

# How long sums over the fleet are cached; nobody can see a difference, and requests may be many.
_CACHE_S = 0.5
# Groups are counted in a tenth of the time at most, however many requests come.
_REST = 10


class FleetCounts:
    """Sums, groups and names, each counted once for all requests; the loop's thread only."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        # Of all walks over the fleet for somebody who looks.
        self.turns = Turns()
        # Requests that come together wait for one walk over the fleet and share its result.
        self._counting = asyncio.Lock()
        # When counted, of which read of the store and which membership, and what.
        self._sums: tuple[float, tuple[str | float | None, int], Totals] | None = None
        # By grouping and filter, with the time until which it is served. Expensive ones live
        # longer, so that requests cannot keep the loop busy.
        self._grouped: dict[tuple[str, str], tuple[float, list[GroupRow]]] = {}
        self._order: tuple[frozenset[str], list[str]] = (frozenset(), [])

    def invalidate(self) -> None:
        """Count again at the next request."""
        self._sums, self._grouped = None, {}

    async def sums(self) -> Totals:
        """Sums over the fleet, at most half a second old; simultaneous requests share one count.

        None is older than the store's last read or a node's first answer: a client that waits for
        these would find nodes without devices.
        """
        async with self._counting:
            now, cached = self._fleet.clock.monotonic(), self._sums
            read_at = None if self._fleet.store is None else self._fleet.store.read_at
            version = read_at, self._fleet.membership
            if cached is None or now - cached[0] >= _CACHE_S or cached[1] != version:
                cached = self._sums = now, version, await self.count()
            return cached[2]

    async def count(self) -> Totals:
        """Sums over the fleet as it stands."""
        async with self.turns.walk() as walk:
            return await counted(self._fleet, walk.yield_control)

    async def groups(self, by: str, text: str) -> list[GroupRow]:
        """The groups, half a second old or a multiple of the time that counting lasts."""
        clock = self._fleet.clock
        async with self._counting:
            now = clock.monotonic()
            kept = {key: cached for key, cached in self._grouped.items() if now < cached[0]}
            if (by, text) not in kept:
                expression = condition(text, self.labels()) if text else None
                async with self.turns.walk() as walk:
                    rows = await groups(self._fleet, by, expression, walk)
                duration = clock.monotonic() - now
                kept[by, text] = now + max(_CACHE_S, _REST * duration), rows
            self._grouped = kept
            return kept[by, text][1]

    def names(self) -> list[str]:
        """Names of the nodes, sorted."""
        names = frozenset(self._fleet.nodes)
        if names != self._order[0]:
            self._order = names, sorted(names)
        return self._order[1]

    def labels(self) -> set[str]:
        """Names of all labels of targets."""
        return target_labels(self._fleet)
