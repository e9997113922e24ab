"""Sees every few seconds whether this process can do its work, however often rules are evaluated."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path

from accelwatch.alerting.delivery.formatting.own_problem import OwnProblem
from accelwatch.alerting.delivery.transport.blocking import Blocking, StillBusyError
from accelwatch.alerting.evaluation.self_check.own_problems import OwnProblems
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.base.clock import Clock
from accelwatch.system.files.damaged import damaged_files

logger = logging.getLogger(__name__)

CHECK_EVERY_S = 5.0
# For the state folder, which may be on a file system that hangs.
_FILES_WAIT_S = 30.0


class SelfCheck:
    """Two tasks on one event loop: only the check of files waits for a file system."""

    def __init__(
        self,
        clock: Clock,
        folder: Path | None,
        check_journal: Callable[[float], Awaitable[object]],
        problems: Callable[[Sequence[Path]], Iterable[OwnProblem | None]],
        notify: Callable[[Incident], object],
    ) -> None:
        """`folder` is where state is kept, `check_journal` is given Unix seconds.

        `problems` says what is wrong now, given the state files that were set aside.
        """
        self._clock = clock
        self._folder = folder
        self._check_journal = check_journal
        self._problems = problems
        self._notified = OwnProblems(notify)
        self._listing: Blocking[tuple[Path, ...]] = Blocking("state folder")
        # State files that were set aside, as of the last look that the file system answered.
        self._set_aside: tuple[Path, ...] = ()
        self._tasks: tuple[asyncio.Task[None], ...] = ()

    def start(self) -> None:
        """Begin."""
        loop = asyncio.get_running_loop()
        self._tasks = (
            loop.create_task(self._check_itself(), name="own problems"),
            loop.create_task(self._check_files(), name="state folder"),
        )

    async def stop(self) -> None:
        """End."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _check_itself(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            try:
                await self._check_journal(self._clock.wall())
                current = [p for p in self._problems(self._set_aside) if p is not None]
                self._notified.update_problems(current, self._clock.wall(), self._clock.monotonic())
            except Exception:
                logger.exception("the check of this process itself failed")

    async def _check_files(self) -> None:
        while True:
            try:
                with contextlib.suppress(TimeoutError, StillBusyError):
                    self._set_aside = await self._listing.run(
                        lambda: damaged_files(self._folder), _FILES_WAIT_S
                    )
            except Exception:
                logger.exception("the check of the state folder failed")
            await asyncio.sleep(CHECK_EVERY_S)
