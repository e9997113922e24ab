"""That a scheduler loses its state is nobody's wish: a person is told once, bad nodes stay out."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind, OwnerAnnotation
from accelwatch.action.observed import HoldState
from accelwatch.alerting.rules.document import Confidence, Mode
from accelwatch.remediation.policy.conditions.permission import plan_of
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.state.case import Policy
from accelwatch.remediation.policy.state.changes import CaseChanged, Verb
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.small_fleet import POLICY, Ground

OUT = msgspec.structs.replace(POLICY, ladder=())
APPROVE = msgspec.structs.replace(OUT, mode=Mode.APPROVE)
UNSURE = msgspec.structs.replace(OUT, confidence=Confidence.LOW)


def taken_out(*names: str) -> Ground:
    ground = Ground()
    for name in names:
        ground.fault(name, policy=OUT)
        ground.end(name)
        ground.wait(150)
        assert ground.stage(name) in (Stage.QUARANTINED, Stage.SERVICE)
    ground.notes.clear()
    return ground


def calls(ground: Ground) -> list[str]:
    return [note.text for note in ground.notes if note.loudness is Loudness.ALERT]


def approve(ground: Ground, name: str) -> None:
    remedy = ground.remedy(name)
    assert remedy is not None
    digest = plan_of(StepContext(ground.state, ground.settings, ground.now), remedy)
    ground.send_command(Verb.APPROVE, name, digest=digest)


def test_a_fault_that_is_still_seen_keeps_its_node_out_and_a_person_is_notified_once_of_all() -> (
    None
):
    ground = taken_out("n03", "n12")
    ground.controller_starts(loses_state=True)
    ground.wait(1, every=1)
    for name in ("n03", "n12"):
        assert ground.flying[name].kind is IntentKind.QUARANTINE
        ground.end(name)
    ground.wait(3600, every=60)
    for name in ("n03", "n12"):
        remedy = ground.remedy(name)
        assert remedy is not None
        assert remedy.hold is not None
        assert not remedy.mark_lost
        assert ground.kinds(name) == [IntentKind.QUARANTINE] * 2
    assert ground.state.overrides == {}
    (call,) = [text for text in calls(ground) if "nothing else is done about it" not in text]
    assert "slurm has lost its state: n03, n12 are open to jobs again" in call
    assert "Taken out again" in call


@pytest.mark.parametrize("policy", [APPROVE, UNSURE], ids=["approve", "unsure"])
def test_where_no_rule_acts_by_itself_approval_is_requested_and_the_mark_is_set_after_it(
    policy: Policy,
) -> None:
    ground = Ground()
    ground.fault("n03", policy=policy)
    approve(ground, "n03")
    ground.end("n03")
    ground.notes.clear()
    ground.controller_starts(loses_state=True)
    ground.wait(600)
    assert ground.stage("n03") is Stage.AWAITING_APPROVAL
    assert ground.kinds("n03") == [IntentKind.QUARANTINE]
    assert len(calls(ground)) == 1
    assert "Waiting for your yes: n03" in calls(ground)[0]
    approve(ground, "n03")
    ground.end("n03")
    assert ground.nodes["n03"].hold_state is HoldState.OURS
    assert ground.kinds("n03") == [IntentKind.QUARANTINE] * 2


@pytest.mark.parametrize("blind", [True, False])
def test_a_node_whose_agent_is_silent_is_taken_out_again_after_a_yes(blind: bool) -> None:
    ground = taken_out("n03")
    ground.nodes["n03"].agent = False
    ground.wait(120, every=5)
    if blind:
        (case,) = ground.state.remedies["n03"].cases
        ground.step(CaseChanged(node="n03", case=msgspec.structs.replace(case, blind=True)))
    ground.controller_starts(loses_state=True)
    ground.wait(30, every=1)
    (call,) = calls(ground)
    assert "Waiting for your yes: n03" in call
    assert "Taken out again" not in call
    assert ground.stage("n03") is Stage.AWAITING_APPROVAL
    approve(ground, "n03")
    assert ground.flying["n03"].kind is IntentKind.QUARANTINE


def test_what_happened_long_ago_waits_for_a_yes_too() -> None:
    ground = Ground()
    ground.fault("n03", policy=OUT, standing=False)
    ground.end("n03")
    ground.wait(7200, every=60)
    ground.controller_starts(loses_state=True)
    ground.wait(120)
    assert ground.stage("n03") is Stage.AWAITING_APPROVAL
    approve(ground, "n03")
    assert ground.flying["n03"].kind is IntentKind.QUARANTINE


def test_until_a_person_has_answered_no_job_of_ours_is_moved_there() -> None:
    ground = Ground()
    ground.fault("n03", policy=APPROVE)
    approve(ground, "n03")
    ground.end("n03")
    ground.controller_starts(loses_state=True)
    ground.wait(60)
    remedy = ground.remedy("n03")
    assert remedy is not None
    assert remedy.counts
    assert "n03" in ground.state.budget.own


@pytest.mark.parametrize("verb", [Verb.RELEASE, Verb.FORCE_RELEASE])
def test_a_person_may_leave_it_open(verb: Verb) -> None:
    ground = Ground()
    ground.fault("n03", policy=APPROVE)
    approve(ground, "n03")
    ground.end("n03")
    ground.controller_starts(loses_state=True)
    ground.wait(60)
    ground.send_command(verb, "n03")
    ground.wait(60)
    assert ground.stage("n03") is Stage.OVERRIDDEN
    assert ground.state.budget.own == {}


def test_one_that_a_person_took_out_is_taken_out_again() -> None:
    ground = Ground()
    ground.send_command(Verb.QUARANTINE, "n03")
    ground.end("n03")
    ground.controller_starts(loses_state=True)
    ground.wait(1, every=1)
    assert ground.flying["n03"].kind is IntentKind.QUARANTINE


def test_one_that_looks_well_stays_open() -> None:
    ground = taken_out("n03")
    remedy = ground.remedy("n03")
    assert remedy is not None
    ground.clear("n03", remedy.cases[0])
    ground.controller_starts(loses_state=True)
    ground.wait(60)
    assert ground.stage("n03") is Stage.HEALTHY
    assert ground.kinds("n03") == [IntentKind.QUARANTINE]
    assert "Nothing is wrong any more with n03" in calls(ground)[0]


def test_a_controller_that_keeps_its_state_says_nothing_and_a_later_reset_is_a_wish() -> None:
    ground = taken_out("n03")
    ground.controller_starts()
    ground.wait(60)
    assert calls(ground) == []
    ground.nodes["n03"].hold_state, ground.nodes["n03"].mark = HoldState.OPEN, None
    ground.wait(60)
    assert ground.stage("n03") is Stage.OVERRIDDEN


def test_a_reset_that_leaves_our_key_is_a_wish_whenever_the_controller_was_started() -> None:
    """Slurm keeps the key in `Extra` when a person resumes a node."""
    ground = taken_out("n03")
    ground.controller_starts()
    ground.nodes["n03"].hold_state = HoldState.OPEN
    assert ground.nodes["n03"].mark == OwnerAnnotation("i-n03", 1)
    ground.wait(60)
    assert ground.stage("n03") is Stage.OVERRIDDEN


def test_the_loss_is_seen_by_an_engine_that_started_after_it() -> None:
    ground = taken_out("n03")
    ground.controller_starts(loses_state=True)
    ground.killed()
    ground.wait(240)
    assert ground.state.overrides == {}
    assert ground.flying["n03"].kind is IntentKind.QUARANTINE
    assert len([text for text in calls(ground) if "has lost its state" in text]) == 1


def test_a_hold_of_which_no_start_is_known_is_a_wish_as_before() -> None:
    """As one of an older journal, or of a scheduler that tells of no start."""
    ground = taken_out("n03")
    remedy = ground.remedy("n03")
    assert remedy is not None
    assert remedy.hold is not None
    blank = msgspec.structs.replace(
        remedy, hold=msgspec.structs.replace(remedy.hold, controller_boot="")
    )
    remedies = {**ground.state.remedies, "n03": blank}
    ground.state = msgspec.structs.replace(ground.state, remedies=remedies)
    ground.nodes["n03"].hold_state, ground.nodes["n03"].mark = HoldState.OPEN, None
    ground.wait(60)
    assert ground.stage("n03") is Stage.OVERRIDDEN


def test_a_release_that_waits_is_done_by_the_loss() -> None:
    ground = taken_out("n03")
    remedy = ground.remedy("n03")
    assert remedy is not None
    ground.clear("n03", remedy.cases[0])
    ground.wait(120)
    assert ground.stage("n03") is Stage.RELEASING
    ground.end("n03", PursuitResult.CANCELLED)
    ground.controller_starts(loses_state=True)
    ground.wait(60)
    assert ground.stage("n03") is Stage.HEALTHY
    assert ground.state.overrides == {}


def given_back(ground: Ground, name: str) -> None:
    """A person resumes a node at the scheduler itself."""
    ground.nodes[name].hold_state, ground.nodes[name].set_by = HoldState.OPEN, ""
    ground.wait(600)


def test_a_bad_node_that_a_person_gives_back_is_reported_once_with_what_is_wrong() -> None:
    ground = Ground()
    ground.fault("n03", policy=OUT, title="GPU 3 has fallen off the bus")
    ground.end("n03")
    ground.notes.clear()
    given_back(ground, "n03")
    (call,) = calls(ground)
    assert call.startswith(
        "n03 is back in the pool and takes jobs, but looks bad: GPU 3 has fallen"
    )
    assert "accelwatch remedy quarantine n03" in call


def test_one_that_a_person_forces_back_is_reported_too_and_by_whom() -> None:
    ground = taken_out("n03")
    ground.send_command(Verb.FORCE_RELEASE, "n03")
    ground.end("n03")
    ground.wait(600)
    (call,) = calls(ground)
    assert "looks bad: nvidia.gpu.lost. Because ana gave it back" in call


def test_a_good_node_that_a_person_gives_back_calls_nobody() -> None:
    ground = Ground()
    ground.send_command(Verb.QUARANTINE, "n03")
    ground.end("n03")
    given_back(ground, "n03")
    assert ground.stage("n03") is Stage.OVERRIDDEN
    assert calls(ground) == []


def test_a_node_that_was_never_out_is_back_from_nowhere() -> None:
    ground = Ground()
    ground.fault("n03", policy=APPROVE)
    ground.notes.clear()
    ground.send_command(Verb.RELEASE, "n03")
    assert ground.stage("n03") is Stage.OVERRIDDEN
    assert calls(ground) == []


def made_again(ground: Ground, name: str) -> None:
    """The node object was deleted, and its machine has registered anew."""
    node = ground.nodes[name]
    node.incarnation = "second"
    node.hold_state, node.mark, node.set_by, node.jobs = HoldState.OPEN, None, "", ()


def registered(*names: str) -> Ground:
    """A fleet whose scheduler makes an object of each node, as Kubernetes does; some are taken out."""
    ground = Ground()
    for name in names:
        ground.nodes[name].incarnation = "first"
    for name in names:
        ground.fault(name, policy=OUT)
        ground.end(name)
    ground.wait(150)
    ground.notes.clear()
    return ground


def test_trap_24_a_node_that_was_made_again_is_taken_out_again_while_it_is_bad() -> None:
    ground = registered("n03")
    made_again(ground, "n03")
    ground.wait(1, every=1)
    assert ground.state.overrides == {}
    assert ground.flying["n03"].kind is IntentKind.QUARANTINE
    assert ground.flying["n03"].original == {}
    (call,) = calls(ground)
    assert "n03 was deleted and made again in slurm, and is open to jobs" in call
    assert "Taints, cordons and labels" in call
    ground.end("n03")
    ground.wait(3600, every=60)
    remedy = ground.remedy("n03")
    assert remedy is not None
    assert remedy.hold is not None
    assert remedy.hold.incarnation == "second"


def test_a_node_that_is_the_same_was_given_back_by_a_person() -> None:
    ground = registered("n03")
    node = ground.nodes["n03"]
    node.hold_state, node.mark, node.set_by = HoldState.OPEN, None, ""
    ground.wait(30)
    assert "n03" in ground.state.overrides


def test_a_node_made_again_that_bears_our_mark_has_lost_nothing() -> None:
    """As a backup brings it back; whose it is then is for a person to say."""
    ground = registered("n03")
    ground.nodes["n03"].incarnation = "second"
    ground.wait(30)
    assert ground.flying.get("n03") is None
    assert ground.state.overrides == {}
