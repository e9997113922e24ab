"""Idle nodes are tested in turn, one at a time: silent corruption is found before a job finds it. Pure.

A node is tested only while no job is on it, and only where the budget would allow its quarantine: while
it is tested nobody else can have it.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from accelwatch.action.intent import Intent, OwnerAnnotation
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.active_tests import ActiveTestSettings
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import CHORES, NODE_TESTS
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards.denial import Answer, Denial, denial_in
from accelwatch.remediation.policy.guards.identity import Proof
from accelwatch.remediation.policy.guards.limits import budget
from accelwatch.remediation.policy.plan.escalation import impossible
from accelwatch.remediation.policy.plan.tests.idle_guards import guards_of_idle, is_testing
from accelwatch.remediation.policy.plan.tests.peers import Peer, peer_of
from accelwatch.remediation.policy.plan.tests.results import (
    is_busy,
    is_compared,
    record,
    record_blame,
    record_other_peer,
    record_try,
    result_of,
)
from accelwatch.remediation.policy.state.clocks import FRESH_S, TEST_S
from accelwatch.remediation.policy.state.node_tests import latest_run
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.spares.spare_selection import RETRY_S

# Beginning of the keys of such chores; the hub's name of the node follows.
CHORE = "idle-test "
# What stands in the mark of such a test, in the location of an incident.
INCIDENT = "idle-test"
# Of many nodes that are due so many are checked each time, and as many of the others in turn: those that
# may not be tested now keep nobody else waiting.
_CHECKED = 4
# After so long all nodes are checked again when some are due, and may not be tested or have jobs;
_AGAIN_S = 15.0
# and after so long in any case: nodes come, and clocks are set.
_AT_MOST_S = 60.0


def start_due_test(ctx: StepContext) -> None:
    """Begin the test that is due most, unless one runs on any idle node or spare.

    All nodes are checked only when one of them may be due.
    """
    tests = [test for test in ctx.settings.tests if test.every_s]
    if not tests or 0 < ctx.world.idle_tests_due - ctx.now <= _AT_MOST_S:
        return
    if is_testing(ctx) or impossible(ctx, Kind.TEST):
        return
    again = ctx.now + _AT_MOST_S
    for test in tests:
        due, next_due = _due(ctx, test)
        if _start_first(ctx, test, _in_turn(due, ctx.now)):
            again = ctx.now
            break
        again = min(again, next_due)
        if len(due) > 2 * _CHECKED:
            again = ctx.now  # the others have their turn
    ctx.set_idle_tests_due(again)


class _Due(NamedTuple):
    # By the hub's names, the longest untested first.
    nodes: list[str]
    # Unix seconds at which all nodes have to be checked again.
    again: float


def _due(ctx: StepView, test: ActiveTestSettings) -> _Due:
    """Idle nodes whose turn it is."""
    spares = set(ctx.settings.spares.names())
    due: list[tuple[float, str]] = []
    again = math.inf
    for status in ctx.world.node_statuses.values():
        node = status.node
        run = latest_run(ctx.state.tests, node, test.name)
        finished = 0.0 if run is None or run.ended is None else run.ended
        tried = 0.0 if run is None else run.tried
        due_at = max(finished + test.every_s, tried + min(test.every_s, RETRY_S))
        again = min(again, max(due_at, ctx.now + _AGAIN_S))
        if due_at > ctx.now:
            continue
        if status.healthy is not True or ctx.now - status.time > FRESH_S:
            continue
        proof = ctx.proof(node)
        observation = (
            ctx.world.scheduler_nodes.get(proof.name) if isinstance(proof, Proof) else None
        )
        if observation is not None and not observation.jobs and observation.name not in spares:
            due.append((tried, node))
    return _Due([node for _, node in sorted(due)], again)


def _in_turn(due: list[str], now: float) -> list[str]:
    """The first of those that are due, and others by the second."""
    first, others = due[:_CHECKED], due[_CHECKED:]
    start = int(now) * _CHECKED % len(others) if others else 0
    return first + others[start : start + _CHECKED]


def _start_first(ctx: StepContext, test: ActiveTestSettings, nodes: list[str]) -> bool:
    """Start the test of the first of these nodes that may be tested now; whether it started."""
    for node in nodes:
        proof = ctx.proof(node)
        if isinstance(proof, Proof) and _start(ctx, test, node, proof.name):
            return True
    return False


def _start(ctx: StepContext, test: ActiveTestSettings, node: str, name: str) -> bool:
    """Start the test of a node, by the hub's name and the scheduler's; whether it started."""
    if denial_in(guards_of_idle(ctx, node, name)) is not None:
        return False
    # The search of a peer reads all nodes, so it comes after the guards of this one alone.
    run = latest_run(ctx.state.tests, node, test.name)
    without = (run.failed_with,) if run is not None and run.failed_with else ()
    peer = peer_of(ctx, test.name, node, name, without) if test.pair else None
    if isinstance(peer, Denial) or denial_in(_guards_of_pair(ctx, node, peer)) is not None:
        return False
    intent = Intent(
        kind=Kind.TEST,
        mark=OwnerAnnotation(INCIDENT, ctx.state.token),
        node=name,
        reason=f"idle node, {test.name}",
        spare=name,
        test=test.name,
        peer="" if peer is None else peer.name,
        asked=ctx.now,
        deadline=ctx.now + TEST_S,
    )
    ctx.set_row(CHORES, f"{CHORE}{node}", intent)
    ctx.pursue(intent)
    return True


def _guards_of_pair(ctx: StepView, node: str, peer: Peer | None) -> Iterator[Answer]:
    state = ctx.state.budget
    if peer is not None:
        yield from guards_of_idle(ctx, peer.node, peer.name)
        location = ctx.failure_domain(ctx.remedy(peer.node))
        yield budget.has_room(state, location, ctx.group_counts, ctx.settings.budget)
        # Both are away together.
        state = budget.adopt(state, location, INCIDENT, ctx.now)
    location = ctx.failure_domain(ctx.remedy(node))
    yield budget.has_room(state, location, ctx.group_counts, ctx.settings.budget)


def idle_tested(ctx: StepContext, key: str, pursued: Pursued) -> None:
    """What came of a test of an idle node; one that could not be run says nothing of the node."""
    ctx.set_row(CHORES, key, None)
    node, test = key.removeprefix(CHORE), pursued.intent.test
    if pursued.result is PursuitResult.CANCELLED or is_busy(pursued):
        # Its turn comes again in an hour; nobody has to do anything.
        record_try(ctx, node, pursued)
        return
    is_new, before = not _never_runs(ctx, test), latest_run(ctx.state.tests, node, test)
    doubted = "" if before is None else before.failed_with
    result = result_of(ctx, node, pursued, may_lack_floor=True)
    record(ctx, node, pursued, result)
    if ctx.state.tests[node].runs[test].not_run:
        # Of a test that can be run nowhere a person is notified once, not once for each node.
        if is_new:
            ctx.call(f"the idle node {node}: {result.text}", node)
    elif result.passed:
        if doubted and result.peer and is_compared(ctx, result):
            ctx.call(record_blame(ctx, node, doubted, result), node)
    elif not doubted and _has_other_peer(ctx, node, pursued):
        # Which of the two is to blame is not known before it was tested with another one.
        record_other_peer(ctx, node, pursued, None if before is None else before.ended)
        ctx.call(f"the idle node {node} {result.text}; another peer takes part next", node)
    else:
        command = f"accelwatch remedy quarantine {node} --reason '{test} failed'"
        ctx.call(f"the idle node {node} {result.text}; to take it out: {command}", node)


def _has_other_peer(ctx: StepView, node: str, pursued: Pursued) -> bool:
    intent = pursued.intent
    if not intent.peer:
        return False
    return isinstance(peer_of(ctx, intent.test, node, intent.node, (intent.peer,)), Peer)


def _never_runs(ctx: StepView, test: str) -> bool:
    """Whether the latest run of a test could not be run on some node already."""
    runs = (tests.runs.get(test) for tests in ctx.state.tests.values())
    return any(run is not None and run.not_run for run in runs)


def tidy(ctx: StepContext) -> None:
    """Forget nodes whose tests are all older than a year and a month: they are gone, or never idle."""
    for node, tests in list(ctx.state.tests.items()):
        if all(ctx.now - run.tried > _FORGET_S for run in tests.runs.values()):
            ctx.set_row(NODE_TESTS, node, None)


_FORGET_S = 400 * 86_400.0
