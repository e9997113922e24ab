"""A spare that takes part in the test of another node is in use until that test has ended."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.step import Measured
from accelwatch.config.figures import Figure
from accelwatch.remediation.active_tests import ActiveTestSettings
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.spares.model import SpareStatus
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import SpareSettings
from support.remediation.small_fleet import JOB, POLICY, SETTINGS, Ground, job_policy

MODEL, NODE, OTHER, PEER = "H100", "n03", "n05", "n07"
PAIR = ActiveTestSettings(name="pair", pair=True, floors={MODEL: Figure(40e9, "bytes_per_second")})
FAST = Measured(50e9, "bytes_per_second")


def under_test(spares: SpareSettings) -> Ground:
    """The test of n03 runs, in which n07 takes part, the only idle node of its rack."""
    limits = msgspec.structs.replace(SETTINGS, spares=spares, tests=(PAIR,))
    ground = Ground(settings=limits)
    for name, node in ground.nodes.items():
        node.model = MODEL
        idle = name in (NODE, PEER, *spares.names())
        node.jobs = () if idle else (JOB,)
    ground.step()
    case = ground.fault(NODE, policy=msgspec.structs.replace(POLICY, tests=("pair",)))
    ground.end(NODE)
    ground.end(NODE)
    ground.clear(NODE, case)
    ground.wait(180)
    assert ground.flying[NODE].peer == PEER
    return ground


def faulty(ground: Ground) -> None:
    """n05 is taken out, and its rule asks for a spare."""
    ground.fault(OTHER, policy=job_policy(draw_spare=True))
    ground.end(OTHER)


@pytest.mark.parametrize("restart", [False, True])
def test_another_spare_is_drawn_than_the_peer_of_a_test(restart: bool) -> None:
    ground = under_test(SpareSettings(nodes=(PEER, "n39")))
    if restart:
        ground.killed()
        ground.wait(180)
    faulty(ground)
    assert [one.spare for one in ground.of_kind(Kind.DRAW_SPARE)] == ["n39"]


@pytest.mark.parametrize("restart", [False, True])
def test_the_peer_is_drawn_when_its_test_has_ended(restart: bool) -> None:
    ground = under_test(SpareSettings(nodes=(PEER,)))
    if restart:
        ground.killed()
        ground.wait(180)
    faulty(ground)
    assert ground.of_kind(Kind.DRAW_SPARE) == []
    texts = [note.text for note in ground.notes]
    assert any(f"no spare fits: {PEER} takes part in a test" in text for text in texts)
    # Its job waits in the queue meanwhile.
    ground.nodes[OTHER].jobs = ()
    ground.end(NODE, measured=FAST)
    ground.wait(5, every=1)
    ground.end(OTHER, PursuitResult.CANCELLED)
    assert [one.spare for one in ground.of_kind(Kind.DRAW_SPARE)] == [PEER]


def test_it_is_in_use_while_nobody_knows_what_became_of_the_test() -> None:
    ground = under_test(SpareSettings(nodes=(PEER,)))
    ground.end(NODE, PursuitResult.UNKNOWN)
    assert ground.stage(NODE) is Stage.UNKNOWN
    faulty(ground)
    assert ground.of_kind(Kind.DRAW_SPARE) == []


@pytest.mark.parametrize("restart", [False, True])
def test_its_own_test_waits_for_that_of_the_other_node(restart: bool) -> None:
    ground = under_test(SpareSettings(nodes=(PEER,)))
    tested = SpareSettings(nodes=(PEER,), test="quick", test_max_age_s=86_400.0)
    ground.settings = msgspec.structs.replace(ground.settings, spares=tested)
    if restart:
        ground.killed()
    ground.wait(180)
    assert ground.state.spares.spares[PEER].standing is SpareStatus.READY
    ground.end(NODE, measured=FAST)
    ground.wait(30)
    assert ground.state.spares.spares[PEER].standing is SpareStatus.TESTING


@pytest.mark.parametrize("restart", [False, True])
def test_the_test_of_an_idle_node_waits_for_the_test_in_which_it_takes_part(restart: bool) -> None:
    ground = under_test(SpareSettings())
    quick = ActiveTestSettings(name="quick", every_s=86_400.0)
    ground.settings = msgspec.structs.replace(ground.settings, tests=(PAIR, quick))
    if restart:
        ground.killed()
    ground.wait(180)
    assert [one.test for one in ground.state.chores.values()] == []
    ground.end(NODE, measured=FAST)
    ground.wait(30)
    assert [(one.test, one.node) for one in ground.state.chores.values()] == [("quick", PEER)]
