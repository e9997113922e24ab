"""Which step leads to a node that accepts no work, or accepts it again. Pure."""

import json

from accelwatch.action.intent import Intent
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step
from accelwatch_kubernetes.marks.hold import Hold, hold_of
from accelwatch_kubernetes.marks.hold_state import foreign_claims, hold_state_of, override_text
from accelwatch_kubernetes.objects.node import Node
from accelwatch_kubernetes.observed_context import SLURM, ObservedContext
from accelwatch_kubernetes.steps import TAINT, UNTAINT

# In an intent's `original`: the node object that was held.
UID = "uid"


def propose_quarantine(intent: Intent, context: ObservedContext) -> Proposal:
    """Taint it, unless others hold it or have removed our hold."""
    node = context.node
    if node is None:
        return missing(intent.node)
    hold, state = hold_of(node), hold_state_of(node, context.options)
    if state in (HoldState.FOREIGN, HoldState.DOWN):
        return Refusal(RefusalKind.FOREIGN, foreign_text(node, context))
    if state is HoldState.OURS and hold is not None:
        return _already_quarantined(intent, context, node, hold)
    if hold is not None and hold.by == context.options.hub:
        if hold.incident == intent.mark.incident:
            return _overridden(hold, override_text(node, hold))
        if hold.token > intent.mark.token:
            return Refusal(RefusalKind.FOREIGN, f"{node.name} has the mark of a newer engine")
    return Step(
        kind=TAINT,
        arguments={
            "node": node.name,
            "incident": intent.mark.incident,
            "rule": intent.rule,
            "reason": intent.reason,
        },
        precondition={UID: node.metadata.uid},
        original={
            UID: node.metadata.uid,
            "unschedulable": str(node.spec.unschedulable).lower(),
            "taints": json.dumps(node.spec.taints, separators=(",", ":")),
        },
        text=f"taint {node.name} with {context.options.taint}{_beside(context)}",
    )


def _beside(context: ObservedContext) -> str:
    """What a taint does not reach, for people."""
    text = context.own.get(SLURM, "")
    return f" ({text})" if text else ""


def _already_quarantined(
    intent: Intent, context: ObservedContext, node: Node, hold: Hold
) -> Achieved | Refusal:
    if undone := override_text(node, hold):
        return _overridden(hold, undone)
    if hold.incident == intent.mark.incident:
        return Achieved(f"{node.name} has the taint {hold.taint}, held by us{_beside(context)}")
    return Achieved(f"{node.name} is held already, for {hold.incident}")


def _overridden(hold: Hold, undone: str) -> Refusal:
    text = f"held for {hold.incident}, but {undone} by another person or tool"
    return Refusal(RefusalKind.OVERRIDDEN, text)


def propose_release(intent: Intent, context: ObservedContext) -> Proposal:
    """Remove our own marks, and nobody else's."""
    node = context.node
    if node is None:
        return Achieved(f"the cluster has no node {intent.node} any more, nor our mark on it")
    uid = intent.original.get(UID)
    if uid and uid != node.metadata.uid:
        return Achieved(f"{node.name} is another node object than the one that we held")
    hold = hold_of(node)
    if hold is None:
        return Achieved(_without_us(node, context))
    if hold.by != context.options.hub:
        return Refusal(RefusalKind.FOREIGN, f"{node.name} is held by the hub {hold.by}")
    if hold.incident != intent.mark.incident:
        return Refusal(RefusalKind.FOREIGN, f"{node.name} is held for {hold.incident}")
    if hold.token > intent.mark.token:
        return Refusal(RefusalKind.FOREIGN, f"{node.name} is held by a newer engine")
    return Step(
        kind=UNTAINT,
        arguments={"node": node.name, "incident": hold.incident},
        precondition={UID: node.metadata.uid},
        original={"hold": hold.text()},
        text=f"remove our taint from {node.name}",
    )


def _without_us(node: Node, context: ObservedContext) -> str:
    if hold_state_of(node, context.options) is HoldState.OPEN:
        return f"{node.name} takes work"
    return f"our taint is removed; {foreign_text(node, context)}"


def foreign_text(node: Node, context: ObservedContext) -> str:
    """For people: what keeps work away from a node besides us."""
    if node.metadata.deletion_timestamp:
        return f"the node object {node.name} is being deleted"
    hold = hold_of(node)
    foreign = foreign_claims(node, hold, context.options)
    if not foreign and hold is not None:
        return f"{node.name} is held by the hub {hold.by} for {hold.incident}"
    described = [f"{entry.reason}{f' by {entry.by}' if entry.by else ''}" for entry in foreign]
    return f"{node.name} is held by another person or tool: {', '.join(described)}"


def missing(name: str) -> Refusal:
    """The cluster has no such node."""
    return Refusal(RefusalKind.IMPOSSIBLE, f"the cluster has no node {name}")
