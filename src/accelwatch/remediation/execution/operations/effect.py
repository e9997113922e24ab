"""One effect on a scheduler: written down first, done once, its answer kept."""

import asyncio
import logging
import random
from collections.abc import Callable
from typing import NamedTuple

from accelwatch.action.contract import Action
from accelwatch.action.intent import Intent
from accelwatch.action.step import Committed, Report, ReportStatus, Step, StepKind
from accelwatch.base.clock import Clock
from accelwatch.remediation.execution.operations.lanes import Lanes
from accelwatch.remediation.execution.operations.ledger import Ledger
from accelwatch.remediation.execution.operations.operation import Operation, OperationState, Witness

logger = logging.getLogger(__name__)

# A step that an action does not declare is the worst that a step can be.
_UNDECLARED = StepKind(idempotent=False, reversible=False)

# Why no effect may begin now for an intent; empty when it may.
Gate = Callable[[Intent], str]


class Site(NamedTuple):
    """What the pursuits of one scheduler share."""

    # The action's name in the configuration.
    name: str
    action: Action
    ledger: Ledger
    lanes: Lanes
    gate: Gate
    clock: Clock
    jitter: Callable[[], float] = random.random
    # An intent with the nodes that are bad now.
    as_of_now: Callable[[Intent], Intent] = lambda intent: intent

    def kind(self, step: Step) -> StepKind:
        """What is declared of a step."""
        return self.action.steps.get(step.kind, _UNDECLARED)


async def carry_out(
    site: Site, intent: Intent, step: Step, attempt: int, withheld_reason: Callable[[], str]
) -> str:
    """Do a step, unless something holds it back at the last moment: then what, else empty.

    Raises JournalError: before the effect it has not happened, after it its answer is known in memory.
    """
    kind, ledger = site.kind(step), site.ledger
    operation = await ledger.reserve(site.name, intent, step, attempt)
    async with site.lanes.effects(site.name, kind):
        why = withheld_reason()
        if not why:
            operation, committed = await ledger.start(operation, kind, withheld_reason)
            why = withheld_reason()
        if why:
            await ledger.settle(operation, OperationState.CANCELLED, Witness.PURSUIT, why)
            return why
        report = await _perform(site, step, committed, kind)
    if report.status is ReportStatus.NOT_STARTED:
        await ledger.settle(operation, OperationState.CANCELLED, Witness.PURSUIT, report.text)
        return report.text
    await _record_report(ledger, operation, report, kind)
    return ""


async def _perform(site: Site, step: Step, committed: Committed, kind: StepKind) -> Report:
    try:
        async with asyncio.timeout(kind.timeout_s):
            return await site.action.perform(step, committed)
    except TimeoutError:
        text = f"no answer within {kind.timeout_s:g} s"
    except Exception as error:
        logger.exception("an action failed to do a step action=%s", site.name)
        text = f"doing it failed: {error!r}"
    return Report(status=ReportStatus.UNKNOWN, text=text)


async def _record_report(
    ledger: Ledger, operation: Operation, report: Report, kind: StepKind
) -> None:
    if report.status is ReportStatus.UNKNOWN:
        await ledger.record_report(operation, report, OperationState.UNKNOWN)
        return
    operation = await ledger.record_report(operation, report, OperationState.ANSWERED)
    retried = report.status is ReportStatus.RETRY and kind.idempotent
    if retried or report.status is ReportStatus.REFUSED:
        text = report.text or "nothing has happened"
        await ledger.settle(operation, OperationState.FAILED, Witness.PURSUIT, text)
