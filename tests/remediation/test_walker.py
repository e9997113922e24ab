"""Thousands of seeded histories of faults, people, crashes and gaps of data break no invariant."""

from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings

from accelwatch.action.intent import IntentKind
from accelwatch.alerting.rules.document import Mode, Severity
from accelwatch.remediation.policy.state.case import Case, Policy
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.history_strategy import MOVES, Event, Turn, histories, play
from support.remediation.invariants import BrokenError, check_release
from support.remediation.small_fleet import POLICY, Node
from support.remediation.walker import History, walk

HISTORIES = 5000
PARTS = 5
REPORTED = Policy(rule="only-told", mode=Mode.AUTO)


# Seeds that found something: a mark that was seen before the rack of its node was known, a job begun
# again beside a move of it, one found dead that its node was still shown with, a reservation given back
# under a move that began meanwhile, a job that was moved and then died of itself for the first time, and
# spares of which people were only told.
ONCE_BROKEN = (1018799, 13750, 18024, 37039, 72795, 316075, 317570)


@pytest.mark.parametrize("seed", ONCE_BROKEN)
def test_what_was_found_once_stays_mended(seed: int) -> None:
    walk(seed)


@pytest.mark.parametrize("part", range(PARTS))
def test_no_history_breaks_an_invariant(part: int) -> None:
    each = HISTORIES // PARTS
    visited: Counter[Stage | IntentKind] = Counter()
    for seed in range(part * each, (part + 1) * each):
        try:
            visited.update(walk(seed))
        except AssertionError as error:
            again = f"PYTHONPATH=tests python -m support.remediation.walker --seed {seed}"
            raise AssertionError(f"seed {seed}: {error}; every move of it: {again}") from error
    missing = set(Stage) - set(visited) - {Stage.HEALTHY}
    assert not missing, "the histories do not come to every stage"


@settings(max_examples=100, deadline=None)
@given(histories())
def test_no_history_that_is_looked_for_breaks_one(turns: list[Turn]) -> None:
    play(turns)


def test_an_event_that_is_left_out_changes_nothing_about_the_others() -> None:
    fault = Event("fault", [0, 0, 0, 0, 0, 0, 60_000])
    other = Event("swap", [5, 7])
    first, second = (play([Turn([*more, fault])]) for more in ([], [other]))
    cases = [list(history.cases) for history in (first, second)]
    assert cases[0] == cases[1] != []


@pytest.mark.parametrize("seed", range(12))
def test_a_mended_fleet_comes_to_rest(seed: int) -> None:
    """Whatever has happened: what waits afterwards waits for a person, and for nothing else."""
    history = History(seed)
    history.run(leave=False)
    history.heal(rounds=90)
    waiting = {
        node: remedy
        for node, remedy in history.state.remedies.items()
        if not (remedy.approval.manual or remedy.repair.unfit or remedy.stage in _A_PERSONS)
    }
    assert not waiting
    assert not history.state.lingering


_A_PERSONS = frozenset({Stage.SERVICE, Stage.UNKNOWN, Stage.OVERRIDDEN})


def test_both_know_the_same_moves() -> None:
    assert set(MOVES) == {move.__name__ for _, move in History(0).moves}


@pytest.mark.parametrize("severity", [Severity.WARNING, Severity.CRITICAL])
def test_what_is_only_reported_keeps_a_repaired_node_out_where_it_is_critical(
    severity: Severity,
) -> None:
    history, node = _mended(severity)
    released = node.name in history.watch.flying
    assert released is (severity is Severity.WARNING)


def test_what_is_over_while_the_engine_is_killed_is_known_to_be_over() -> None:
    history, node = _mended(Severity.CRITICAL)
    reported = history.cases[node.name]["told"]
    history.report(node, msgspec.structs.replace(reported, open=False))
    history.crash()
    _wait(history)
    assert history.state.remedies[node.name].cases == ()


@pytest.mark.parametrize(
    ("policy", "severity"), [(POLICY, Severity.WARNING), (REPORTED, Severity.CRITICAL)]
)
def test_a_release_while_something_keeps_a_node_out_is_found(
    policy: Policy, severity: Severity
) -> None:
    history, node = _mended(Severity.WARNING)
    remedy = history.state.remedies[node.name]
    (reported,) = remedy.cases
    case = msgspec.structs.replace(reported, policy=policy, severity=severity)
    with pytest.raises(BrokenError, match="released while something is wrong"):
        check_release(history.state, msgspec.structs.replace(remedy, cases=(case,)), history.now)


def test_a_poll_does_not_outlive_the_engine_that_made_it() -> None:
    history = History(0)
    history.start()
    history.late_poll()
    history.crash()
    assert not history.late


def _mended(severity: Severity) -> tuple[History, Node]:
    """A node that was taken out and is well again, but for what a rule without an action finds."""
    history = History(0)
    history.start()
    node, now = history.favourites[0], history.now
    reported = Case(incident="told", policy=REPORTED, since=now, evidence_at=now, severity=severity)
    fault = Case(incident="fault", policy=POLICY, since=now, evidence_at=now)
    history.report(node, reported)
    history.report(node, fault)
    _wait(history)
    history.report(node, msgspec.structs.replace(fault, open=False))
    history.finish(history.watch.flying[node.name], PursuitResult.ACHIEVED)
    for _ in range(6):
        _wait(history)
    return history, node


def _wait(history: History) -> None:
    history.now += 20
    history.look(0.0, everybody=True)
    history.step()
