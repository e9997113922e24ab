"""How our mark looks on a real Slurm, and whether it is known again from what a person writes."""

import asyncio
from collections.abc import Callable

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import NodeObservation
from accelwatch.action.step import Achieved
from accelwatch.remediation.policy.guards.ownership import Imprint, Ownership, ownership
from support.slurm.action_on_cluster import Hand, imprint_of
from support.slurm.lab_cluster import WorkingSlurm

Hands = Callable[..., Hand]


def shown(hand: Hand) -> NodeObservation:
    """n1 as it is polled."""
    return next(one for one in asyncio.run(hand.action.observe_all()) if one.name == "n1")


def drained(hand: Hand) -> Imprint:
    hand.pursue(IntentKind.QUARANTINE, "n1")
    imprint = imprint_of(shown(hand))
    assert imprint is not None
    return imprint


def test_our_own_mark_is_known_again(slurm: WorkingSlurm, hand: Hands) -> None:
    one = hand()
    assert ownership(shown(one), None) is Ownership.OPEN
    imprint = drained(one)
    assert ownership(shown(one), imprint) is Ownership.OURS
    assert ownership(shown(one), None) is Ownership.ADOPTED


def test_a_person_who_appends_to_our_reason_has_the_node(slurm: WorkingSlurm, hand: Hands) -> None:
    one = hand()
    imprint = drained(one)
    slurm.scontrol("update", "node=n1", f"reason={imprint.reason} keep it, ana")
    assert ownership(shown(one), imprint) is Ownership.TAKEN_OVER


def test_a_person_who_resumes_it_overrides_us(slurm: WorkingSlurm, hand: Hands) -> None:
    one = hand()
    imprint = drained(one)
    slurm.scontrol("update", "node=n1", "state=resume")
    assert ownership(shown(one), imprint) is Ownership.OVERRIDDEN


def test_a_test_that_drains_it_anew_is_ours_once_it_was_looked_at(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    one = hand(tests={"well": ["/bin/true"]})
    drained(one)
    assert isinstance(one.pursue(IntentKind.TEST, "n1", test="well").ending, Achieved)
    anew = imprint_of(shown(one))
    assert ownership(shown(one), anew) is Ownership.OURS
