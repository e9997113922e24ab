"""A node that fails again and again soon after it was given back: counted, and in the end kept out."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.base.names.hardware_keys import keys_of
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.case import Case, Limit, Policy
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.relapses import MOST
from accelwatch.remediation.policy.state.score import score
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.small_fleet import JOB, POLICY, SETTINGS, Ground, job_policy

NODE = "n03"
ONLY_OUT = msgspec.structs.replace(POLICY, ladder=(), passive_s=60.0)


def taken_out(ground: Ground, policy: Policy = ONLY_OUT) -> Case:
    case = ground.fault(NODE, policy=policy)
    ground.end(NODE)
    return case


def given_back(ground: Ground, case: Case) -> None:
    """The fault clears, and the node is verified for as long as it takes, and released."""
    ground.clear(NODE, case)
    for _ in range(200):
        if ground.kinds(NODE)[-1] is Kind.RELEASE:
            break
        ground.wait(60)
    ground.end(NODE)
    assert ground.stage(NODE) in (Stage.HEALTHY, Stage.PROBATION)


def relapses(ground: Ground, times: int, policy: Policy = ONLY_OUT, pause_s: float = 60.0) -> Case:
    """Taken out once, and so many times again, each soon after it was given back."""
    case = taken_out(ground, policy)
    for _ in range(times):
        given_back(ground, case)
        ground.wait(pause_s)
        case = taken_out(ground, policy)
    return case


def alerts(ground: Ground) -> list[str]:
    return [one.text for one in ground.notes if one.loudness is Loudness.ALERT]


ROOMY = msgspec.structs.replace(
    SETTINGS, budget=msgspec.structs.replace(SETTINGS.budget, spacing_s=0.0, per_hour=100)
)


@pytest.fixture
def ground() -> Ground:
    """One whose budget lets the same node be taken out again at once."""
    return Ground(settings=ROOMY)


@pytest.mark.parametrize("probation_s", [0.0, 1800.0])
def test_a_relapse_counts_with_probation_and_without(ground: Ground, probation_s: float) -> None:
    policy = msgspec.structs.replace(ONLY_OUT, probation_s=probation_s)
    relapses(ground, 1, policy)
    for key in keys_of(NODE, slot="0", serial=ground.nodes[NODE].serial):
        assert score(ground.state.scores, key, ground.now) == pytest.approx(3.0, rel=0.01)


def test_what_fails_again_long_after_it_was_given_back_is_no_relapse(ground: Ground) -> None:
    relapses(ground, 1, pause_s=SETTINGS.relapse_s + 60)
    assert score(ground.state.scores, f"node:{NODE}", ground.now) == 0.0


def test_a_person_who_takes_it_out_again_makes_no_relapse(ground: Ground) -> None:
    given_back(ground, taken_out(ground))
    ground.send_command(Verb.QUARANTINE, NODE)
    ground.end(NODE)
    assert score(ground.state.scores, f"node:{NODE}", ground.now) == 0.0


def test_after_the_third_relapse_it_stays_out_and_one_message_says_so(ground: Ground) -> None:
    case = relapses(ground, MOST)
    ground.clear(NODE, case)
    ground.wait(12 * 3600, every=300)
    assert ground.stage(NODE) is Stage.SERVICE
    assert ground.kinds(NODE).count(Kind.RELEASE) == MOST
    plan = planned(ground.state, NODE, ground.now, ground.settings)
    (give_back,) = plan.steps
    assert "only a person lets it go" in give_back.in_the_way[0].text
    (text,) = alerts(ground)
    assert "within 60 min after it was given back, 3 times in a row" in text
    assert "accelwatch remedy recovered n03" in text


def test_before_that_it_is_given_back(ground: Ground) -> None:
    given_back(ground, relapses(ground, MOST - 1))
    assert alerts(ground) == []


def test_an_hour_without_a_relapse_starts_the_count_anew(ground: Ground) -> None:
    given_back(ground, relapses(ground, MOST - 1))
    ground.wait(SETTINGS.relapse_s + 60)
    given_back(ground, relapses(ground, MOST - 1))
    assert alerts(ground) == []


@pytest.mark.parametrize("verb", [Verb.RECOVERED, Verb.RETRY, Verb.RELEASE, Verb.FORCE_RELEASE])
def test_a_person_lets_it_go_and_the_count_starts_anew(ground: Ground, verb: Verb) -> None:
    case = relapses(ground, MOST)
    ground.clear(NODE, case)
    ground.wait(600)
    ground.send_command(verb, NODE)
    for _ in range(200):
        if ground.kinds(NODE)[-1] is Kind.RELEASE:
            break
        ground.wait(60)
    ground.end(NODE)
    assert sum(one.count for one in ground.state.relapses.values()) == 0
    assert (ground.remedy(NODE) is None) or ground.stage(NODE) is Stage.OVERRIDDEN


def test_an_engine_that_is_killed_goes_on_counting(ground: Ground) -> None:
    case = relapses(ground, MOST - 1)
    given_back(ground, case)
    ground.killed()
    ground.wait(240)
    case = taken_out(ground)
    ground.clear(NODE, case)
    ground.wait(6 * 3600, every=300)
    assert ground.stage(NODE) is Stage.SERVICE


@pytest.mark.parametrize("ladder", [(), (Limit("reboot", 2), Limit("service"))])
def test_jobs_leave_a_node_that_stays_out_and_nothing_else_is_tried(
    ground: Ground, ladder: tuple[Limit, ...]
) -> None:
    policy = job_policy(ladder=ladder)
    given_back(ground, relapses(ground, MOST - 1))
    ground.nodes[NODE].jobs = (JOB,)
    ground.wait(60)
    taken_out(ground, policy)
    ground.wait(20, every=10)
    assert ground.kinds(NODE)[-1] is Kind.MOVE_JOB
    ground.end(NODE)
    ground.wait(600)
    assert ground.stage(NODE) is Stage.SERVICE
    assert not {Kind.REBOOT, Kind.RESET_DEVICE} & set(ground.kinds(NODE))


@pytest.mark.parametrize("ladder", [(Limit("service"),), (Limit("reboot", 2), Limit("service"))])
def test_jobs_leave_a_node_that_only_a_repair_helps(
    ground: Ground, ladder: tuple[Limit, ...]
) -> None:
    policy = job_policy(ladder=ladder)
    given_back(ground, relapses(ground, 1))
    ground.nodes[NODE].jobs = (JOB,)
    ground.wait(60)
    taken_out(ground, policy)
    ground.wait(20, every=10)
    assert ground.kinds(NODE)[-1] is Kind.MOVE_JOB
    ground.end(NODE)
    ground.wait(60)
    assert ground.stage(NODE) is Stage.SERVICE


def test_a_site_may_count_none() -> None:
    ground = Ground(settings=msgspec.structs.replace(ROOMY, relapse_s=0.0))
    given_back(ground, relapses(ground, MOST + 1))
    assert score(ground.state.scores, f"node:{NODE}", ground.now) == 0.0
