"""How a node gets out of our hands: proven well, forgotten, or with what could not be put back."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import HoldState
from accelwatch.alerting.rules.document import When
from accelwatch.base.names.hardware_keys import keys_of
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.score import Failing, added
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import SpareSettings
from support.remediation.small_fleet import JOB, POLICY, SETTINGS, Ground, job_policy

NODE, SPARE = "n03", "n39"
ONLY_OUT = msgspec.structs.replace(POLICY, ladder=())


def mended(ground: Ground, **policy: object) -> None:
    """A node was taken out, and nothing is wrong with it any more."""
    case = ground.fault(NODE, policy=msgspec.structs.replace(ONLY_OUT, **policy))
    ground.end(NODE)
    ground.clear(NODE, case)
    ground.wait(120)


def test_each_test_has_to_pass_before_it_is_released() -> None:
    ground = Ground()
    mended(ground, tests=("first", "second"))
    ground.end(NODE)
    ground.end(NODE)
    assert [one.test for one in ground.started if one.kind is Kind.TEST] == ["first", "second"]
    assert ground.kinds(NODE)[-1] is Kind.RELEASE


def test_a_test_that_fails_is_named_and_nothing_is_released() -> None:
    ground = Ground()
    mended(ground, tests=("first", "second"))
    ground.end(NODE, PursuitResult.REFUSED)
    ground.wait(3600, every=60)
    remedy = ground.remedy(NODE)
    assert remedy is not None
    assert "first" in remedy.repair.unfit
    assert Kind.RELEASE not in ground.kinds(NODE)


def test_on_probation_it_is_ours_no_more() -> None:
    ground = Ground()
    mended(ground, probation_s=3600.0)
    ground.end(NODE)
    remedy = ground.remedy(NODE)
    assert remedy is not None
    assert (remedy.stage, remedy.hold) == (Stage.PROBATION, None)
    assert not ground.state.budget.own
    ground.wait(3700, every=100)
    assert ground.stage(NODE) is Stage.HEALTHY


def test_our_mark_on_a_node_that_a_person_has_forgotten_is_left_alone() -> None:
    ground = Ground()
    mended(ground)
    ground.send_command(Verb.FORGET, NODE)
    kinds = ground.kinds(NODE)
    ground.wait(3600, every=60)
    assert ground.nodes[NODE].hold_state is HoldState.OURS
    assert (ground.stage(NODE), ground.kinds(NODE)) == (Stage.HEALTHY, kinds)


def test_a_job_from_which_no_checkpoint_can_be_requested_leaves_all_the_same() -> None:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    ground.fault(NODE, policy=job_policy(when=When.NOW, signal="USR1", grace_s=60.0))
    ground.end(NODE)
    assert ground.kinds(NODE)[-1] is Kind.SIGNAL_JOB
    ground.end(NODE, PursuitResult.REFUSED)
    assert ground.kinds(NODE)[-1] is Kind.SIGNAL_JOB
    ground.wait(70, every=10)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.SIGNAL_JOB, Kind.MOVE_JOB]


@pytest.mark.parametrize(
    ("ending", "count"), [(PursuitResult.ACHIEVED, 0), (PursuitResult.REFUSED, 1)]
)
def test_a_spare_that_could_not_be_given_back_is_reported_with_its_node(
    ending: PursuitResult, count: int
) -> None:
    spares = SpareSettings(nodes=(SPARE,), alike=())
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, spares=spares))
    ground.nodes[NODE].jobs = (JOB,)
    ground.fault(NODE, policy=job_policy(when=When.NOW, draw_spare=True, ladder=()))
    ground.end(NODE)
    assert ground.kinds(NODE)[-1] is Kind.DRAW_SPARE
    ground.end(NODE)
    ground.send_command(Verb.FORGET, NODE)
    ground.end_chore(Kind.RETURN_SPARE, ending)
    alerts = [one for one in ground.notes if "was not done" in one.text]
    assert [one.loudness for one in alerts] == [Loudness.ALERT] * count
    assert [one.node for one in alerts] == [NODE] * count


def of_release(ground: Ground) -> list[tuple[str, float | None]]:
    """What stands in the way of giving it back, and until when."""
    steps = planned(ground.state, NODE, ground.now, ground.settings).steps
    (release,) = [one for one in steps if one.kind is Kind.RELEASE]
    return [(denial.text, denial.until) for denial in release.in_the_way]


def test_what_a_release_waits_for_is_reported() -> None:
    ground = Ground()
    policy = msgspec.structs.replace(ONLY_OUT, passive_s=90.0)
    case = ground.fault(NODE, policy=policy)
    ground.end(NODE)
    assert of_release(ground) == [("something is wrong with it still", None)]
    ground.clear(NODE, case)
    ground.nodes[NODE].healthy = None
    ground.wait(120)
    assert of_release(ground) == [("no fresh data shows it healthy", None)]
    ground.nodes[NODE].healthy = True
    ground.wait(60)
    text = "it has been healthy for 30 s of 90 s"
    assert of_release(ground) == [(text, ground.now + 60)]


@pytest.mark.parametrize(("waits_s", "stage"), [(300, Stage.VERIFYING), (700, Stage.QUARANTINED)])
def test_a_rule_that_goes_on_firing_without_an_incident_ends_the_verification(
    waits_s: float, stage: Stage
) -> None:
    ground = Ground()
    case = ground.fault(NODE, policy=msgspec.structs.replace(ONLY_OUT, passive_s=3600.0))
    ground.end(NODE)
    ground.clear(NODE, case)
    ground.nodes[NODE].healthy = False
    ground.step()
    assert ground.stage(NODE) is Stage.VERIFYING
    ground.wait(waits_s)
    remedy = ground.remedy(NODE)
    assert remedy is not None
    assert (remedy.stage is Stage.VERIFYING) is (stage is Stage.VERIFYING)
    assert ("a rule fired on it" in remedy.repair.unfit) is (stage is not Stage.VERIFYING)


@pytest.mark.parametrize(("usual_s", "needed"), [(60.0, 1800), (3600.0, 10_800)])
def test_what_has_failed_often_has_to_look_well_for_longer(usual_s: float, needed: int) -> None:
    ground = Ground()
    scores = added(ground.state.scores, keys_of(NODE), Failing.RELAPSE, ground.now)
    ground.state = msgspec.structs.replace(ground.state, scores=scores)
    mended(ground, passive_s=usual_s)
    ((text, _),) = of_release(ground)
    assert text.endswith(f" of {needed} s")


def test_a_node_that_somebody_gives_back_starts_anew() -> None:
    ground = Ground()
    ground.fault(NODE)
    ground.end(NODE)
    ground.wait(20, every=10)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.REBOOT]
    node = ground.nodes[NODE]
    node.hold_state, node.mark, node.set_by = HoldState.FOREIGN, None, "admin"
    ground.wait(20, every=10)
    ground.fault(NODE, "i-second")
    ground.end(NODE, PursuitResult.CANCELLED)
    remedy = ground.remedy(NODE)
    assert remedy is not None
    assert (remedy.stage, remedy.hold) == (Stage.OWNED_BY_OTHER, None)
    assert (remedy.repair.attempts, remedy.repair.rung, remedy.policy) == ((), 0, None)
    assert "i-second" in {case.incident for case in remedy.cases}


def release_note(ground: Ground) -> str:
    """What a person is told who asks for a release."""
    outcome = ground.send_command(Verb.RELEASE, NODE)
    (note,) = [one for one in outcome.notes if one.text.startswith("release changes nothing")]
    return note.text


def test_a_release_of_a_bad_node_says_that_it_looks_bad_and_what_force_does() -> None:
    ground = Ground()
    ground.fault(NODE, policy=ONLY_OUT, title="GPU 3 has fallen off the bus")
    ground.end(NODE)
    text = release_note(ground)
    assert "looks bad: GPU 3 has fallen off the bus; it comes back by itself" in text
    assert (
        f"accelwatch remedy release {NODE} --force --reason WHY gives it back now: nothing is verified"
        in text
    )
    assert "for 4 h it is not taken out again" in text
    assert ground.stage(NODE) is not Stage.RELEASING


def test_a_release_of_a_bad_node_that_a_person_took_out_does_not_promise_its_return() -> None:
    ground = Ground()
    ground.fault(NODE, policy=ONLY_OUT)
    ground.end(NODE)
    ground.send_command(Verb.QUARANTINE, NODE)
    assert "nvidia.gpu.lost; only a person gives it back" in release_note(ground)


def test_a_release_of_a_node_that_is_well_is_no_warning() -> None:
    ground = Ground()
    ground.send_command(Verb.QUARANTINE, NODE)
    ground.end(NODE)
    outcome = ground.send_command(Verb.RELEASE, NODE)
    assert not [one for one in outcome.notes if "changes nothing" in one.text]


def verified(ground: Ground) -> list[str]:
    return [one.text for one in ground.notes if " is healthy" in one.text]


def test_what_a_clock_that_was_set_has_added_is_not_reported_as_verified() -> None:
    ground = Ground()
    case = ground.fault(NODE, policy=msgspec.structs.replace(ONLY_OUT, passive_s=600.0))
    ground.end(NODE)
    ground.clear(NODE, case)
    ground.wait(120)
    assert ground.stage(NODE) is Stage.VERIFYING
    ground.now += 7200.0
    ground.step()
    ground.wait(590, every=10)
    assert verified(ground) == []
    ground.wait(60, every=10)
    (text,) = verified(ground)
    assert text == f"{NODE} is healthy: no fault for 600 s"


def test_one_for_whom_a_person_vouches_is_not_reported_as_verified() -> None:
    ground = Ground()
    ground.send_command(Verb.QUARANTINE, NODE)
    ground.end(NODE)
    ground.send_command(Verb.RELEASE, NODE)
    ground.wait(60)
    assert verified(ground) == [f"{NODE} is healthy, as ana says, and fresh data confirm it"]
