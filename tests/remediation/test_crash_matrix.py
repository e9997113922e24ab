"""Killed at any moment: nothing irreversible happens twice, no hold is forgotten, nothing is made up.

Every kind of intent x every moment of each of its steps x whether the effect has happened, has not, or
comes a while later.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.remediation.execution.operations.operation import OPEN, OperationState
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from remediation.bench import MARK, NAME, Bench
from remediation.crash import CASES, HAPPENED, PLAYS, KilledError, Point, kill_at, revived, spare
from remediation.fake_scheduler import IRREVERSIBLE, NEVER_AGAIN

# What leaves nothing to be seen.
UNSEEN = frozenset({"signal", "ticket"})
# By then an answer is on the disk, or that it was seen.
_PROVES = frozenset({Point.AFTER_REPORT, Point.BEFORE_OBSERVED, Point.AFTER_OBSERVED})


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.loop.close()


def killed_and_restarted(
    bench: Bench, kind: IntentKind, point: Point, number: int
) -> Pursued | None:
    """What a second engine comes to with the same intent."""
    wanted = PLAYS[kind](bench)
    kill_at(bench, point, number)
    with pytest.raises(KilledError):
        bench.pursue(wanted)
    for task in asyncio.all_tasks(bench.loop):
        task.cancel()
    spare(bench)
    bench.reported.clear()
    bench.restart()
    return bench.pursue(wanted)


@pytest.mark.parametrize("point", Point)
def test_a_job_that_died_is_restarted_once(bench: Bench, point: Point) -> None:
    wanted = revived(bench)
    kill_at(bench, point, 0)
    with pytest.raises(KilledError):
        bench.pursue(wanted)
    for task in asyncio.all_tasks(bench.loop):
        task.cancel()
    spare(bench)
    bench.reported.clear()
    bench.restart()
    end = bench.pursue(wanted)
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    kinds = Counter(one.kind for one in bench.world.effects)
    assert (kinds["requeue"], kinds["start"]) == (1, 1)


def may_be_known(kind: IntentKind, point: Point, step: str) -> bool:
    """Whether anything that is seen or was written tells what has become of a step begun then."""
    if point in (Point.BEFORE_RESERVE, Point.AFTER_RESERVE, Point.BEFORE_START):
        return True
    if step in UNSEEN:
        return point in _PROVES
    if step in NEVER_AGAIN:
        return point in HAPPENED or point is Point.EFFECT_COMES_LATER
    return True


def test_every_kind_that_has_an_effect_is_played() -> None:
    assert set(PLAYS) == set(IntentKind) - {IntentKind.FOLLOW_JOB}, "which only looks"


@pytest.mark.parametrize(("kind", "point", "number"), CASES)
def test_a_killed_engine_goes_on_without_harm(
    bench: Bench, kind: IntentKind, point: Point, number: int
) -> None:
    end = killed_and_restarted(bench, kind, point, number)
    effects = Counter((one.kind, one.target) for one in bench.world.effects if one.operation)
    assert all(count == 1 for (step, _), count in effects.items() if step in IRREVERSIBLE)
    operations = bench.operations()
    steps = {one.step.kind for one in operations}
    step = operations[number].step.kind if len(operations) > number else ""
    if may_be_known(kind, point, step):
        assert end is not None
        assert end.result is PursuitResult.ACHIEVED
        assert not any(one.is_open for one in operations)
    else:
        assert end is None
        assert [one.result for one in bench.reported] == [PursuitResult.UNKNOWN]
        assert [one.state for one in operations] == [OperationState.UNKNOWN]
        assert not any(one.kind in steps for one in bench.world.effects[1:])


@pytest.mark.parametrize(
    ("kind", "point", "number"),
    [case for case in CASES if case[0] in (IntentKind.QUARANTINE, IntentKind.DRAW_SPARE)],
)
def test_a_killed_engine_forgets_no_hold(
    bench: Bench, kind: IntentKind, point: Point, number: int
) -> None:
    """Before anything looks again: what may be held in the world is in the journal, not as failed."""
    wanted = PLAYS[kind](bench)
    kill_at(bench, point, number)
    with pytest.raises(KilledError):
        bench.pursue(wanted)
    held = bench.world.nodes["n1"].mark == MARK or bench.world.spares["s1"] == MARK.incident
    assert held == (point in HAPPENED)
    if held:
        (known,) = bench.operations()
        assert known.state in OPEN | {OperationState.OBSERVED}
        assert known.started is not None


@pytest.mark.parametrize("point", Point)
def test_what_a_move_replaced_is_known_after_any_kill(bench: Bench, point: Point) -> None:
    for number in range(3):
        fresh = Bench()
        end = killed_and_restarted(fresh, IntentKind.MOVE_JOB, point, number)
        assert end is not None
        assert (end.original, end.moved_to) == ({"exclude": "n3"}, ("s1",))
        fresh.loop.close()


def test_a_node_taken_over_while_nobody_ran_is_left_alone(bench: Bench) -> None:
    wanted = PLAYS[IntentKind.QUARANTINE](bench)
    kill_at(bench, Point.AFTER_START, 0)
    with pytest.raises(KilledError):
        bench.pursue(wanted)
    spare(bench)
    bench.world.admin_drains("n1")
    bench.restart()
    end = bench.pursue(wanted)
    assert end is not None
    assert end.result is PursuitResult.REFUSED
    assert bench.world.nodes["n1"].reason == "swap the riser"
    assert [one.state for one in bench.operations()] == [OperationState.FAILED]


def test_a_job_that_restarts_by_itself_is_not_requeued_once_more(bench: Bench) -> None:
    """Killed before the effect; meanwhile the scheduler has restarted it on the bad node."""
    wanted = PLAYS[IntentKind.MOVE_JOB](bench)
    kill_at(bench, Point.BEFORE_EFFECT, 2)
    with pytest.raises(KilledError):
        bench.pursue(wanted)
    spare(bench)
    job = bench.world.jobs["17"]
    job.nodes, job.restarts = ("n2",), 1
    bench.restart()
    end = bench.pursue(wanted)
    assert end is not None
    assert (end.result, end.moved_to) == (PursuitResult.ACHIEVED, ("n2",))
    assert bench.world.count("requeue", "17") == 0


def test_the_second_engine_knows_what_is_open(bench: Bench) -> None:
    wanted = PLAYS[IntentKind.REBOOT](bench)
    kill_at(bench, Point.AFTER_EFFECT, 0)
    with pytest.raises(KilledError):
        bench.pursue(wanted)
    bench.restart()
    open_ = bench.ledger.open_on(NAME, "n1")
    assert open_ is not None
    assert (open_.state, bench.ledger.open()) == (OperationState.STARTED, [open_])
