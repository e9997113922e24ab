"""What passes by itself is no fault: an agent that restarts, a stream or a network that blinks."""

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.alerting.rules.document import Fence
from accelwatch.remediation.policy.state.changes import CaseChanged
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.small_fleet import JOB, Ground, job_policy

QUARANTINE, FENCE, MOVE = IntentKind.QUARANTINE, IntentKind.FENCE, IntentKind.MOVE_JOB
NAME = "n03"
BLINK_S = 5


def blink(ground: Ground, *, agent: bool, daemon: bool, seconds: float = BLINK_S) -> None:
    """Some seconds in which the agent, the scheduler's daemon, or both are not heard."""
    node = ground.nodes[NAME]
    if agent:
        node.agent, node.late, node.given_up = False, True, True
    node.answering = not daemon
    ground.wait(seconds, every=1)
    node.agent, node.late, node.given_up, node.answering = True, False, False, True
    ground.wait(2, every=1)


def test_an_agent_that_restarts_in_the_middle_brings_no_second_quarantine() -> None:
    ground = Ground()
    case = ground.fault(NAME)
    ground.end(NAME)
    before = ground.kinds(NAME)
    hold = ground.state.remedies[NAME].hold
    boot = ground.nodes[NAME].boot_id
    blink(ground, agent=True, daemon=False)
    # What it finds is told anew: the same incident of the same boot and hardware.
    assert ground.nodes[NAME].boot_id == boot
    ground.step(CaseChanged(node=NAME, case=case))
    ground.wait(60, every=5)
    assert ground.kinds(NAME) == before
    assert ground.kinds(NAME).count(QUARANTINE) == 1
    assert ground.state.remedies[NAME].hold == hold
    assert len(ground.state.remedies[NAME].cases) == 1


def test_an_agent_that_restarts_while_its_node_is_verified_does_not_start_that_anew() -> None:
    ground = Ground()
    case = ground.fault(NAME)
    ground.end(NAME)
    ground.end(NAME)  # the reboot
    ground.clear(NAME, case)
    assert ground.stage(NAME) is Stage.VERIFYING
    ground.wait(30, every=5)
    since = ground.state.remedies[NAME].clocks.since
    blink(ground, agent=True, daemon=False)
    assert (ground.stage(NAME), ground.state.remedies[NAME].clocks.since) == (
        Stage.VERIFYING,
        since,
    )
    ground.wait(90, every=5)
    assert ground.kinds(NAME)[-1] is IntentKind.RELEASE


@pytest.mark.parametrize(("agent", "daemon"), [(True, False), (False, True), (True, True)], ids=str)
def test_a_blink_of_a_node_that_is_well_is_nothing_to_anybody(agent: bool, daemon: bool) -> None:
    ground = Ground(probes=True)
    ground.nodes[NAME].jobs = (JOB,)
    ground.step()
    blink(ground, agent=agent, daemon=daemon)
    assert set(ground.kinds(NAME)) <= {IntentKind.PROBE}
    assert ground.stage(NAME) is Stage.HEALTHY


@pytest.mark.parametrize(("agent", "daemon"), [(True, False), (False, True), (True, True)], ids=str)
def test_a_blink_of_a_node_whose_job_is_to_leave_it_fences_nothing(
    agent: bool, daemon: bool
) -> None:
    ground = about_to_move()
    blink(ground, agent=agent, daemon=daemon)
    ground.wait(60, every=5)
    assert ground.kinds(NAME) == [QUARANTINE, MOVE]


def test_what_lasts_longer_on_both_paths_is_no_blink() -> None:
    ground = about_to_move()
    blink(ground, agent=True, daemon=True, seconds=12)
    assert ground.kinds(NAME) == [QUARANTINE, FENCE]


def about_to_move() -> Ground:
    """A node that is out and whose job is to leave it as soon as its scheduler's daemon answers."""
    ground = Ground()
    node = ground.nodes[NAME]
    node.jobs = (JOB,)
    ground.step()
    node.answering = False
    ground.fault(NAME, policy=job_policy(fence=Fence.REQUIRE))
    ground.end(NAME)
    assert ground.kinds(NAME) == [QUARANTINE]
    return ground
