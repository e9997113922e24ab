"""How many remedies run at once, how often one is tried, and how fast nodes are given back."""

import msgspec
import pytest

from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.policy.guards.failure_domains import FailureDomain
from accelwatch.remediation.policy.guards.limits.attempts import (
    AttemptState,
    cancel,
    finish,
    forgotten,
    may_start,
    release,
    start,
    tidied,
)
from accelwatch.remediation.settings import Budget

DAY = 86_400.0
HERE = FailureDomain(node="n1", pools=("train",), domains=("rack=r1", "leaf=s1"))
SAME_RACK = FailureDomain(node="n2", pools=("train",), domains=("rack=r1",))
SAME_LEAF = FailureDomain(node="n3", pools=("train",), domains=("rack=r9", "leaf=s1"))
ELSEWHERE = FailureDomain(node="n4", pools=("train",), domains=("rack=r2", "leaf=s2"))


def started(domain: FailureDomain, incident: str = "i1", now: float = 0.0) -> AttemptState:
    state, answer = start(AttemptState(), domain, incident, now, Budget())
    assert answer == PERMIT
    return state


def why(answer: Answer) -> DenialKind | None:
    return answer.why if isinstance(answer, Denial) else None


@pytest.mark.parametrize("domain", [HERE, SAME_RACK, SAME_LEAF])
def test_one_remedy_at_a_time_on_a_node_and_beside_it(domain: FailureDomain) -> None:
    state = started(HERE)
    refused, answer = start(state, domain, "i2", 1.0, Budget())
    assert refused is state
    assert isinstance(answer, Denial)
    assert (answer.why, "n1" in answer.text) == (DenialKind.REMEDY_RUNNING, True)
    assert may_start(finish(state, "n1"), domain, "i2", 1.0, Budget()) == PERMIT


def test_elsewhere_another_may_run() -> None:
    assert may_start(started(HERE), ELSEWHERE, "i2", 1.0, Budget()) == PERMIT


def test_two_at_once_where_the_site_says_so_but_never_two_on_a_node() -> None:
    two = Budget(remedies_at_once=2)
    state = started(HERE)
    assert may_start(state, SAME_RACK, "i2", 1.0, two) == PERMIT
    assert why(may_start(state, HERE, "i2", 1.0, two)) is DenialKind.REMEDY_RUNNING


def test_of_nodes_without_a_domain_one_of_the_pool_at_a_time() -> None:
    bare = FailureDomain(node="a", pools=("train",))
    beside = FailureDomain(node="b", pools=("train", "other"))
    other = FailureDomain(node="c", pools=("other",))
    assert why(may_start(started(bare), beside, "i2", 1.0, Budget())) is DenialKind.REMEDY_RUNNING
    assert may_start(started(bare), other, "i2", 1.0, Budget()) == PERMIT


def test_a_remedy_that_causes_its_own_fault_is_tried_three_times() -> None:
    state = AttemptState()
    for now in range(3):
        state, answer = start(state, HERE, "i1", float(now), Budget())
        assert answer == PERMIT
        state = finish(state, "n1")
    answer = may_start(state, HERE, "i1", 9.0, Budget())
    assert isinstance(answer, Denial)
    assert (answer.why, answer.until) == (DenialKind.ATTEMPTS, None)
    assert may_start(state, HERE, "i2", 9.0, Budget()) == PERMIT
    assert may_start(forgotten(state, "i1"), HERE, "i1", 9.0, Budget()) == PERMIT


def test_where_the_site_says_one_attempt_there_is_one() -> None:
    once = Budget(attempts=1)
    state, answer = start(AttemptState(), HERE, "i1", 0.0, once)
    assert answer == PERMIT
    assert why(may_start(finish(state, "n1"), HERE, "i1", 9.0, once)) is DenialKind.ATTEMPTS


def test_five_remedies_of_a_node_in_seven_days() -> None:
    state = AttemptState()
    for day in range(5):
        state, answer = start(state, HERE, f"i{day}", day * DAY, Budget())
        assert answer == PERMIT
        state = finish(state, "n1")
    answer = may_start(state, HERE, "i9", 5 * DAY, Budget())
    assert isinstance(answer, Denial)
    assert (answer.why, answer.until) == (DenialKind.TOO_MANY_REMEDIES, 7 * DAY)
    assert may_start(state, ELSEWHERE, "i9", 5 * DAY, Budget()) == PERMIT
    assert may_start(state, HERE, "i9", 7 * DAY, Budget()) == PERMIT


def test_what_counts_no_more_is_not_kept() -> None:
    state = finish(started(HERE), "n1")
    assert tidied(state, 6 * DAY).of_node == {"n1": (0.0,)}
    assert tidied(state, 7 * DAY).of_node == {}
    assert tidied(state, 7 * DAY).tried == {"i1": 1}


def test_ten_nodes_a_minute_are_given_back() -> None:
    state, given = AttemptState(), []
    for second in range(0, 130):
        state, answer = release(state, float(second), Budget())
        if answer == PERMIT:
            given.append(second)
    assert given == [*range(10), *range(60, 70), *range(120, 130)]
    assert len(state.released) == 10


def test_a_denied_share_says_when_it_is_given_back() -> None:
    state, _ = release(AttemptState(), 5.0, Budget(releases_per_minute=1))
    same, answer = release(state, 6.0, Budget(releases_per_minute=1))
    assert same is state
    assert isinstance(answer, Denial)
    assert (answer.why, answer.until) == (DenialKind.RELEASE_RATE, 65.0)


def test_a_job_that_is_not_cancelled_is_when_the_hour_is_over() -> None:
    state, _ = cancel(AttemptState(), 5.0, Budget(cancels_per_hour=1))
    same, answer = cancel(state, 6.0, Budget(cancels_per_hour=1))
    assert same is state
    assert isinstance(answer, Denial)
    assert (answer.why, answer.until) == (DenialKind.CANCEL_RATE, 3605.0)


def test_the_state_can_be_written_down() -> None:
    state, _ = release(started(HERE), 5.0, Budget())
    assert msgspec.json.decode(msgspec.json.encode(state), type=AttemptState) == state
