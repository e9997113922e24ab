"""Which step leads to a test that has passed on a node which nobody else can use, and to spares. Pure.

A drained node runs no job, not even a test: it is reserved for us, undrained, tested, and drained again.
"""

import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from accelwatch.action.intent import Intent
from accelwatch.action.measuring import last_line, measurement_in_output, valid_measurement
from accelwatch.action.observed import HoldState, JobState
from accelwatch.action.step import Achieved, Measured, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_slurm.proposals.draining import missing, silent_text
from accelwatch_slurm.proposals.rebooting import no_field, refuse_unless_ours
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.annotations import field_of, reason_of
from accelwatch_slurm.texts.hold_state import reservation_for_test
from accelwatch_slurm.texts.node_text import SlurmNode
from accelwatch_slurm.texts.observed_context import ObservedContext, trial_name
from accelwatch_slurm.texts.test_output import command_of, output_in

PASSED = "pass"


def propose_test(
    intent: Intent,
    context: ObservedContext,
    *,
    tests: Mapping[str, Sequence[str]],
    users: str,
    minutes: int,
) -> Proposal:
    """Reserve, undrain, test, drain again, give the reservation back; then say what came of it."""
    node = context.node
    if node is None:
        return missing(intent)
    if intent.test not in tests:
        return Refusal(RefusalKind.IMPOSSIBLE, f"no test {intent.test!r} in the options")
    command = shlex.join(command_of(tests[intent.test], node.name, intent.peer))
    if intent.spare == node.name:
        return _propose_idle_test(intent, context, _reserve(intent, node, users, minutes), command)
    if context.field == "none":
        return no_field("test", node.name)
    if refusal := refuse_unless_ours(context, node):
        return refusal
    name = reservation_for_test(node.name)
    if result := _result(intent, context, command):
        return _closed(intent, context, node, result)
    if name not in context.reservations:
        return _without_peer(intent, context) or _reserve(intent, node, users, minutes)
    if context.busy:
        return _closed_again(intent, context, node) or _release(node)
    if node.drained or node.down:
        return _opened(intent, node)
    return _run(intent, context, node)


def _propose_idle_test(
    intent: Intent, context: ObservedContext, reserve: Step, command: str
) -> Proposal:
    """An idle node is not drained: its reservation keeps others away, and so does the one for us."""
    node = context.node
    assert node is not None
    name = reservation_for_test(node.name)
    result, there = _of_trial(context, command), name in context.reservations
    if there and (result or context.busy):
        return _release(node)
    if result:
        return _verdict(intent, node, result)
    if refusal := _without_peer(intent, context):
        return refusal
    if node.drained or node.down or context.hold_state is HoldState.FOREIGN:
        text = f"{node.name} is not idle now: {node.reason or 'held by another person or tool'}"
        return _release(node) if there else Refusal(RefusalKind.FOREIGN, text)
    return _run(intent, context, node) if there else reserve


def _without_peer(intent: Intent, context: ObservedContext) -> Refusal | None:
    """Why the test is not started: a job came to a node that it needs idle."""
    if not context.busy:
        return None
    names = " and ".join(context.busy)
    text = f"{names} got a job before {intent.test} could begin; nothing was tested"
    return Refusal(RefusalKind.BUSY, text)


def _reserve(intent: Intent, node: SlurmNode, users: str, minutes: int) -> Step:
    """For so many minutes at most: what nobody deletes ends by itself."""
    return Step(
        kind=steps.RESERVE,
        arguments={
            "name": reservation_for_test(node.name),
            "nodes": ",".join(filter(None, (node.name, intent.peer))),
            "user": users,
            "minutes": str(minutes),
        },
        text=f"keep {_named(intent, node)} for its test",
    )


def _run(intent: Intent, context: ObservedContext, node: SlurmNode) -> Proposal:
    if context.trial is not None:
        return Wait(1.0, f"{intent.test} on {node.name}: {context.trial.slurm_state.lower()}")
    if node.answering is False:
        return Wait(1.0, f"slurmd of {node.name} does not answer yet")
    return Step(
        kind=steps.RUN_TEST,
        arguments={
            "node": node.name,
            "peer": intent.peer,
            "test": intent.test,
            "name": trial_name(intent),
        },
        text=f"test {_named(intent, node)} with {intent.test}",
    )


def _named(intent: Intent, node: SlurmNode) -> str:
    return f"{node.name} and {intent.peer}" if intent.peer else node.name


class _Result(NamedTuple):
    """What a test came to."""

    # `pass`, or in words why it did not.
    text: str
    measured: Measured | None = None


def _result(intent: Intent, context: ObservedContext, command: str) -> _Result | None:
    """What the test came to, as the node's annotation or its job says; None while neither does."""
    annotation = context.annotation
    if annotation is None or annotation.asked != intent.asked or not annotation.result:
        return _of_trial(context, command)
    if annotation.value is None:
        return _Result(annotation.result)
    measured = valid_measurement(annotation.value, annotation.unit, command)
    return _Result(annotation.result, measured)


def _of_trial(context: ObservedContext, command: str) -> _Result | None:
    trial = context.trial
    if trial is None or trial.state is not JobState.FINISHED:
        return None
    output = output_in(trial.comment)
    if trial.slurm_state == "COMPLETED":
        return _Result(PASSED, measurement_in_output(output, command))
    line = last_line(output)
    text = f"{trial.slurm_state.lower()}, exit code {trial.exit_code}"
    return _Result(f"{text}: {line}" if line else text)


def _opened(intent: Intent, node: SlurmNode) -> Proposal:
    if node.answering is False:
        return Wait(5.0, silent_text(node))
    return Step(
        kind=steps.RESUME if node.is_down_or_error else steps.UNDRAIN,
        arguments={"node": node.name, "keep": "yes"},
        precondition={"incident": intent.mark.incident, "reason": node.reason},
        text=f"open {node.name} for its test alone",
    )


def _closed(intent: Intent, context: ObservedContext, node: SlurmNode, result: _Result) -> Proposal:
    result_arguments = {
        "asked": repr(intent.asked),
        "result": result.text,
        "value": "" if result.measured is None else repr(result.measured.value),
        "unit": "" if result.measured is None else result.measured.unit,
    }
    if step := _closed_again(intent, context, node, result_arguments):
        return step
    if reservation_for_test(node.name) in context.reservations:
        return _release(node)
    return _verdict(intent, node, result)


def _closed_again(
    intent: Intent,
    context: ObservedContext,
    node: SlurmNode,
    result_arguments: Mapping[str, str] = MappingProxyType({}),
) -> Step | None:
    """Drain a node that was opened for its test, before anybody else may have it."""
    if node.drained or node.down:
        return None
    return Step(
        kind=steps.DRAIN,
        arguments={
            "node": node.name,
            "reason": reason_of(intent),
            "keep": "yes",
            **result_arguments,
        },
        original={context.field: field_of(node, context.field)},
        text=f"drain {node.name} again",
    )


def _release(node: SlurmNode) -> Step:
    return Step(
        kind=steps.DELETE_RESERVATION,
        arguments={"name": reservation_for_test(node.name)},
        text=f"give the reservation of {node.name} back",
    )


def _verdict(intent: Intent, node: SlurmNode, result: _Result) -> Achieved | Refusal:
    if result.text != PASSED:
        return Refusal(RefusalKind.UNFIT, f"{intent.test} on {_named(intent, node)}: {result.text}")
    text = f"{intent.test} has passed on {_named(intent, node)}"
    return Achieved(text, measured=result.measured)


def propose_spare(
    intent: Intent, context: ObservedContext, *, name: str, users: str, draw: bool
) -> Proposal:
    """Remove a node from the spares' reservation, or put it back; the whole list is set each time."""
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
