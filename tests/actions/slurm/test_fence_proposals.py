"""A node that hangs under a job: what is done before Slurm knows, and in which order it is fenced."""

from typing import Any

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import Observed
from accelwatch.action.step import Proposal, Refusal, RefusalKind, Step
from accelwatch_slurm.proposals.fencing import Answered, is_lost, proof_of
from accelwatch_slurm.texts.node_text import node_of
from accelwatch_slurm.texts.observed_context import observed_context_of
from support.slurm.scontrol_lines import KEY, NOW, intent, job, kind_of, node, propose

OURS = "accelwatch:inc-1:r x"
ANSWERS = node("IDLE+COMPLETING+DRAIN", OURS)
SILENT = node("IDLE+COMPLETING+DRAIN+NOT_RESPONDING", OURS)
HELD = "accelwatch:inc-1:held"
SWITCH = {"power_off": ["/bin/off", "{node}"], "power_state": ["/bin/is_off", "{node}"]}


def ending(**more: str) -> str:
    """A job that was requeued and has not left its nodes."""
    fields = {"Restarts": "1", "RunTime": "00:00:00"}
    return job("COMPLETING", **{**fields, **more})


READY = {"Priority": "0", "ExcNodeList": "n1", "AdminComment": HELD}


def moved(bad: str, line: str, *, lingering: str = "for 2 s", **more: Any) -> Proposal:
    shown = {"bad": bad, "job": line, "lingering": lingering}
    return propose(intent(IntentKind.MOVE_JOB, job=KEY, **more), shown)


def fenced(line: str = "", own: str = SILENT, off: str = "", **more: Any) -> Proposal:
    options = more.pop("options", SWITCH)
    shown = {"node": own, "bad": own, "jobs": line, "off": off, "proof": off}
    return propose(intent(IntentKind.FENCE, **more), shown, **options)


def test_a_job_that_lingers_is_held_and_steered_before_its_node_is_known_to_be_silent() -> None:
    assert kind_of(moved(ANSWERS, ending(), lingering="")) == "Wait"
    held = moved(ANSWERS, ending())
    assert isinstance(held, Step)
    assert (held.kind, held.original) == ("hold", {"priority": "5"})
    steered = moved(ANSWERS, ending(Priority="0", AdminComment=HELD))
    assert isinstance(steered, Step)
    assert steered.kind == "steer"
    assert steered.arguments == {"job": "1", "ExcNodeList": "n1"}
    assert kind_of(moved(ANSWERS, ending(**READY))) == "Wait"


def test_a_job_that_lingers_and_fences_itself_or_is_over_is_left_alone() -> None:
    assert kind_of(moved(ANSWERS, ending(), fenced_by_job=True)) == "Wait"
    assert kind_of(moved(ANSWERS, ending(RunTime="00:00:02"))) == "Wait"


def test_a_job_whose_node_is_found_silent_is_held_and_not_steered_any_more() -> None:
    assert kind_of(moved(SILENT, ending())) == "hold"
    refused = moved(SILENT, ending(Priority="0", AdminComment=HELD))
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.UNSAFE


def test_the_power_of_a_silent_node_goes_before_it_is_set_down() -> None:
    assert kind_of(fenced(ending())) == "hold"
    assert kind_of(fenced(ending(**READY))) == "power_off"
    assert kind_of(fenced("")) == "power_off"
    assert kind_of(fenced(ending(**READY), off="n1")) == "set_down"


@pytest.mark.parametrize(
    "shown",
    [
        {"options": {}},
        {"fenced_by_job": True},
        {"own": ANSWERS},
        {"own": node("IDLE+COMPLETING+NOT_RESPONDING", OURS)},
        {"line": "\n".join((ending(**READY), job("RUNNING", Requeue="0", JobId="2")))},
    ],
)
def test_it_is_set_down_first_where_that_is_not_safe_or_not_to_be_had(
    shown: dict[str, Any],
) -> None:
    assert kind_of(fenced(**{"line": ending(**READY), **shown})) == "set_down"


@pytest.mark.parametrize(
    ("changed", "off", "jobs"),
    [
        ({}, "n1", "1"),
        ({}, "", None),
        ({"ExcNodeList": "n9"}, "n1", None),
        ({"AdminComment": "accelwatch:inc-2:held"}, "n1", None),
        ({"HetJobId": "1", "HetJobOffset": "0"}, "n1", None),
        ({"RunTime": "00:00:09"}, "n1", None),
    ],
)
def test_with_it_go_the_jobs_that_wait_for_nothing_else(
    changed: dict[str, str], off: str, jobs: str | None
) -> None:
    options = SWITCH if off else {}
    step = fenced(ending(**{**READY, **changed}), off=off, options=options)
    assert isinstance(step, Step)
    assert step.kind == "set_down"
    assert step.arguments.get("jobs") == jobs
    assert step.arguments.get("word") == (HELD if jobs else None)


def test_a_job_of_somebody_who_holds_it_himself_is_not_let_go() -> None:
    ready = ending(**{**READY, "Priority": "7"})
    assert kind_of(fenced(ready, off="n1")) == "hold"


@pytest.mark.parametrize(("added", "kind"), [("", "Wait"), (" : Not responding", "set_down")])
def test_what_slurm_set_down_under_an_old_reason_of_a_fence_is_not_fenced(
    added: str, kind: str
) -> None:
    shown = node("DOWN+NOT_RESPONDING", f"accelwatch:inc-1:r fenced x{added}")
    assert kind_of(fenced(own=shown, options={})) == kind


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        (SILENT, True),
        (ANSWERS, False),
        (node("IDLE+NOT_RESPONDING", OURS), False),
        (node("IDLE+DRAIN+NOT_RESPONDING", "board swap"), False),
    ],
)
def test_lost_is_what_we_hold_and_slurm_knows_to_be_silent(line: str, *, lost: bool) -> None:
    shown = node_of(line)
    assert shown is not None
    assert is_lost(shown) is lost


@pytest.mark.parametrize(
    ("line", "off", "proof"),
    [
        (SILENT, "n1", "its power is off"),
        (SILENT, "", ""),
        (ANSWERS, "n1", ""),
        (node("DOWN", "accelwatch:inc-1:r fenced x"), "n1", "its power is off"),
    ],
)
def test_a_node_without_power_runs_nothing_set_down_or_not(line: str, off: str, proof: str) -> None:
    context = observed_context_of(Observed(time=NOW, own={"bad": line, "off": off}), "extra")
    assert proof_of(context, "n1", Answered(for_s=0.0)) == proof
