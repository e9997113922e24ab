"""Does one step: one request that changes something.

What the manager answers is never the proof; the next observation is.
"""

import asyncio
from collections.abc import Mapping

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.step import Committed, Report, ReportStatus, Step
from accelwatch.api_client.errors import WithdrawnError
from accelwatch.backendai.errors import BackendAiError, BackendAiUnavailableError
from accelwatch_backendai.answers import ChangedError, report_of
from accelwatch_backendai.rows import Access, Effect


class Performer:
    """The write side."""

    def __init__(self, access: Access, effects: Mapping[str, Effect]) -> None:
        self._access = access
        self._effects = effects

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
        except (BackendAiError, BackendAiUnavailableError) as error:
            return report_of(error)
        except TimeoutError:
            return Report(status=ReportStatus.UNKNOWN, text=f"{step.kind}: no answer in time")
        except (KeyError, ValueError) as error:
            return Report(
                status=ReportStatus.REFUSED, text=f"{step.kind}: not a step of ours: {error!r}"
            )
