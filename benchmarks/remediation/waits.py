"""Waits for something to become so, and percentiles of many such waits."""

import asyncio
import math
import statistics
from collections.abc import Callable, Sequence

GUARD_S = 120.0


async def until(true: Callable[[], bool]) -> None:
    """Until it is so, or too long."""
    async with asyncio.timeout(GUARD_S):
        while not true():
            await asyncio.sleep(0.02)


def percentiles(seconds: Sequence[float]) -> dict[str, float | int]:
    """The median, the 99th percentile and the longest of many waits."""
    done = sorted(seconds)
    return {
        "nodes": len(done),
        "p50_s": round(statistics.median(done), 2),
        "p99_s": round(done[math.ceil(0.99 * len(done)) - 1], 2),
        "max_s": round(done[-1], 2),
    }
