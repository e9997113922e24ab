"""Which step leads to a test that has passed on a node which nobody else can use, and to spares. Pure.

A drained node runs no job, not even a test: it is reserved for us, undrained, tested, and drained again.
"""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import HoldState, JobState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_slurm.proposals.draining import missing, silent_text
from accelwatch_slurm.proposals.rebooting import no_field, refuse_unless_ours
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.annotations import field_of, reason_of
from accelwatch_slurm.texts.hold_state import reservation_for_test
from accelwatch_slurm.texts.node_text import SlurmNode
from accelwatch_slurm.texts.observed_context import ObservedContext, trial_name

PASSED = "pass"


def propose_test(
    intent: Intent, context: ObservedContext, *, tests: frozenset[str], users: str, minutes: int
) -> Proposal:
    """Reserve, undrain, test, drain again, give the reservation back; then say what came of it."""
    node = context.node
    if node is None:
        return missing(intent)
    if intent.test not in tests:
        return Refusal(RefusalKind.IMPOSSIBLE, f"no test {intent.test!r} in the options")
    if intent.spare == node.name:
        return _propose_idle_test(intent, context, node, users, minutes)
    if context.field == "none":
        return no_field("test", node.name)
    if refusal := refuse_unless_ours(context, node):
        return refusal
    name = reservation_for_test(node.name)
    if result := _result(intent, context):
        return _closed(intent, context, node, result)
    if name not in context.reservations:
        return _reserve(node, users, minutes)
    if node.drained or node.down:
        return _opened(intent, node)
    return _run(intent, context, node)


def _propose_idle_test(
    intent: Intent, context: ObservedContext, node: SlurmNode, users: str, minutes: int
) -> Proposal:
    """An idle spare is not drained: its reservation keeps others away, and so does the one for us."""
    name = reservation_for_test(node.name)
    result, there = _of_trial(context), name in context.reservations
    if result and there:
        return _release(node)
    if result:
        return _verdict(intent, node, result)
    if node.drained or node.down or context.hold_state is HoldState.FOREIGN:
        text = f"{node.name} is not an idle spare now: {node.reason or 'held by another person or tool'}"
        return _release(node) if there else Refusal(RefusalKind.FOREIGN, text)
    return _run(intent, context, node) if there else _reserve(node, users, minutes)


def _reserve(node: SlurmNode, users: str, minutes: int) -> Step:
    """For so many minutes at most: what nobody gives back ends by itself."""
    return Step(
        kind=steps.RESERVE,
        arguments={
            "name": reservation_for_test(node.name),
            "nodes": node.name,
            "user": users,
            "minutes": str(minutes),
        },
        text=f"keep {node.name} for its test",
    )


def _run(intent: Intent, context: ObservedContext, node: SlurmNode) -> Proposal:
    if context.trial is not None:
        return Wait(1.0, f"{intent.test} on {node.name}: {context.trial.slurm_state.lower()}")
    if node.answering is False:
        return Wait(1.0, f"slurmd of {node.name} does not answer yet")
    return Step(
        kind=steps.RUN_TEST,
        arguments={"node": node.name, "test": intent.test, "name": trial_name(intent)},
        text=f"test {node.name} with {intent.test}",
    )


def _result(intent: Intent, context: ObservedContext) -> str:
    """What the test came to, as the node's mark or the job itself tells; empty while it does not."""
    if (
        context.annotation is not None
        and context.annotation.asked == intent.asked
        and context.annotation.result
    ):
        return context.annotation.result
    return _of_trial(context)


def _of_trial(context: ObservedContext) -> str:
    trial = context.trial
    if trial is None or trial.state is not JobState.FINISHED:
        return ""
    if trial.slurm_state == "COMPLETED":
        return PASSED
    return f"{trial.slurm_state.lower()}, exit code {trial.exit_code}"


def _opened(intent: Intent, node: SlurmNode) -> Proposal:
    if node.answering is False:
        return Wait(5.0, silent_text(node))
    return Step(
        kind=steps.RESUME if node.is_down_or_error else steps.UNDRAIN,
        arguments={"node": node.name, "keep": "yes"},
        precondition={"incident": intent.mark.incident, "reason": node.reason},
        text=f"open {node.name} for its test alone",
    )


def _closed(intent: Intent, context: ObservedContext, node: SlurmNode, result: str) -> Proposal:
    name = reservation_for_test(node.name)
    if not node.drained and not node.down:
        return Step(
            kind=steps.DRAIN,
            arguments={
                "node": node.name,
                "reason": reason_of(intent),
                "keep": "yes",
                "asked": repr(intent.asked),
                "result": result,
            },
            original={context.field: field_of(node, context.field)},
            text=f"drain {node.name} again",
        )
    if name in context.reservations:
        return _release(node)
    return _verdict(intent, node, result)


def _release(node: SlurmNode) -> Step:
    return Step(
        kind=steps.DELETE_RESERVATION,
        arguments={"name": reservation_for_test(node.name)},
        text=f"give the reservation of {node.name} back",
    )


def _verdict(intent: Intent, node: SlurmNode, result: str) -> Achieved | Refusal:
    if result == PASSED:
        return Achieved(f"{intent.test} has passed on {node.name}")
    return Refusal(RefusalKind.UNFIT, f"{intent.test} on {node.name}: {result}")


def propose_spare(
    intent: Intent, context: ObservedContext, *, name: str, users: str, draw: bool
) -> Proposal:
    """Take a node out of the spares' reservation, or put it back; the whole list is set each time."""
    spare = intent.spare or intent.node
    if not name:
        return Refusal(RefusalKind.IMPOSSIBLE, "the option spares names no reservation")
    there = context.reservations.get(name)
    nodes = there.nodes if there is not None else ()
    if (spare in nodes) is not draw:
        return Achieved(f"{spare} is {'drawn' if draw else 'a spare again'}")
    left = [node for node in nodes if node != spare] if draw else [*nodes, spare]
    return Step(
        kind=steps.DRAW if draw else steps.RETURN,
        arguments={
            "name": name,
            "nodes": ",".join(left),
            "user": users,
            "exists": "yes" if there is not None else "",
            "node": spare,
        },
        precondition={"nodes": ",".join(nodes)},
        original={"nodes": ",".join(nodes)},
        text=f"{'draw' if draw else 'return'} the spare {spare}",
    )
