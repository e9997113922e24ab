"""What a pursuit calls of an action: whatever it raises means that the scheduler does not answer."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from accelwatch.action.contract import ActionUnavailableError, ResumesOperations
from accelwatch.action.intent import Intent
from accelwatch.action.observed import Observed
from accelwatch.action.step import Achieved, Proposal
from accelwatch.remediation.execution.operations.effect import Site
from accelwatch.remediation.execution.operations.operation import Operation

logger = logging.getLogger(__name__)

# A slower observation counts as failed: every call of an action ends by itself before that.
OBSERVE_WITHIN_S = 60.0


@contextmanager
def unavailable_if_it_fails(site: Site, what: str, short: str) -> Iterator[None]:
    """Raises ActionUnavailableError for whatever an action raises.

    `what` it failed to do is for the log, `short` for people.
    """
    try:
        yield
    except ActionUnavailableError:
        raise
    except Exception as error:
        logger.exception("an action failed to %s action=%s", what, site.name)
        raise ActionUnavailableError(f"{short} failed: {error!r}") from error


def resume_operation(site: Site, operation: Operation | None) -> None:
    """Have an accepted operation polled, which an action that has just started does not know."""
    action = site.action
    if operation is None or operation.report is None or not isinstance(action, ResumesOperations):
        return
    with unavailable_if_it_fails(site, "start a step", "taking it up"):
        action.resume_operation(operation.started_step, operation.id, operation.attempt)


async def observe(site: Site, intent: Intent) -> Observed:
    """The node and its job as they are now. Raises ActionUnavailableError."""
    with unavailable_if_it_fails(site, "look", "looking"):
        try:
            async with asyncio.timeout(OBSERVE_WITHIN_S):
                return await site.action.observe(intent)
        except TimeoutError as error:
            raise ActionUnavailableError(f"no answer within {OBSERVE_WITHIN_S:g} s") from error


def propose(site: Site, decided: Intent, desired: Intent, observed: Observed) -> Proposal:
    """The next step of an intent; `desired` is the intent with the nodes that are bad now.

    Raises ActionUnavailableError.
    """
    with unavailable_if_it_fails(site, "propose", "proposing"):
        proposal = site.action.propose(decided, observed)
        if desired != decided and not isinstance(proposal, Achieved):
            # What has come true as it was decided is over, whatever has gone bad since.
            proposal = site.action.propose(desired, observed)
        return proposal
