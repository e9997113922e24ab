"""What guards answer, and what of it a person's approval lifts."""

import msgspec
import pytest

from accelwatch.remediation.policy.guards.denial import (
    PERMIT,
    Answer,
    Denial,
    DenialKind,
    Permit,
    denials,
)

NEVER_LIFTED = (
    DenialKind.STOPPED,
    DenialKind.IDENTITY,
    DenialKind.FOREIGN,
    DenialKind.VETOED,
    DenialKind.BUDGET,
    DenialKind.DOMAIN_BUDGET,
    DenialKind.AVAILABLE,
    DenialKind.RATE,
    DenialKind.DATA,
    DenialKind.REMEDY_RUNNING,
    DenialKind.ATTEMPTS,
    DenialKind.OLD_EVIDENCE,
)


def test_all_denials_are_reported_in_the_order_in_which_they_were_evaluated() -> None:
    first = Denial(why=DenialKind.RATE, text="three this hour", until=100.0)
    second = Denial(why=DenialKind.BREAKER, text="open")
    assert denials([PERMIT, first, PERMIT, second]) == (first, second)
    assert denials([PERMIT]) == ()


@pytest.mark.parametrize("kind", NEVER_LIFTED)
def test_what_keeps_the_fleet_safe_is_not_lifted_by_an_approval(kind: DenialKind) -> None:
    assert not kind.lifted_by_approval


def test_what_waits_for_a_person_is_lifted_by_one() -> None:
    assert DenialKind.APPROVAL.lifted_by_approval


def test_a_word_of_a_person_does_not_pass_by_itself() -> None:
    staying = {kind for kind in DenialKind if not kind.passes_by_itself}
    assert {DenialKind.APPROVAL, DenialKind.DENIED, DenialKind.ATTEMPTS} <= staying
    assert not {DenialKind.RATE, DenialKind.STARTING, DenialKind.DATA} & staying


@pytest.mark.parametrize(
    "answer", [Permit(), Denial(why=DenialKind.RELEASE_RATE, text="3.2 of 3", until=7.5)]
)
def test_an_answer_can_be_written_down(answer: Answer) -> None:
    assert msgspec.json.decode(msgspec.json.encode(answer), type=Answer) == answer
