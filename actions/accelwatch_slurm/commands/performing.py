"""Does one step: what was seen is read again first, then one thing is changed.

Slurm has no compare-and-swap: between the read and the write others may write. A report is
never the proof; the next observation is.
"""

import asyncio
from collections.abc import Mapping

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.step import Committed, Report, ReportStatus, Step, StepKind
from accelwatch.base.clock import Clock
from accelwatch_slurm.commands.changing import Handler
from accelwatch_slurm.commands.commands import NotStartedError, permitted


class Performer:
    """The write side."""

    def __init__(
        self, handlers: Mapping[str, Handler], kinds: Mapping[str, StepKind], clock: Clock
    ) -> None:
        self._handlers = handlers
        self._kinds = kinds
        self._clock = clock

    async def perform(self, step: Step, operation: Committed) -> Report:
        """Do a step. Raises nothing but CancelledError."""
        handler = self._handlers.get(step.kind)
        if handler is None:
            return Report(status=ReportStatus.REFUSED, text=f"no step {step.kind!r}")
        if operation.dry_run:
            return Report(status=ReportStatus.DONE, text=f"dry run: {step.text}")
        if self._clock.wall() > operation.deadline:
            return Report(status=ReportStatus.REFUSED, text="its deadline has passed")
        with permitted(operation.withdrawn) as permission:
            try:
                return await self._performed(handler, step, operation)
            except NotStartedError as error:
                # Of a step of several commands some were sent: what they have come to has to be seen.
                status = ReportStatus.UNKNOWN if permission.is_used else ReportStatus.NOT_STARTED
                return Report(status=status, text=str(error))

    async def _performed(self, handler: Handler, step: Step, operation: Committed) -> Report:
        """Raises NotBegunError."""
        try:
            async with asyncio.timeout(self._kinds[step.kind].timeout_s):
                return await handler(step, operation)
        except ActionUnavailableError as error:
            return Report(status=ReportStatus.RETRY, text=str(error))
        except ChangedError as error:
            return Report(status=ReportStatus.RETRY, text=str(error))
        except TimeoutError:
            return Report(status=ReportStatus.UNKNOWN, text=f"{step.kind}: no answer in time")
        except (KeyError, ValueError) as error:
            return Report(
                status=ReportStatus.REFUSED, text=f"{step.kind}: not a step of ours: {error!r}"
            )
