"""Steps that change a node object, each by one merge patch on the version that was read."""

from collections.abc import Callable, Mapping

from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Committed, Report, ReportStatus, Step, StepKind
from accelwatch.api_client.kubernetes.errors import decoded
from accelwatch_kubernetes.access.answers import DONE, write_errors
from accelwatch_kubernetes.access.reader import node_path
from accelwatch_kubernetes.marks.foreign import taint_text
from accelwatch_kubernetes.marks.hold import Drawn, Hold, drawn_of, hold_of
from accelwatch_kubernetes.marks.hold_state import hold_state_of, our_taints
from accelwatch_kubernetes.marks.patches import (
    Patch,
    draw_patch,
    hold_patch,
    new_hold,
    release_patch,
    return_patch,
    taint_of,
)
from accelwatch_kubernetes.objects.node import Node
from accelwatch_kubernetes.observed_context import ObservedContext
from accelwatch_kubernetes.rows import Access, Effect
from accelwatch_kubernetes.steps import DRAW, DRAWN_FOR, RETURN, TAINT, UNTAINT

# What is to be sent for a node as it stands; None where it is as it should be. Raises ChangedError.
Decide = Callable[[Node], Patch | None]

# A patch lasts milliseconds; twice as many as there are connections keep all of them busy. The one
# limiter of a cluster keeps the rate.
_AT_ONCE = 64
# A read shows what was written before it. What got no answer may come later, but only if nobody has
# written since.
_PATCH = StepKind(
    idempotent=True,
    reversible=True,
    timeout_s=20.0,
    settle_s=10.0,
    observe_for_s=1.0,
    at_once=_AT_ONCE,
)


async def patched(access: Access, step: Step, operation: Committed, decide: Decide) -> Node | None:
    """Send what is decided for the node of a step; None where nothing had to be sent.

    Where the node was changed since it was read, it is read again and decided anew, once. Raises
    ChangedError, WithdrawnError, ActionUnavailableError, KubernetesError.
    """
    name = step.arguments["node"]
    node = access.nodes.pop_latest(name)
    if node is not None:
        try:
            return await _sent(access, step, operation, node, decide)
        except ChangedError:
            pass  # another client wrote in between, as a kubelet does that reports its status
    node = await access.nodes.node(name)
    if node is None:
        raise ChangedError(f"the cluster has no node {name} any more")
    return await _sent(access, step, operation, node, decide)


async def _sent(
    access: Access, step: Step, operation: Committed, node: Node, decide: Decide
) -> Node | None:
    if node.metadata.uid != step.precondition["uid"]:
        raise ChangedError(f"{node.name} is another node object by now")
    patch = decide(node)
    if patch is None:
        return None
    with write_errors():
        answer = await access.client.patch(
            node_path(node.name), patch, withdrawn=operation.withdrawn
        )
    after = decoded(answer, Node)
    access.nodes.written(after)
    return after


async def _taint(access: Access, step: Step, operation: Committed) -> Report:
    options, incident = access.options, step.arguments["incident"]
    hold: Hold | None = None

    def decide(node: Node) -> Patch | None:
        nonlocal hold
        state, there = hold_state_of(node, options), hold_of(node)
        if state is HoldState.OURS and there is not None and there.incident == incident:
            return None
        if state is not HoldState.OPEN:
            raise ChangedError(f"{node.name} is held by another person or tool now")
        hold = new_hold(
            node,
            options,
            incident=incident,
            token=operation.annotation.token,
            since=access.clock.wall(),
            rule=step.arguments["rule"],
            reason=step.arguments["reason"],
        )
        return hold_patch(node, hold, options)

    after = await patched(access, step, operation, decide)
    if after is None or hold is None:
        return DONE
    return await _as_admitted(access, after, hold, operation)


async def _as_admitted(access: Access, after: Node, hold: Hold, operation: Committed) -> Report:
    """What the server has stored, which a webhook may have made of our patch."""
    stored = hold_of(after)
    there = our_taints(after, hold)
    if stored == hold and there:
        changed = _changed_by_webhook(access, after, hold)
        text = f"an admission webhook of the cluster has changed our patch: {changed}"
        return Report(status=ReportStatus.DONE, text=text if changed else "")
    # Half of it would look like a node that a person has freed, or that somebody else holds.
    await _undo(access, after, hold, operation)
    what = "annotation" if there else "taint"
    text = f"an admission webhook of the cluster has changed the {what} in our patch"
    return Report(status=ReportStatus.REFUSED, text=f"{text}; {after.name} is as it was before")


async def _undo(access: Access, after: Node, hold: Hold, operation: Committed) -> None:
    """Undo our patch, also where another client has written since: half a mark would not be recognised.

    The node controller writes at once to a node that was cordoned.
    """

    def decide(node: Node) -> Patch | None:
        there = hold_of(node)
        if there is not None and there.incident != hold.incident:
            raise ChangedError(f"{node.name} is held for {there.incident} by now")
        return release_patch(node, hold)

    access.nodes.keep(after)
    arguments, precondition = {"node": after.name}, {"uid": after.metadata.uid}
    untaint = Step(kind=UNTAINT, arguments=arguments, precondition=precondition)
    await patched(access, untaint, operation, decide)


def _changed_by_webhook(access: Access, after: Node, hold: Hold) -> str:
    """What differs from the patch and still keeps work away, in words; empty where nothing does."""
    changed = [
        f"the taint is {taint_text(taint)}"
        for taint in our_taints(after, hold)
        if taint_text(taint) != taint_text(taint_of(hold, access.options))
    ]
    if hold.cordoned_by_us and not after.spec.unschedulable:
        changed.append("the node is not cordoned")
    return ", ".join(changed)


async def _untaint(access: Access, step: Step, operation: Committed) -> Report:
    def decide(node: Node) -> Patch | None:
        hold = hold_of(node)
        if hold is None:
            return None
        if hold.incident != step.arguments["incident"] or hold.by != access.options.hub:
            raise ChangedError(f"{node.name} is held for {hold.incident} by now")
        if hold.token > operation.annotation.token:
            raise ChangedError(f"{node.name} is held by a newer engine by now")
        return release_patch(node, hold)

    after = await patched(access, step, operation, decide)
    if after is not None and hold_of(after) is not None:
        text = f"an admission webhook of the cluster has kept our mark on {after.name}"
        return Report(status=ReportStatus.REFUSED, text=text)
    return DONE


async def _draw(access: Access, step: Step, operation: Committed) -> Report:
    incident = step.arguments["incident"]

    def decide(node: Node) -> Patch | None:
        there = drawn_of(node)
        if there is not None and there.incident != incident:
            raise ChangedError(f"{node.name} is drawn for {there.incident} by now")
        if hold_state_of(node, access.options) is not HoldState.OPEN:
            raise ChangedError(f"{node.name} is held by now")
        drawn = Drawn(
            incident=incident,
            token=operation.annotation.token,
            by=access.options.hub,
            job=step.arguments["job"],
            since=access.clock.wall(),
            uid=node.metadata.uid,
        )
        return draw_patch(node, drawn, access.options)

    await patched(access, step, operation, decide)
    return DONE


async def _return(access: Access, step: Step, operation: Committed) -> Report:
    def decide(node: Node) -> Patch | None:
        there = drawn_of(node)
        if there is not None and there.token > operation.annotation.token:
            raise ChangedError(f"{node.name} is drawn by a newer engine by now")
        # Drawn anew since the step was proposed: that job runs there now. A journal of an earlier
        # version does not say for whom it was drawn.
        expected = step.precondition.get(DRAWN_FOR)
        if there is not None and expected is not None and there.incident != expected:
            raise ChangedError(f"{node.name} is drawn for {there.incident} by now")
        return return_patch(node, access.options)

    await patched(access, step, operation, decide)
    return DONE


def _is_tainted(step: Step, context: ObservedContext) -> bool | None:
    """Also with a part of it undone since: then it has happened."""
    if context.node is None:
        return None
    hold = hold_of(context.node)
    return hold is not None and hold.incident == step.arguments["incident"]


def _is_untainted(step: Step, context: ObservedContext) -> bool | None:
    """A node that is gone, or is another object by now, bears no mark of ours."""
    if context.node is None or context.node.metadata.uid != step.precondition["uid"]:
        return True
    hold = hold_of(context.node)
    return hold is None or hold.incident != step.arguments["incident"]


def _spare(step: Step, context: ObservedContext) -> Node | None:
    name = step.arguments["node"]
    shown = (node for node in (context.spare, context.node) if node is not None)
    return next((node for node in shown if node.name == name), None)


def _is_drawn(step: Step, context: ObservedContext) -> bool | None:
    node = _spare(step, context)
    if node is None:
        return None
    drawn = drawn_of(node)
    return drawn is not None and drawn.incident == step.arguments["incident"]


def _is_returned(step: Step, context: ObservedContext) -> bool | None:
    node = _spare(step, context)
    if node is None:
        return None
    key = context.options.spare_taint
    return drawn_of(node) is None and any(taint.get("key") == key for taint in node.spec.taints)


NODE_EFFECTS: Mapping[str, Effect] = {
    TAINT: Effect(kind=_PATCH, perform=_taint, is_observed=_is_tainted),
    UNTAINT: Effect(kind=_PATCH, perform=_untaint, is_observed=_is_untainted),
    DRAW: Effect(kind=_PATCH, perform=_draw, is_observed=_is_drawn),
    RETURN: Effect(kind=_PATCH, perform=_return, is_observed=_is_returned),
}
