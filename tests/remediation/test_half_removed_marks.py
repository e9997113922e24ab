"""A mark of which a person has undone a part: the node is his, and what is left is removed."""

import pytest
from msgspec.structs import replace

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import HoldState
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from remediation.test_adopted_nodes import quarantined, released
from remediation.test_state_loss import APPROVE, OUT, approve
from support.remediation.small_fleet import Ground

UNDONE = "n03 was uncordoned"


def test_who_undoes_a_part_of_our_mark_has_the_node_and_the_rest_is_removed() -> None:
    ground = quarantined()
    ground.nodes["n03"].undone = UNDONE
    ground.wait(60)
    assert ground.stage("n03") is Stage.RELEASING
    assert ground.flying["n03"].kind is IntentKind.RELEASE
    (text,) = [note.text for note in ground.notes if note.loudness is Loudness.ALERT]
    assert "n03 is back in the pool and takes jobs, but looks bad" in text
    node = ground.nodes["n03"]
    node.hold_state, node.mark, node.set_by, node.undone = HoldState.OPEN, None, "", ""
    ground.end("n03")
    ground.wait(600)
    assert ground.stage("n03") is Stage.OVERRIDDEN
    assert ground.kinds("n03") == [IntentKind.QUARANTINE, IntentKind.RELEASE]


def test_a_release_that_is_on_its_way_goes_on_when_a_part_is_undone() -> None:
    ground = quarantined()
    released(ground)
    ground.nodes["n03"].undone = UNDONE
    ground.wait(60)
    assert ground.stage("n03") is Stage.RELEASING
    assert ground.state.overrides == {}


def test_an_unknown_mark_needs_approval_also_when_half_of_it_is_gone() -> None:
    ground = quarantined()
    node = ground.nodes["n03"]
    other = ground.nodes["n04"]
    other.hold_state, other.mark, other.set_by = HoldState.OURS, node.mark, node.set_by
    other.undone = UNDONE
    ground.wait(30)
    assert ground.stage("n04") is Stage.UNKNOWN


@pytest.mark.parametrize("before", ["", "uid-1"])
def test_a_part_that_was_never_set_there_is_undone_by_nobody(before: str) -> None:
    """The node is new in one of two schedulers: it came there, or the second was configured since."""
    ground = Ground()
    ground.nodes["n03"].incarnation = before
    ground.fault("n03", policy=OUT)
    ground.end("n03")
    ground.nodes["n03"].incarnation = f"{before} cluster/uid-2".strip()
    ground.nodes["n03"].undone, ground.nodes["n03"].mark = UNDONE, None
    ground.notes.clear()
    ground.wait(1, every=1)
    assert ground.state.overrides == {}
    assert ground.flying["n03"].kind is IntentKind.QUARANTINE
    (text,) = [note.text for note in ground.notes if note.loudness is Loudness.ALERT]
    assert f"n03 is open to jobs, made again or added since: {UNDONE}" in text
    assert "Taken out again" in text


def test_what_is_left_of_our_mark_decides_nothing_while_approval_is_pending() -> None:
    ground = Ground()
    ground.fault("n03", policy=APPROVE)
    approve(ground, "n03")
    ground.end("n03")
    ground.nodes["n03"].incarnation = "cluster/uid-2"
    ground.nodes["n03"].undone, ground.nodes["n03"].mark = UNDONE, None
    ground.wait(600)
    assert ground.stage("n03") is Stage.AWAITING_APPROVAL
    assert ground.state.overrides == {}
    assert ground.kinds("n03") == [IntentKind.QUARANTINE]
    approve(ground, "n03")
    assert ground.flying["n03"].kind is IntentKind.QUARANTINE


def test_a_part_of_the_mark_of_a_node_that_is_well_is_released_as_the_whole_is() -> None:
    ground = quarantined()
    ground.clear("n03", ground.state.remedies["n03"].cases[0])
    ground.nodes["n03"].incarnation = "cluster/uid-2"
    ground.nodes["n03"].undone, ground.nodes["n03"].mark = UNDONE, None
    ground.wait(600)
    assert ground.state.overrides == {}
    assert ground.flying["n03"].kind is IntentKind.RELEASE


def test_a_mark_whose_node_was_never_looked_at_is_undone_as_before() -> None:
    ground = quarantined()
    remedy = ground.state.remedies["n03"]
    assert remedy.hold is not None
    unseen = replace(remedy, hold=replace(remedy.hold, observed_at=None))
    ground.state = replace(ground.state, remedies={**ground.state.remedies, "n03": unseen})
    ground.nodes["n03"].incarnation = "uid-1"
    ground.nodes["n03"].hold_state, ground.nodes["n03"].mark = HoldState.OPEN, None
    ground.wait(60)
    assert ground.stage("n03") is Stage.OVERRIDDEN


@pytest.mark.parametrize("healthy", [True, False])
def test_a_mark_that_could_be_set_in_one_only_is_undone_by_nobody(healthy: bool) -> None:
    """The second refuses, as an admission webhook does: the node stays out in the first."""
    ground = Ground()
    case = ground.fault("n03", policy=OUT)
    node = ground.nodes["n03"]
    node.hold_state, node.mark, node.undone = HoldState.OURS, None, UNDONE
    ground.end("n03", PursuitResult.REFUSED, RefusalKind.NOT_ALLOWED)
    assert ground.stage("n03") is Stage.FAILED
    ground.wait(120)
    assert ground.stage("n03") is Stage.FAILED
    if healthy:
        ground.clear("n03", case)
    ground.wait(7200)
    assert ground.state.overrides == {}
    assert IntentKind.RELEASE not in ground.kinds("n03")
    assert ground.stage("n03") is (Stage.UNKNOWN if healthy else Stage.QUARANTINING)
