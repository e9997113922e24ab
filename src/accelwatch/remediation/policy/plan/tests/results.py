"""What a test has come to, judged by its figure, and kept for the next ones. Pure."""

import msgspec

from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import NODE_TESTS
from accelwatch.remediation.policy.context.views import CaseView, StepView
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.plan.tests.floors import Floor, figure_text, floor_of
from accelwatch.remediation.policy.state.node_tests import (
    Figure,
    LatestRun,
    NodeTests,
    VerificationResult,
    latest_run,
)
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult

replace = msgspec.structs.replace


def is_busy(pursued: Pursued) -> bool:
    """Whether nothing was run because a node that the test needs idle has got a job."""
    return pursued.refusal is RefusalKind.BUSY


def result_of(
    ctx: CaseView, node: str, pursued: Pursued, *, may_lack_floor: bool = False
) -> VerificationResult:
    """What a test that has ended says of a node, by the hub's name.

    With `may_lack_floor` a figure passes for which nobody knows yet how much it has to be.
    """
    intent, measured = pursued.intent, pursued.measured
    base = VerificationResult(
        test=intent.test,
        time=pursued.time,
        passed=False,
        text="",
        peer=intent.peer,
        value=None if measured is None else measured.value,
        unit="" if measured is None else measured.unit,
        command="" if measured is None else measured.command,
    )
    name = f"test {intent.test}"
    if pursued.result is not PursuitResult.ACHIEVED:
        unfit = pursued.refusal is RefusalKind.UNFIT
        text = f"failed {name}" if unfit else f"{name} could not be run"
        return replace(base, text=f"{text}: {pursued.text}")
    name = f"{name} with {intent.peer}" if intent.peer else name
    if not ctx.settings.test_settings(intent.test).has_floor:
        return replace(base, passed=True, text=f"passed {name}")
    if base.value is None:
        text = f"{name} could not be measured: it ended well and printed no figure"
        return replace(base, text=text)
    shown = f"{name}: {figure_text(base.value, base.unit)}"
    floor = floor_of(ctx, intent.test, node, (intent.node, *_names(ctx, intent.peer)))
    if isinstance(floor, Denial):
        return replace(base, passed=may_lack_floor, text=f"{shown}; {floor.text}")
    if may_lack_floor and floor.by_peers and base.unit != floor.unit:
        # Somebody has to measure first in the unit that a test prints from now on.
        text = f"{shown}; others have measured in another unit, so its figure begins a new median"
        return replace(base, passed=True, text=text)
    return _compared(base, base.value, floor, shown)


def _compared(
    base: VerificationResult, value: float, floor: Floor, shown: str
) -> VerificationResult:
    least = f"{figure_text(floor.value, floor.unit)} ({floor.text})"
    if base.unit != floor.unit:
        # The test is to blame, and no node: as one that prints no figure.
        unit = f"the unit {base.unit}" if base.unit else "no unit"
        text = f"{shown} could not be compared: it printed {unit}, and the floor is {least}"
        return replace(base, value=None, unit="", text=text)
    passed = value >= floor.value
    text = f"passed {shown}, at least {least}" if passed else f"failed {shown}, less than {least}"
    return replace(base, passed=passed, text=text, floor=floor.value, floor_of=floor.text)


def is_compared(ctx: CaseView, result: VerificationResult) -> bool:
    """Whether its figure was compared with a floor, or the test needs none.

    A pass without says nothing of how fast the nodes are: it begins a median.
    """
    return result.floor is not None or not ctx.settings.test_settings(result.test).has_floor


def _names(ctx: CaseView, name: str) -> tuple[str, ...]:
    """The scheduler's name of a node and the hub's; empty without a node."""
    return (name, ctx.hub_name(name)) if name else ()


def record_try(ctx: StepContext, node: str, pursued: Pursued) -> None:
    """Record that a test was started on a node without a result."""
    intent = pursued.intent
    _update_run(ctx, node, intent.test, tried=intent.asked)


def record_blame(ctx: StepContext, node: str, peer: str, result: VerificationResult) -> str:
    """A node failed with one peer, by the scheduler's name, and passed with the next; as a sentence.

    The peer is not known to be well from then on; its own test ends that.
    """
    test = result.test
    text = f"{node} failed test {test} with it, and passed with {result.peer}"
    _update_run(ctx, ctx.hub_name(peer), test, failed=text)
    again = f"{peer} takes part in no test of others until it passes {test} itself"
    return f"{peer} may be slow: {text}; {again}"


def record_other_peer(
    ctx: StepContext, node: str, pursued: Pursued, finished: float | None
) -> None:
    """Keep that an idle node has failed with a peer, and is tested with another one in its next turn.

    `finished` is when it came to a result before.
    """
    intent = pursued.intent
    _update_run(ctx, node, intent.test, failed_with=intent.peer, ended=finished)


def record(ctx: StepContext, node: str, pursued: Pursued, result: VerificationResult) -> None:
    """Keep what a test has shown of a node, by the hub's name."""
    intent = pursued.intent
    is_measured = result.passed or result.value is not None
    has_finished = pursued.result is PursuitResult.ACHIEVED
    # That a test prints no figure is the fault of no node.
    decided = is_measured if has_finished else pursued.refusal is RefusalKind.UNFIT
    changes: dict[str, object] = {"tried": intent.asked}
    if decided:
        failed = "" if result.passed else result.text
        changes |= {"ended": ctx.now, "failed": failed, "not_run": ""}
        # What was not compared does not decide which of two nodes was slow before.
        if not result.passed or is_compared(ctx, result):
            changes["failed_with"] = ""
    else:
        changes["not_run"] = result.text if has_finished else pursued.text
    if decided and result.passed:
        changes |= {"passed": ctx.now, "figure": _figure(ctx, node, result)}
    _update_run(ctx, node, intent.test, **changes)


def _update_run(ctx: StepContext, node: str, test: str, **changes: object) -> None:
    run = latest_run(ctx.state.tests, node, test) or LatestRun(tried=0.0)
    tests = ctx.state.tests.get(node, NodeTests())
    runs = {**tests.runs, test: replace(run, **changes)}
    ctx.set_row(NODE_TESTS, node, NodeTests(runs=runs))


def _figure(ctx: StepView, node: str, result: VerificationResult) -> Figure | None:
    if result.value is None:
        return None
    status = ctx.node_status(node)
    return Figure(
        value=result.value,
        unit=result.unit,
        model="" if status is None else status.model,
        peer=result.peer,
        at=result.time,
    )
