"""Spares are drawn and returned by their taint, each in one patch."""

from typing import Any

import pytest

from accelwatch.action.intent import IntentKind, JobKey
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step
from accelwatch_kubernetes.marks.hold import DRAWN, Drawn, drawn_of
from accelwatch_kubernetes.marks.patches import draw_patch, return_patch
from accelwatch_kubernetes.proposals.spares import propose_draw, propose_return
from accelwatch_kubernetes.steps import DRAW, RETURN
from actions.kubernetes.test_marks import quarantined, without_version
from support.kubernetes.nodes import (
    GPU,
    NOW,
    OPTIONS,
    Object,
    context,
    intent,
    node,
    parsed,
    stored,
)

IDLE = {"key": "accelwatch.io/spare", "effect": "NoSchedule"}
JOB = JobKey("cluster", "ml/Job/trainer", 1.0)


def idle() -> Object:
    return node("s1", taints=[GPU, IDLE])


def drawn(document: Object, incident: str = "inc-1", token: int = 3) -> Object:
    note = Drawn(
        incident=incident, token=token, by="accelwatch", job="x", since=NOW, uid="uid-of-s1"
    )
    return stored(document, draw_patch(parsed(document), note, OPTIONS))


def draw(spare: Object | None, **more: Any) -> Proposal:
    wanted = intent(IntentKind.DRAW_SPARE, spare="s1", job=JOB, **more)
    return propose_draw(wanted, context(node(), spare=spare))


def returned(spare: Object | None, **more: Any) -> Proposal:
    wanted = intent(IntentKind.RETURN_SPARE, spare="s1", **more)
    return propose_return(wanted, context(node(), spare=spare))


def test_an_idle_spare_is_drawn() -> None:
    step = draw(idle())
    assert isinstance(step, Step)
    assert (step.kind, step.arguments["node"], step.arguments["job"]) == (DRAW, "s1", str(JOB))


def test_one_patch_takes_its_taint_off_and_says_for_whom() -> None:
    after = drawn(idle())
    assert after["spec"]["taints"] == [GPU]
    note = drawn_of(parsed(after))
    assert note is not None
    assert (note.incident, note.job, note.since) == ("inc-1", "x", NOW)


def test_draw_and_return_leave_what_was_there() -> None:
    after = drawn(idle())
    back = stored(after, return_patch(parsed(after), OPTIONS), version="9")
    assert without_version(back) == without_version(idle())


def test_what_is_drawn_is_drawn() -> None:
    assert isinstance(draw(drawn(idle())), Achieved)
    other = draw(drawn(idle(), incident="inc-2"))
    assert isinstance(other, Refusal)
    assert other.kind is RefusalKind.FOREIGN


def test_a_node_without_the_taint_is_no_spare() -> None:
    refused = draw(node("s1"))
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.IMPOSSIBLE
    missing = draw(None)
    assert isinstance(missing, Refusal)
    assert missing.kind is RefusalKind.IMPOSSIBLE


@pytest.mark.parametrize("spare", [node("s1", taints=[IDLE], cordoned=True), quarantined(idle())])
def test_a_spare_that_is_held_is_not_drawn(spare: Object) -> None:
    refused = draw(spare)
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.FOREIGN


def test_a_spare_is_returned_by_whoever_is_done_with_it() -> None:
    for spare in (drawn(idle()), drawn(idle(), incident="inc-2"), node("s1")):
        step = returned(spare)
        assert isinstance(step, Step)
        assert step.kind == RETURN
    assert isinstance(returned(idle()), Achieved)


def test_a_spare_of_a_newer_engine_or_another_hub_stays_drawn() -> None:
    newer = returned(drawn(idle(), token=4))
    assert isinstance(newer, Refusal)
    theirs = drawn(idle())
    theirs["metadata"]["annotations"][DRAWN] = theirs["metadata"]["annotations"][DRAWN].replace(
        '"by":"accelwatch"', '"by":"hub-b"'
    )
    refused = returned(theirs)
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.FOREIGN
