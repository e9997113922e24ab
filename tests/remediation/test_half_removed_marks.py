"""A mark of which a person has undone a part: the node is his, and what is left is removed."""

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import HoldState
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.state.stage import Stage
from remediation.test_adopted_nodes import quarantined, released

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
    node.standing, node.mark, node.set_by, node.undone = HoldState.OPEN, None, "", ""
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


def test_a_mark_that_nobody_knows_is_asked_about_also_when_a_part_of_it_is_gone() -> None:
    ground = quarantined()
    node = ground.nodes["n03"]
    other = ground.nodes["n04"]
    other.standing, other.mark, other.set_by = HoldState.OURS, node.mark, node.set_by
    other.undone = UNDONE
    ground.wait(30)
    assert ground.stage("n04") is Stage.UNKNOWN
