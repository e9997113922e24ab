"""The two tasks of a rule runner: one evaluates tick by tick, the other checks the rule files.

Whatever a rule or a file meets, both go on; what a tick failed of is kept until one succeeds.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)

# How often rule files are checked for changes.
CHECK_EVERY_S = 5.0


class EvaluationLoop:
    """For one event loop."""

    def __init__(
        self,
        wait: Callable[[], Awaitable[None]],
        tick: Callable[[], Awaitable[None]],
        reload_changed_files: Callable[[], Awaitable[None]],
    ) -> None:
        """`wait` ends when the next tick is due."""
        self._wait = wait
        self._tick = tick
        self._reload_changed_files = reload_changed_files
        self._ticks: asyncio.Task[None] | None = None
        self._files_check: asyncio.Task[None] | None = None
        # Why the latest tick failed; empty when it did not.
        self.failure = ""

    def start(self) -> None:
        """Begin to evaluate."""
        loop = asyncio.get_running_loop()
        self._ticks = loop.create_task(self._run(), name="rules")
        self._files_check = loop.create_task(self._check_rule_files(), name="rule files")

    async def stop(self) -> None:
        """Evaluate no more."""
        tasks = [task for task in (self._ticks, self._files_check) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def alive(self) -> bool:
        """Whether anything is being evaluated."""
        return self._ticks is not None and not self._ticks.done()

    @property
    def has_stopped(self) -> bool:
        """Whether it was started and has ended."""
        return self._ticks is not None and self._ticks.done()

    async def _run(self) -> None:
        while True:
            await self._wait()
            try:
                await self._tick()
            except Exception as error:
                if not self.failure:
                    logger.exception("a tick of the rules failed")
                self.failure = f"a tick of the rules failed: {error!r}"
            else:
                self.failure = ""

    async def _check_rule_files(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            try:
                await self._reload_changed_files()
            except Exception:
                logger.exception("the check of the rule files failed")
