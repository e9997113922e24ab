"""Who waits for whom: one at a time for a node, and for the effects of a scheduler."""

import asyncio
from collections import defaultdict

EFFECTS_AT_ONCE = 1
"""Effects of one scheduler that are under way together."""


class Lanes:
    """Locks by name, for one event loop."""

    def __init__(self, at_once: int = EFFECTS_AT_ONCE) -> None:
        self._nodes: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._effects: dict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(at_once)
        )

    def node(self, action: str, node: str) -> asyncio.Lock:
        """Who has it looks at a node's operations and changes them."""
        return self._nodes[action, node]

    def effects(self, action: str) -> asyncio.Semaphore:
        """Who has it may have an effect on a scheduler."""
        return self._effects[action]
