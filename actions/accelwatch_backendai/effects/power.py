"""The step of a fence: the site's command cuts a node's power."""

from collections.abc import Mapping

from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.observed import HoldState
from accelwatch.action.power_switch import power_off_kind
from accelwatch.action.step import Committed, Report, Step
from accelwatch.base.errors import WithdrawnError
from accelwatch_backendai.api.agents import agent_by_id
from accelwatch_backendai.api.answers import unavailable_if_unread
from accelwatch_backendai.observed_context import ObservedContext
from accelwatch_backendai.quarantines import hold_state
from accelwatch_backendai.rows import Access, Effect
from accelwatch_backendai.sessions import steps


async def _power_off(access: Access, step: Step, operation: Committed) -> Report:
    name = step.arguments["node"]
    with unavailable_if_unread():
        agent = await agent_by_id(access.client, name)
    if agent is None or hold_state(agent, access.quarantines.get(name)) is not HoldState.OURS:
        raise ChangedError(f"{name} is not held by us any more")
    if agent.alive:
        raise ChangedError(f"{name} answers again")
    if why := operation.withdrawn():
        raise WithdrawnError(why)
    return await access.power.turn_off(name)


def _is_off(step: Step, context: ObservedContext) -> bool | None:
    return step.arguments["node"] in context.off


def power_effects(timeout_s: float) -> Mapping[str, Effect]:
    """By the kind of a step, where the site's command may run so many seconds."""
    effect = Effect(kind=power_off_kind(timeout_s), perform=_power_off, is_observed=_is_off)
    return {steps.POWER_OFF: effect}
