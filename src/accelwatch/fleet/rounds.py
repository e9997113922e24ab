"""Work that is done again at an interval for as long as the hub runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn

logger = logging.getLogger(__name__)


async def rounds(interval_s: float, work: Callable[[], Awaitable[None]], name: str) -> NoReturn:
    """Do `work` at the interval until cancelled; of rounds that were missed only one is made up for.

    One odd round must not end the work for ever: it is logged under its name, and the next one comes.
    """
    loop = asyncio.get_running_loop()
    due = loop.time()
    while True:
        now = loop.time()
        await asyncio.sleep(max(0.0, due - now))
        due = max(due, now) + interval_s
        try:
            await work()
        except Exception:
            logger.exception("a round of %s failed", name)
