"""Does one step of an action whose effects stand in a table, within its permission and its time.

What the scheduler answers is never the proof; the next observation is.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.kit.effects import Effect
from accelwatch.action.step import Committed, Report, ReportStatus, Step
from accelwatch.base.clock import Clock
from accelwatch.base.errors import WithdrawnError


class ChangedError(Exception):
    """It is not any more as it was seen; nothing was done."""


class _HasClock(Protocol):
    @property
    def clock(self) -> Clock: ...


AccessT = TypeVar("AccessT", bound=_HasClock)
ErrorT = TypeVar("ErrorT", bound=Exception)


class Performer(Generic[AccessT, ErrorT]):
    """The write side."""

    def __init__(
        self,
        access: AccessT,
        effects: Mapping[str, Effect[AccessT, Any]],
        errors: type[ErrorT],
        report_of: Callable[[ErrorT], Report],
    ) -> None:
        """`errors` are the client's, and `report_of` says what one of them means for a write."""
        self._access = access
        self._effects = effects
        self._errors = errors
        self._report_of = report_of

    async def perform(self, step: Step, operation: Committed) -> Report:
        """Do a step. Raises nothing but CancelledError."""
        effect = self._effects.get(step.kind)
        if effect is None:
            return Report(status=ReportStatus.REFUSED, text=f"no step {step.kind!r}")
        if operation.dry_run:
            return Report(status=ReportStatus.DONE, text=f"dry run: {step.text}")
        if self._access.clock.wall() > operation.deadline:
            return Report(status=ReportStatus.REFUSED, text="its deadline has passed")
        if why_not := operation.withdrawn():
            return Report(status=ReportStatus.NOT_STARTED, text=why_not)
        try:
            async with asyncio.timeout(effect.kind.timeout_s):
                return await effect.perform(self._access, step, operation)
        except WithdrawnError as error:
            return Report(status=ReportStatus.NOT_STARTED, text=str(error))
        except (ActionUnavailableError, ChangedError) as error:
            return Report(status=ReportStatus.RETRY, text=str(error))
        except self._errors as error:
            return self._report_of(error)
        except TimeoutError:
            return Report(status=ReportStatus.UNKNOWN, text=f"{step.kind}: no answer in time")
        except (KeyError, ValueError) as error:
            return Report(
                status=ReportStatus.REFUSED, text=f"{step.kind}: not a step of ours: {error!r}"
            )
