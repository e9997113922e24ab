"""A node that still bears our mark, and that somebody else has made his: it is not ours to give back."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import HoldState
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.small_fleet import POLICY, SETTINGS, Ground

ONLY_QUARANTINE = msgspec.structs.replace(POLICY, ladder=())


def quarantined() -> Ground:
    """A ground on which n03 is out for a fault."""
    ground = Ground()
    ground.fault("n03", policy=ONLY_QUARANTINE)
    ground.end("n03")
    assert ground.stage("n03") is not Stage.QUARANTINING
    return ground


def test_an_admin_who_writes_under_our_mark_has_the_node() -> None:
    """As one who appends "keep it, the part is ordered" to our reason."""
    ground = quarantined()
    ground.nodes["n03"].set_by = "root"
    ground.wait(30)
    assert any("root took n03 over" in note.text for note in ground.notes)
    assert ground.state.budget.own == {}
    ground.nodes["n03"].healthy = True
    ground.wait(3600, every=300.0)
    assert ground.kinds("n03") == [IntentKind.QUARANTINE]


def test_it_is_theirs_also_when_it_fails_again() -> None:
    ground = quarantined()
    ground.nodes["n03"].set_by = "root"
    ground.wait(60)
    ground.fault("n03", "i-newer", policy=ONLY_QUARANTINE)
    ground.wait(6 * 3600.0, every=600.0)
    assert ground.stage("n03") is Stage.OWNED_BY_OTHER
    assert ground.kinds("n03") == [IntentKind.QUARANTINE]


def test_when_they_give_it_back_it_is_a_node_like_any_other() -> None:
    ground = quarantined()
    ground.nodes["n03"].set_by = "root"
    ground.wait(30)
    assert ground.state.forgotten == {"n03": "i-n03"}
    node = ground.nodes["n03"]
    node.hold_state, node.mark, node.set_by, node.healthy = HoldState.OPEN, None, "", True
    ground.wait(60)
    assert ground.stage("n03") is Stage.HEALTHY
    assert ground.state.forgotten == {}


def released(ground: Ground) -> None:
    """Have it found well, so that a release is on its way."""
    remedy = ground.remedy("n03")
    assert remedy is not None
    ground.clear("n03", remedy.cases[0])
    ground.wait(600)
    assert ground.stage("n03") is Stage.RELEASING


def test_a_test_that_failed_before_they_had_it_says_nothing_of_the_node_after() -> None:
    ground = Ground()
    policy = msgspec.structs.replace(ONLY_QUARANTINE, tests=("gpu-quick",))
    case = ground.fault("n03", policy=policy)
    ground.end("n03")
    ground.clear("n03", case)
    ground.wait(120)
    ground.end("n03", PursuitResult.REFUSED)
    node = ground.nodes["n03"]
    node.hold_state, node.mark, node.set_by = HoldState.FOREIGN, None, "bo"
    ground.wait(60)
    again = ground.fault("n03", "i-again", policy=policy)
    assert ground.stage("n03") is Stage.OWNED_BY_OTHER
    node.hold_state, node.set_by = HoldState.OPEN, ""
    ground.wait(60)
    assert ground.stage("n03") is Stage.SUSPECT
    ground.clear("n03", again)
    assert ground.stage("n03") is Stage.HEALTHY


def test_a_release_says_how_our_mark_looked() -> None:
    ground = quarantined()
    released(ground)
    assert ground.flying["n03"].original["set_by"] == "accelwatch"


def test_a_release_that_a_person_forces_takes_it_back_however_it_looks() -> None:
    ground = quarantined()
    ground.send_command(Verb.FORCE_RELEASE, "n03")
    assert "set_by" not in ground.flying["n03"].original


def test_a_release_that_is_refused_because_it_is_not_ours_any_more_is_not_tried_again() -> None:
    ground = quarantined()
    released(ground)
    ground.end("n03", PursuitResult.REFUSED, RefusalKind.FOREIGN)
    ground.wait(3600, every=300.0)
    assert ground.kinds("n03") == [IntentKind.QUARANTINE, IntentKind.RELEASE]


def test_what_our_own_reboot_writes_is_no_takeover() -> None:
    ground = Ground()
    case = ground.fault("n03")
    ground.end("n03")
    assert ground.stage("n03") is Stage.REMEDIATING
    ground.nodes["n03"].set_by = "slurm"
    ground.end("n03")
    ground.wait(60)
    assert ground.stage("n03") is Stage.VERIFYING
    ground.clear("n03", case)
    ground.wait(300)
    assert ground.flying["n03"].original["set_by"] == "slurm"


def test_what_a_scheduler_writes_on_a_node_that_is_down_is_no_mark_of_ours() -> None:
    ground = Ground()
    ground.fault("n03")
    ground.end("n03")
    node = ground.nodes["n03"]
    node.hold_state, node.set_by = HoldState.DOWN, "slurm"
    ground.end("n03")
    node.hold_state, node.set_by = HoldState.OURS, "accelwatch"
    ground.wait(60)
    assert ground.stage("n03") is Stage.VERIFYING


def labelled(label: str) -> Ground:
    """A ground where that label says to leave a node alone; every node has the label `rack`."""
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, no_auto_label=label))
    ground.fault("n03", policy=ONLY_QUARANTINE)
    return ground


def test_a_node_with_the_label_is_left_alone_by_rules() -> None:
    ground = labelled("rack")
    ground.wait(3600, every=300.0)
    assert ground.kinds("n03") == []
    remedy = ground.remedy("n03")
    assert remedy is not None
    assert remedy.denial is not None
    assert "it has the label rack" in remedy.denial.text


def test_another_label_or_none_says_nothing() -> None:
    for label in ("accelwatch_no_auto", ""):
        assert labelled(label).kinds("n03") == [IntentKind.QUARANTINE]


def test_a_person_takes_it_out_all_the_same() -> None:
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, no_auto_label="rack"))
    ground.send_command(Verb.QUARANTINE, "n03")
    assert ground.kinds("n03") == [IntentKind.QUARANTINE]


@pytest.mark.parametrize("ours", [False, True], ids=["their own reason", "behind our reason"])
def test_one_who_takes_it_over_during_our_drain_is_reported(ours: bool) -> None:
    ground = Ground()
    ground.fault("n03", policy=ONLY_QUARANTINE)
    node, mark = ground.nodes["n03"], ground.flying["n03"].mark
    node.hold_state, node.set_by = HoldState.OURS if ours else HoldState.FOREIGN, "root"
    node.mark = mark if ours else None
    ground.end("n03", PursuitResult.REFUSED, RefusalKind.FOREIGN, took_effect=True)
    ground.wait(6 * 3600.0, every=600.0)
    notes = [note for note in ground.notes if "root took n03 over" in note.text]
    assert [note.loudness for note in notes] == [Loudness.ALERT]
    ground.fault("n03", "i-newer", policy=ONLY_QUARANTINE)
    ground.wait(6 * 3600.0, every=600.0)
    assert ground.stage("n03") is Stage.OWNED_BY_OTHER
    assert ground.kinds("n03") == [IntentKind.QUARANTINE]


def test_one_who_had_it_before_our_drain_has_taken_nothing_over() -> None:
    ground = Ground()
    ground.fault("n03", policy=ONLY_QUARANTINE)
    node = ground.nodes["n03"]
    node.hold_state, node.set_by = HoldState.FOREIGN, "root"
    ground.end("n03", PursuitResult.REFUSED, RefusalKind.FOREIGN)
    assert ground.stage("n03") is Stage.OWNED_BY_OTHER
    assert not [note for note in ground.notes if "took n03 over" in note.text]
