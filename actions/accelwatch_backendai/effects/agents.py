"""Steps that change an agent's row, each by one `modify_agent`."""

from collections.abc import Callable, Mapping

import msgspec

from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.step import Committed, Report, ReportStatus, Step, StepKind
from accelwatch.api_client.backendai.client import decoded
from accelwatch.api_client.backendai.errors import BackendAiRefusedError
from accelwatch.base.untrusted_text import printable
from accelwatch_backendai.api.agents import Agent
from accelwatch_backendai.api.answers import DONE
from accelwatch_backendai.observed_context import ObservedContext
from accelwatch_backendai.reader import read_agent
from accelwatch_backendai.rows import Access, Effect
from accelwatch_backendai.steps import DRAW, RETURN, SCHEDULE, UNSCHEDULE

_MODIFY = """mutation($id: String!, $props: ModifyAgentInput!) {
  modify_agent(id: $id, props: $props) { ok msg }
}"""
_MAX_TEXT = 300
# In what 26.8 and later answer where sessions run on an agent that is to leave their group. Never with
# `force`: that would end them.
_IN_USE = "conflicting with its resource group"
# Before what the manager has not foreseen, such as a database that fails over: not its last word.
_UNFORESEEN = "unexpected error"
# One row of the manager's database: a read shows what was written before it. What was not answered is
# waited for as long again as for its answer, before it counts as not done.
_ROW = StepKind(
    idempotent=True, reversible=True, timeout_s=15.0, settle_s=60.0, observe_for_s=1.0, at_once=16
)
# Before 26.8 the agent writes its group into its own configuration, and the row follows with one of its
# next heartbeats, which come every 3 s.
_GROUP = StepKind(
    idempotent=True, reversible=True, timeout_s=15.0, settle_s=60.0, observe_for_s=15.0, at_once=4
)


class _Modified(msgspec.Struct, frozen=True):
    ok: bool
    msg: str | None = ""


class _ModifyResponse(msgspec.Struct, frozen=True):
    modify_agent: _Modified


async def _unschedule(access: Access, step: Step, operation: Committed) -> Report:
    agent = await _agent(access, step)
    if not agent.schedulable:
        if operation.attempt == 1:
            # We have sent nothing yet: it is a person's.
            raise ChangedError(f"{agent.id} is unschedulable by now, by another person or tool")
        return DONE
    return await _modify(access, step, operation, {"schedulable": False})


async def _schedule(access: Access, step: Step, operation: Committed) -> Report:
    agent = await _agent(access, step)
    if agent.schedulable:
        return DONE
    annotation = access.quarantines.get(agent.id)
    if annotation is None or annotation.incident != step.arguments["incident"]:
        raise ChangedError(f"{agent.id} is not unschedulable by us any more")
    return await _modify(access, step, operation, {"schedulable": True})


async def _move(access: Access, step: Step, operation: Committed) -> Report:
    """From the group in which it was seen; idle and alive, since nobody else must lose a session."""
    agent, group = await _agent(access, step), step.arguments["group"]
    if agent.resource_group == group:
        return DONE
    if agent.resource_group != step.precondition["group"]:
        raise ChangedError(f"{agent.id} is in the resource group {agent.resource_group} by now")
    if not agent.alive:
        raise ChangedError(f"{agent.id} is {agent.status} by now")
    if not agent.idle:
        raise ChangedError(f"sessions run on {agent.id} by now")
    try:
        return await _modify(access, step, operation, {"scaling_group": group})
    except BackendAiRefusedError as error:
        if _IN_USE not in error.problem.message:
            raise
        # A session was placed there since it was read.
        raise ChangedError(str(error)) from error


async def _agent(access: Access, step: Step) -> Agent:
    """The agent of a step as it is now. Raises ChangedError, ActionUnavailableError."""
    name = step.arguments["agent"]
    agent = await read_agent(access, name)
    if agent is None:
        raise ChangedError(f"the manager has no agent {name} any more")
    return agent


async def _modify(
    access: Access, step: Step, operation: Committed, props: Mapping[str, object]
) -> Report:
    variables = {"id": step.arguments["agent"], "props": props}
    answer = await access.client.graphql(_MODIFY, variables, withdrawn=operation.withdrawn)
    modified = decoded(answer, _ModifyResponse).modify_agent
    if modified.ok:
        return DONE
    # HTTP 200 all the same: the key's role does not allow it, or no agent or group has that name.
    text = printable(modified.msg or "no reason is given")[:_MAX_TEXT]
    unforeseen = text.startswith(_UNFORESEEN)
    status = ReportStatus.UNKNOWN if unforeseen else ReportStatus.REFUSED
    return Report(status=status, text=f"modify_agent: {text}")


def _row(test: Callable[[Agent, Step], bool]) -> Callable[[Step, ObservedContext], bool | None]:
    """Whether the row of the step's agent shows it; None where that was not read."""

    def is_observed(step: Step, context: ObservedContext) -> bool | None:
        for agent in (context.spare, context.agent):
            if agent is not None and agent.id == step.arguments["agent"]:
                return test(agent, step)
        return None

    return is_observed


def _is_ours(step: Step, context: ObservedContext) -> bool | None:
    agent = context.agent
    if agent is None or agent.id != step.arguments["agent"]:
        return None
    return not agent.schedulable and context.annotation is not None


def _is_released(step: Step, context: ObservedContext) -> bool | None:
    """An agent that is gone, or that an administrator has made unschedulable, is not held by us."""
    ours = _is_ours(step, context)
    return context.agent is None if ours is None else not ours


def _is_in_group(agent: Agent, step: Step) -> bool:
    return agent.resource_group == step.arguments["group"]


AGENT_EFFECTS: Mapping[str, Effect] = {
    UNSCHEDULE: Effect(kind=_ROW, perform=_unschedule, is_observed=_is_ours),
    SCHEDULE: Effect(kind=_ROW, perform=_schedule, is_observed=_is_released),
    DRAW: Effect(kind=_GROUP, perform=_move, is_observed=_row(_is_in_group)),
    RETURN: Effect(kind=_GROUP, perform=_move, is_observed=_row(_is_in_group)),
}
