"""A scheduler's answer to the drain of a node, queried when a person opens its plan."""

import asyncio
from collections.abc import Mapping

from accelwatch.action.contract import Action, ActionUnavailableError, PreviewsDrains
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.plan.gates import leader

# A person waits for it.
_WITHIN_S = 10.0


async def drain_preview(
    ctx: StepContext, node: str, actions: Mapping[str, Action]
) -> tuple[str, ...]:
    """Sentences for people; none where the action of the node's scheduler has no previews."""
    remedy = ctx.remedy(node)
    target, case = ctx.target(remedy), leader(ctx, remedy)
    name = ctx.world.shown_by.get(target, "")
    action = actions.get(name)
    if not isinstance(action, PreviewsDrains):
        return ()
    try:
        async with asyncio.timeout(_WITHIN_S):
            return tuple(await action.preview(target, "" if case is None else case.device))
    except TimeoutError:
        why = f"no answer within {_WITHIN_S:g} s"
    except ActionUnavailableError as error:
        why = str(error)
    return (f"it is not known what {name} would refuse: {why}",)
