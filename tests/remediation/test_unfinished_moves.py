"""A move that ends before its job runs elsewhere: what it has changed is given back with the node."""

import pytest

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import HoldState
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import Fence
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.pursued import PursuitResult
from support.remediation.small_fleet import JOB, Ground, job_policy

MOVE, RESTORE = IntentKind.MOVE_JOB, IntentKind.RESTORE_JOB
STEERED = {"exclude": "n09", "require": "", "reservation": ""}


def moving(fence: Fence = Fence.REQUIRE) -> Ground:
    """A node is out, and its job is being moved."""
    ground = Ground()
    ground.nodes["n03"].jobs = (JOB,)
    ground.step()
    ground.fault("n03", policy=job_policy(fence=fence))
    ground.end("n03")
    assert ground.flying["n03"].kind is MOVE
    return ground


def fencing() -> Ground:
    """A move has changed its job when it finds the node silent, which is being fenced now."""
    ground = moving()
    ground.nodes["n03"].answering = ground.nodes["n03"].agent = False
    ground.end("n03", PursuitResult.REFUSED, RefusalKind.UNSAFE, original=STEERED)
    ground.wait(80, every=5)
    assert ground.flying["n03"].kind is IntentKind.FENCE
    return ground


def given_back(ground: Ground) -> list[Intent]:
    """The restores after a person has released the node."""
    ground.send_command(Verb.FORCE_RELEASE, "n03")
    while "n03" in ground.flying:
        ended = (
            PursuitResult.CANCELLED if ground.flying["n03"].kind is MOVE else PursuitResult.ACHIEVED
        )
        ground.end("n03", ended)
    return [intent for intent in ground.started if intent.kind is RESTORE]


@pytest.mark.parametrize(
    ("ending", "refusal"),
    [
        (PursuitResult.REFUSED, RefusalKind.OVERRIDDEN),
        (PursuitResult.REFUSED, RefusalKind.IMPOSSIBLE),
        (PursuitResult.FAILED, None),
        (PursuitResult.CANCELLED, None),
    ],
)
def test_what_it_has_changed_is_put_back(
    ending: PursuitResult, refusal: RefusalKind | None
) -> None:
    ground = moving()
    ground.end("n03", ending, refusal, original=STEERED)
    (restore,) = given_back(ground)
    assert (restore.job, dict(restore.original)) == (JOB, STEERED)


def test_one_that_has_changed_nothing_leaves_nothing_to_put_back() -> None:
    ground = moving()
    ground.end("n03", PursuitResult.REFUSED, RefusalKind.NOT_ALLOWED)
    assert given_back(ground) == []


def test_one_whose_end_is_not_known_is_put_back_once_it_is() -> None:
    ground = moving()
    flying = ground.flying["n03"]
    ground.end("n03", PursuitResult.UNKNOWN, original=STEERED)
    ground.flying["n03"] = flying
    ground.end("n03", PursuitResult.REFUSED, RefusalKind.OVERRIDDEN, original=STEERED)
    (restore,) = given_back(ground)
    assert dict(restore.original) == STEERED


def test_one_that_a_person_waits_for_no_more_is_put_back_as_far_as_it_is_known() -> None:
    ground = moving()
    ground.end("n03", PursuitResult.UNKNOWN)
    ground.send_command(Verb.RETRY, "n03")
    (restore,) = given_back(ground)
    assert (restore.job, dict(restore.original)) == (JOB, {})


def test_one_of_a_node_that_somebody_has_taken_over_is_put_back_when_it_ends() -> None:
    ground = moving()
    ground.nodes["n03"].hold_state = HoldState.FOREIGN
    ground.step()
    ground.end("n03", PursuitResult.CANCELLED, original=STEERED)
    (restore,) = [one for one in ground.started if one.kind is RESTORE]
    assert dict(restore.original) == STEERED


@pytest.mark.parametrize(("original", "restores"), [(STEERED, [STEERED]), ({}, [])])
def test_one_of_a_node_that_a_person_has_forgotten_is_put_back_when_it_ends(
    original: dict[str, str], restores: list[dict[str, str]]
) -> None:
    ground = moving()
    ground.send_command(Verb.FORGET, "n03")
    ground.end("n03", PursuitResult.CANCELLED, original=original)
    assert [dict(one.original) for one in ground.started if one.kind is RESTORE] == restores


def test_what_the_first_of_two_moves_has_changed_is_put_back_after_the_second() -> None:
    ground = fencing()
    ground.end("n03")
    assert ground.flying["n03"].kind is MOVE
    ground.end("n03", original={"exclude": "n03,n09", "more": "x"})
    (restore,) = given_back(ground)
    assert dict(restore.original) == {**STEERED, "more": "x"}


def test_a_job_that_a_fence_strands_is_put_back_with_what_its_move_had_changed() -> None:
    ground = fencing()
    (restore,) = given_back(ground)
    assert (restore.job, dict(restore.original)) == (JOB, STEERED)


def test_the_lists_of_a_moved_job_are_put_back_before_its_node_takes_work() -> None:
    ground = moving()
    ground.end("n03", moved_to=("n04",), original=STEERED)
    (restore,) = given_back(ground)
    assert (restore.job, dict(restore.original)) == (JOB, STEERED)
    kinds = ground.kinds("n03")
    assert kinds.index(RESTORE) < kinds.index(IntentKind.RELEASE)
