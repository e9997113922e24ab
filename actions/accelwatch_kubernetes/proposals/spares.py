"""Which step draws a spare, or returns it: its taint off or on, in one patch with who has it. Pure."""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step
from accelwatch_kubernetes.marks.hold import Drawn, drawn_of
from accelwatch_kubernetes.marks.hold_state import hold_state_of
from accelwatch_kubernetes.objects.node import Node
from accelwatch_kubernetes.observed_context import ObservedContext
from accelwatch_kubernetes.proposals.quarantine import UID, foreign_text, missing
from accelwatch_kubernetes.steps import DRAW, DRAWN_FOR, RETURN


def propose_draw(intent: Intent, context: ObservedContext) -> Proposal:
    """Let the spare accept work, for one incident."""
    name = intent.spare or intent.node
    spare = spare_of(intent, context)
    if spare is None:
        return missing(name)
    drawn = drawn_of(spare)
    if hold_state_of(spare, context.options) is not HoldState.OPEN:
        text = foreign_text(spare, context)
        return Refusal(RefusalKind.FOREIGN, f"{name} is not an idle spare: {text}")
    if drawn is not None and drawn.incident != intent.mark.incident:
        return Refusal(RefusalKind.FOREIGN, f"{name} is drawn already, for {drawn.incident}")
    if not is_idle(spare, context):
        if drawn is not None:
            return Achieved(f"{name} is drawn")
        text = f"{name} is not an idle spare: it has no taint {context.options.spare_taint}"
        return Refusal(RefusalKind.IMPOSSIBLE, text)
    return _step(DRAW, intent, spare, f"draw the spare {name}")


def propose_return(intent: Intent, context: ObservedContext) -> Proposal:
    """Have the spare idle again."""
    name = intent.spare or intent.node
    spare = spare_of(intent, context)
    if spare is None:
        return missing(name)
    drawn = drawn_of(spare)
    if drawn is None and is_idle(spare, context):
        return Achieved(f"{name} is a spare again")
    if drawn is not None and drawn.by != context.options.hub:
        return Refusal(RefusalKind.FOREIGN, f"{name} is drawn by the hub {drawn.by}")
    if drawn is not None and drawn.token > intent.mark.token:
        return Refusal(RefusalKind.FOREIGN, f"{name} is drawn by a newer engine")
    return _step(RETURN, intent, spare, f"return the spare {name}", drawn)


def spare_of(intent: Intent, context: ObservedContext) -> Node | None:
    """The spare of an intent; some are about the spare alone."""
    return context.spare if intent.spare else context.node


def is_idle(spare: Node, context: ObservedContext) -> bool:
    """Whether the taint of an idle spare is there."""
    return any(taint.get("key") == context.options.spare_taint for taint in spare.spec.taints)


def _step(kind: str, intent: Intent, spare: Node, text: str, drawn: Drawn | None = None) -> Step:
    return Step(
        kind=kind,
        arguments={
            "node": spare.name,
            "incident": intent.mark.incident,
            "job": "" if intent.job is None else str(intent.job),
        },
        precondition={
            UID: spare.metadata.uid,
            DRAWN_FOR: "" if drawn is None else drawn.incident,
        },
        text=text,
    )
