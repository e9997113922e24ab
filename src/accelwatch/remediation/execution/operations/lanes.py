"""Who waits for whom: one at a time for a node, a few at a time for the effects of a scheduler."""

import asyncio
from collections import defaultdict
from contextlib import AbstractAsyncContextManager, nullcontext

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import StepKind

# What may take longer waits for others of its like only: a test keeps no drain waiting.
SLOW_S = 30.0
# What changes lists that several nodes have in common: nobody may read one that another changes.
SHARED = frozenset(
    {IntentKind.MOVE_JOB, IntentKind.RESTORE_JOB, IntentKind.DRAW_SPARE, IntentKind.RETURN_SPARE}
)


class Lanes:
    """Locks by name, for one event loop."""

    def __init__(self, most: int | None = None) -> None:
        """`most` effects of a kind are under way together, where that is less than is declared."""
        # One pursuit at a time reads and changes a node's operations: a second one would start the
        # step again that the first has just recorded.
        self._nodes: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        # Reservations and exclude lists are set as a whole: a change that is based on an older read
        # would undo another's.
        self._shared: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        # A scheduler that is overloaded stops responding. Slow effects have their own bound, so
        # that tests do not delay drains.
        self._effects: dict[tuple[str, bool, int], asyncio.Semaphore] = {}
        self._most = most

    def node(self, action: str, node: str) -> asyncio.Lock:
        """Its holder reads a node's operations and changes them."""
        return self._nodes[action, node]

    def shared(self, action: str, kind: IntentKind) -> AbstractAsyncContextManager[None]:
        """Its holder may read what nodes have in common, and change it."""
        return self._shared[action] if kind in SHARED else nullcontext()

    def effects(self, action: str, kind: StepKind) -> asyncio.Semaphore:
        """Who has it may have an effect on a scheduler."""
        most = kind.at_once if self._most is None else min(self._most, kind.at_once)
        key = action, kind.timeout_s > SLOW_S, most
        if key not in self._effects:
            self._effects[key] = asyncio.Semaphore(most)
        return self._effects[key]
