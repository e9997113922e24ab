"""A node that falls silent under a job is probed: once, where it may be, not when many are silent."""

from collections.abc import Callable

import msgspec
import pytest

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import HoldState
from accelwatch.remediation.policy.context.records import ChoreRecord
from accelwatch.remediation.policy.jobs.probing import INCIDENT, MOST_PROBES
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.clocks import FRESH_S, PROBE_AGAIN_S, PROBE_S
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.world import JournalStatus
from support.remediation.small_fleet import JOB, Ground

NAME = "n03"


def ground_of(**more: object) -> Ground:
    """A fleet whose scheduler can be made to ask, and a job on one node."""
    ground = Ground(probes=True, **more)  # type: ignore[arg-type]
    ground.nodes[NAME].jobs = (JOB,)
    ground.step()
    return ground


def fall_silent(ground: Ground, name: str = NAME) -> None:
    """A moment later nothing is heard of it."""
    ground.nodes[name].late = True
    ground.now += 1
    ground.step()


def speak(ground: Ground, name: str = NAME) -> None:
    ground.nodes[name].late = False
    ground.now += 1
    ground.step()


def probes(ground: Ground) -> list[Intent]:
    return [intent for intent in ground.started if intent.kind is IntentKind.PROBE]


def test_it_is_probed_once_for_each_time_that_it_falls_silent() -> None:
    ground = ground_of()
    fall_silent(ground)
    ground.wait(10, every=1)
    (probe,) = probes(ground)
    assert (probe.node, probe.mark.incident) == (NAME, INCIDENT)
    assert probe.deadline == probe.asked + PROBE_S
    assert [one.key for one in ground.records if isinstance(one, ChoreRecord)] == [f"probe {NAME}"]
    ground.end_chore(IntentKind.PROBE)
    assert not ground.state.chores
    ground.wait(200, every=5)
    assert len(probes(ground)) == 1
    speak(ground)
    fall_silent(ground)
    assert len(probes(ground)) == 2


def test_one_that_comes_and_goes_is_probed_once_a_minute_at_most() -> None:
    ground = ground_of()
    for _ in range(10):
        fall_silent(ground)
        speak(ground)
        for intent in list(ground.state.chores.values()):
            assert intent in ground.cancelled, "it is no longer requested"
            ground.end_chore(IntentKind.PROBE, PursuitResult.CANCELLED)
    assert len(probes(ground)) == 1
    ground.wait(PROBE_AGAIN_S, every=5)
    fall_silent(ground)
    assert len(probes(ground)) == 2


def test_a_node_that_never_reported_otherwise_is_not_probed() -> None:
    ground = Ground(probes=True, late=(NAME,))
    ground.wait(10, every=1)
    assert not probes(ground)


def _held(ground: Ground) -> None:
    ground.send_command(Verb.HOLD, NAME)


def _stopped(ground: Ground) -> None:
    ground.send_command(Verb.STOP)


def _labelled(ground: Ground) -> None:
    ground.nodes[NAME].labels = {"accelwatch_no_auto": "1"}


def _low(ground: Ground) -> None:
    ground.nodes[NAME].ceiling = "remedy"


def _site_low(ground: Ground) -> None:
    ground.settings = msgspec.structs.replace(ground.settings, ceiling="remedy")


def _foreign(ground: Ground) -> None:
    ground.nodes[NAME].hold_state = HoldState.FOREIGN


def _maintained(ground: Ground) -> None:
    ground.nodes[NAME].maintenance = True


def _known(ground: Ground) -> None:
    ground.nodes[NAME].answering = False


def _cannot(ground: Ground) -> None:
    ground.probes = False


def _unavailable(ground: Ground) -> None:
    ground.unavailable = "it hangs"


def _losing(ground: Ground) -> None:
    ground.step(seen=(JournalStatus(loss_risk="it is replicated asynchronously"),))


@pytest.mark.parametrize(
    "keep",
    [
        *(_held, _stopped, _labelled, _low, _site_low, _losing),
        *(_foreign, _maintained, _known, _cannot, _unavailable),
    ],
)
def test_it_is_not_probed_where_it_may_not_be_or_need_not(keep: Callable[[Ground], None]) -> None:
    ground = ground_of()
    keep(ground)
    ground.step()
    fall_silent(ground)
    assert not probes(ground)


def test_our_own_node_is_probed_too_and_one_without_a_job_is_left_to_the_action() -> None:
    ground = ground_of()
    ground.nodes[NAME].hold_state, ground.nodes[NAME].jobs = HoldState.OURS, ()
    ground.step()
    fall_silent(ground)
    assert len(probes(ground)) == 1


def test_what_was_shown_long_ago_says_nothing() -> None:
    ground = ground_of()
    ground.now += FRESH_S + 1
    ground.nodes[NAME].late = True
    ground.step(seen=(ground.nodes[NAME].status(ground.now),), look=False)
    assert not probes(ground)
    ground.step()
    assert len(probes(ground)) == 1


def test_of_many_that_fall_silent_some_are_probed_and_none_when_it_is_most() -> None:
    ground = ground_of()
    for name in list(ground.nodes)[: MOST_PROBES + 3]:
        ground.nodes[name].late = True
    ground.now += 1
    ground.step()
    assert len(probes(ground)) == MOST_PROBES
    ground.end_chore(IntentKind.PROBE, node=probes(ground)[0].node)
    ground.step()
    assert len(probes(ground)) == MOST_PROBES + 1
    storm = ground_of()
    for node in storm.nodes.values():
        node.late, node.agent = True, False
    storm.step(seen=tuple(node.status(storm.now) for node in storm.nodes.values()))
    assert not probes(storm)
