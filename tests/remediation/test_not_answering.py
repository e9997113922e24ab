"""Jobs of a node whose scheduler's daemon does not answer: nothing is begun that cannot come true."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import HoldState, Observed
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import Fence
from accelwatch.remediation.policy.jobs.chores import name_of
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.small_fleet import JOB, Ground, job_policy

QUARANTINE, FENCE, MOVE = IntentKind.QUARANTINE, IntentKind.FENCE, IntentKind.MOVE_JOB


def quarantined(
    fence: Fence, answering: bool, original: Mapping[str, str] = MappingProxyType({})
) -> Ground:
    """A node with a job that was taken out while its agent was heard."""
    ground = Ground()
    ground.nodes["n03"].jobs = (JOB,)
    ground.step()
    ground.nodes["n03"].answering = answering
    ground.fault("n03", policy=job_policy(fence=fence))
    ground.end("n03", original=original)
    return ground


def test_its_job_waits_until_it_is_silent_on_both_paths_and_is_fenced_then() -> None:
    ground = quarantined(Fence.REQUIRE, answering=False)
    assert ground.kinds("n03") == [QUARANTINE]
    denial = ground.state.remedies["n03"].denial
    assert denial is not None
    assert "does not answer" in denial.text
    ground.nodes["n03"].agent = False
    ground.wait(50, every=5)
    assert ground.kinds("n03") == [QUARANTINE]
    ground.wait(30, every=5)
    assert ground.kinds("n03") == [QUARANTINE, FENCE]
    ground.end("n03")
    assert ground.kinds("n03") == [QUARANTINE, FENCE, MOVE]


def test_a_plan_says_whether_the_fence_waits_for_the_agent() -> None:
    ground = quarantined(Fence.REQUIRE, answering=False)
    texts = []
    for waits_s in (0.0, 80.0):
        ground.nodes["n03"].agent = not waits_s
        ground.wait(waits_s, every=5)
        steps = planned(ground.state, "n03", ground.now, ground.settings).steps
        (move,) = [one for one in steps if one.kind is MOVE]
        texts.append([denial.text for denial in move.in_the_way])
    fence = "n03 does not answer the scheduler, and has to be fenced first"
    assert texts == [[f"{fence}; that waits until its agent is silent too"], [fence]]


def test_its_job_goes_on_when_it_answers_again() -> None:
    ground = quarantined(Fence.REQUIRE, answering=False)
    ground.nodes["n03"].answering = True
    ground.step()
    assert ground.kinds("n03") == [QUARANTINE, MOVE]


@pytest.mark.parametrize(
    ("drained", "fenced", "kept"),
    [
        ({"states": "IDLE"}, {"states": "DOWN+DRAIN"}, {"states": "IDLE"}),
        ({}, {"states": "DOWN", "reason": "Not responding"}, {"states": "DOWN"}),
    ],
)
def test_a_release_knows_how_its_node_stood_before_us_the_oldest_word_counts(
    drained: dict[str, str], fenced: dict[str, str], kept: dict[str, str]
) -> None:
    ground = quarantined(Fence.REQUIRE, answering=False, original=drained)
    ground.nodes["n03"].agent = False
    ground.wait(80, every=5)
    ground.end("n03", original=fenced)
    assert ground.kinds("n03")[:2] == [QUARANTINE, FENCE]
    ground.send_command(Verb.FORCE_RELEASE, "n03")
    ground.end("n03", PursuitResult.CANCELLED)
    released = ground.flying["n03"]
    assert released.kind is IntentKind.RELEASE
    assert {**released.original, **kept} == released.original


@pytest.mark.parametrize(
    ("hold_state", "text"),
    [
        (HoldState.OPEN, "n03 takes work again"),
        (
            HoldState.DOWN,
            "n03 is not held by us any more; its scheduler keeps it down: Not responding",
        ),
    ],
)
def test_of_a_node_that_its_scheduler_keeps_down_nobody_says_that_it_takes_work(
    hold_state: HoldState, text: str
) -> None:
    ground = quarantined(Fence.REQUIRE, answering=True)
    ground.send_command(Verb.FORCE_RELEASE, "n03")
    ground.end("n03", PursuitResult.CANCELLED)
    node = ground.nodes["n03"]
    intent, node.hold_state, node.mark = ground.flying.pop("n03"), hold_state, None
    seen = msgspec.structs.replace(node.seen(), reason="Not responding")
    ended = Pursued(
        intent=intent,
        result=PursuitResult.ACHIEVED,
        time=ground.now,
        text="as the test says",
        observed=Observed(time=ground.now, node=seen),
    )
    ground.step(seen=(ended,))
    assert text in [note.text for note in ground.notes]


@pytest.mark.parametrize("fence", [Fence.REQUIRE, Fence.JOB])
def test_a_move_that_finds_it_silent_is_restarted_after_the_fence(fence: Fence) -> None:
    ground = quarantined(fence, answering=True)
    assert ground.kinds("n03") == [QUARANTINE, MOVE]
    ground.nodes["n03"].answering = ground.nodes["n03"].agent = False
    ground.end("n03", PursuitResult.REFUSED, RefusalKind.UNSAFE)
    ground.wait(40, every=5)
    assert ground.kinds("n03") == [QUARANTINE, MOVE]
    ground.wait(40, every=5)
    assert ground.kinds("n03") == [QUARANTINE, MOVE, FENCE]
    ground.end("n03")
    assert ground.kinds("n03") == [QUARANTINE, MOVE, FENCE, MOVE]
    ground.end("n03")
    assert ground.stage("n03") is not Stage.FAILED


def found_silent(ground: Ground) -> None:
    """A move is refused because the node does not answer, which nobody else has seen."""
    node, intent = ground.nodes["n03"], ground.flying.pop("n03")
    shown, node.answering = node.answering, False
    seen = Observed(time=ground.now, node=node.seen())
    node.answering = shown
    refused = Pursued(
        intent=intent,
        result=PursuitResult.REFUSED,
        time=ground.now,
        text="n03 does not answer: fence it first",
        refusal=RefusalKind.UNSAFE,
        observed=seen,
    )
    ground.step(seen=(refused,))


def test_a_move_that_finds_it_silent_is_not_restarted_on_what_was_shown_before() -> None:
    ground = quarantined(Fence.REQUIRE, answering=True)
    found_silent(ground)
    assert ground.kinds("n03") == [QUARANTINE, MOVE]
    ground.now += 1
    ground.step()
    assert ground.kinds("n03") == [QUARANTINE, MOVE, MOVE]


def test_it_is_fenced_as_soon_as_the_hub_has_given_it_up_and_ten_seconds_are_over() -> None:
    ground = quarantined(Fence.REQUIRE, answering=False)
    node = ground.nodes["n03"]
    node.agent, node.given_up = False, True
    ground.wait(9, every=3)
    assert ground.kinds("n03") == [QUARANTINE]
    ground.wait(3, every=3)
    assert ground.kinds("n03") == [QUARANTINE, FENCE]


def test_one_that_the_hub_has_given_up_is_not_fenced_while_its_scheduler_reaches_it() -> None:
    ground = quarantined(Fence.REQUIRE, answering=True)
    found_silent(ground)
    node = ground.nodes["n03"]
    node.agent, node.given_up = False, True
    ground.wait(120, every=3)
    assert FENCE not in ground.kinds("n03")


def test_one_of_which_only_the_agent_is_silent_is_fenced_after_a_minute() -> None:
    ground = quarantined(Fence.REQUIRE, answering=False)
    ground.nodes["n03"].agent = False
    ground.wait(55, every=5)
    assert FENCE not in ground.kinds("n03")
    ground.wait(15, every=5)
    assert FENCE in ground.kinds("n03")


@pytest.mark.parametrize("fence", [Fence.REQUIRE, Fence.JOB])
def test_a_job_is_moved_after_the_fence_however_often_its_node_was_found_silent(
    fence: Fence,
) -> None:
    ground = quarantined(fence, answering=True)
    for _ in range(3):
        found_silent(ground)
        ground.now += 1
        ground.step()
    assert ground.kinds("n03") == [QUARANTINE, *[MOVE] * 4]
    notes = [note.text for note in ground.notes if "waits for a fence" in note.text]
    assert len(notes) == 1
    ground.nodes["n03"].answering = ground.nodes["n03"].agent = False
    found_silent(ground)
    ground.wait(80, every=5)
    assert ground.kinds("n03")[-1] is FENCE
    ground.end("n03")
    assert ground.kinds("n03")[-2:] == [FENCE, MOVE]


def test_a_move_that_is_not_safe_for_another_reason_is_left_to_a_person() -> None:
    ground = quarantined(Fence.REQUIRE, answering=True)
    ground.end("n03", PursuitResult.REFUSED, RefusalKind.UNSAFE)
    ground.wait(120)
    assert ground.kinds("n03") == [QUARANTINE, MOVE]


def test_without_a_fence_a_move_that_finds_it_silent_is_left_to_a_person() -> None:
    ground = quarantined(Fence.NONE, answering=True)
    ground.nodes["n03"].answering = ground.nodes["n03"].agent = False
    ground.end("n03", PursuitResult.REFUSED, RefusalKind.UNSAFE)
    ground.wait(120)
    assert ground.kinds("n03") == [QUARANTINE, MOVE]


def test_a_move_that_was_refused_for_its_silence_is_no_resume_of_the_job() -> None:
    ground = quarantined(Fence.REQUIRE, answering=True)
    assert ground.state.retries.jobs[name_of(JOB)].resumed
    ground.nodes["n03"].answering = False
    ground.end("n03", PursuitResult.REFUSED, RefusalKind.UNSAFE)
    assert name_of(JOB) not in ground.state.retries.jobs


@pytest.mark.parametrize(("silent_s", "waits"), [(4, True), (11, False)])
def test_a_node_is_taken_out_when_it_has_been_silent_for_ten_seconds_however_late_that_is_known(
    silent_s: int, *, waits: bool
) -> None:
    ground = Ground()
    node = ground.nodes["n03"]
    node.answering = node.agent = False
    node.given_up = True
    ground.wait(silent_s, every=1)
    ground.fault("n03", policy=job_policy())
    assert ground.stage("n03") is Stage.UNREACHABLE
    ground.wait(2, every=1)
    assert (ground.stage("n03") is Stage.UNREACHABLE) is waits
    ground.wait(6, every=1)
    assert ground.kinds("n03") == [QUARANTINE]
