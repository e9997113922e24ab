"""Which spares could stand in for a node, and why the others could not. Pure."""

from collections.abc import Collection

from accelwatch.action.observed import HoldState
from accelwatch.base.names.hardware_keys import keys_of
from accelwatch.remediation.policy.context.bearings import why_left_alone
from accelwatch.remediation.policy.context.cases import is_barred
from accelwatch.remediation.policy.context.running_tests import IN_A_TEST, nodes_in_tests
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.state.clocks import FRESH_S
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.score import worst
from accelwatch.remediation.policy.state.spares import spare_selection
from accelwatch.remediation.policy.state.spares.model import SpareState
from accelwatch.remediation.policy.state.spares.spare_selection import (
    Candidate,
    Drawn,
    SpareRequest,
)
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.state.world import NodeStatus

# Stages of a node on which no action has started.
_ONLY_REPORTED = frozenset({Stage.SUSPECT, Stage.SUPPRESSED})


def drawn(ctx: StepView, remedy: Remedy) -> tuple[SpareState, Drawn | Denial]:
    """The spare that would be drawn for a node, and the state in which it is reserved."""
    status = ctx.node_status(remedy.node)
    labels = {} if status is None else {"model": status.model, "rack": status.rack, **status.labels}
    request = SpareRequest(incident=remedy.incident, node=ctx.target(remedy), labels=labels)
    in_tests = nodes_in_tests(ctx)
    candidates = {name: candidate(ctx, name, in_tests) for name in ctx.state.spares.spares}
    limits = ctx.settings.spares
    return spare_selection.draw(ctx.state.spares, request, candidates, now=ctx.now, settings=limits)


def candidate(ctx: StepView, name: str, in_tests: Collection[str] = ()) -> Candidate:
    """What is known of a spare besides its standing; `in_tests` has the nodes that tests run on."""
    node = ctx.hub_name(name)
    status = ctx.node_status(node)
    if status is None:
        return Candidate(usable=False, why="has not answered since the hub started")
    why = IN_A_TEST if name in in_tests else ""
    why = why or why_left_alone(ctx, node) or why_unusable(ctx, name, status)
    return Candidate(
        labels={"model": status.model, "rack": status.rack, **status.labels},
        score=worst(ctx.state.scores, keys_of(node), ctx.now),
        usable=not why,
        why=why,
    )


def why_unusable(ctx: StepView, name: str, status: NodeStatus) -> str:
    """Empty for a node that is there, well, and nobody else's; `name` is the scheduler's."""
    observation = ctx.world.scheduler_nodes.get(name)
    if observation is None:
        return "is not shown by its scheduler"
    if observation.hold_state is not HoldState.OPEN:
        return f"is not open at its scheduler ({observation.hold_state})"
    if observation.answering is False:
        return "does not answer its scheduler"
    if ctx.now - status.time > FRESH_S:
        return "is silent"
    if status.healthy is not True or _has_trouble(ctx, status.node):
        return "is not known to be healthy"
    return ""


def _has_trouble(ctx: StepView, node: str) -> bool:
    """Whether something is being done about a node, or keeps work away from it."""
    remedy = ctx.state.remedies.get(node)
    if remedy is None:
        return False
    return remedy.stage not in _ONLY_REPORTED or is_barred(ctx, remedy)
