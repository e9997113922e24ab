"""A move waits for a node that nothing named: a person is called in time, once, and told what to do."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.state.clocks import HANGS_S
from support.remediation.small_fleet import JOB, Ground, job_policy

MOVE = IntentKind.MOVE_JOB
# The same job after its requeue.
LATER = msgspec.structs.replace(JOB, submitted=JOB.submitted + 30.0)


def moving(*, answering: bool = False, ours: bool = False) -> Ground:
    """A job of n03 and n07 is moved away from n03; n07 does not let it go."""
    ground = Ground()
    if ours:
        ground.fault("n07")
        ground.end("n07")
        ground.wait(150)
    ground.nodes["n03"].jobs = ground.nodes["n07"].jobs = (JOB,)
    ground.step()
    ground.fault("n03", policy=job_policy())
    ground.end("n03")
    assert ground.kinds("n03")[-1] is MOVE
    ground.nodes["n03"].jobs, ground.nodes["n07"].jobs = (), (LATER,)
    ground.nodes["n07"].answering = answering
    return ground


def calls(ground: Ground) -> list[str]:
    return [one.text for one in ground.notes if one.loudness is Loudness.ALERT]


def test_a_person_is_called_once_after_a_minute_and_the_move_waits_on() -> None:
    ground = moving()
    ground.wait(HANGS_S - 5, every=5)
    assert calls(ground) == []
    ground.wait(10, every=5)
    (call,) = calls(ground)
    assert "cannot leave n07, which does not answer its scheduler" in call
    (alert,) = [one for one in ground.notes if one.loudness is Loudness.ALERT]
    assert (alert.node, alert.incident) == ("n03", ground.state.remedies["n03"].incident)
    ground.wait(600, every=30)
    assert len(calls(ground)) == 1
    assert ground.kinds("n03")[-1] is MOVE
    assert "n07" not in ground.state.remedies, "nothing is done about what no rule has named"


def test_another_node_that_hangs_later_is_reported_as_well() -> None:
    ground = moving()
    ground.wait(HANGS_S, every=5)
    ground.nodes["n09"].jobs, ground.nodes["n09"].answering = (LATER,), False
    ground.wait(10, every=5)
    assert ["n07" in calls(ground)[0], "n09" in calls(ground)[1]] == [True, True]


@pytest.mark.parametrize("why", ["it answers", "another job", "it is ours", "it has ended"])
def test_nobody_is_called(why: str) -> None:
    ground = moving(answering=why == "it answers", ours=why == "it is ours")
    if why == "another job":
        ground.nodes["n07"].jobs = (msgspec.structs.replace(LATER, id="99"),)
    if why == "it has ended":
        ground.end("n03")
    ground.wait(HANGS_S + 30, every=5)
    assert not [text for text in calls(ground) if "cannot leave" in text]
