"""Many incidents at once, a few at a time, so that others on the event loop have their turn."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

_CHUNK = 25

_T = TypeVar("_T")


async def chunks(items: Sequence[_T]) -> AsyncIterator[Sequence[_T]]:
    """All items in order, a chunk after the other; between two chunks others have their turn."""
    for start in range(0, len(items), _CHUNK):
        if start:
            await asyncio.sleep(0)
        yield items[start : start + _CHUNK]
