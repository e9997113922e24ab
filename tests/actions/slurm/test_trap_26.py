"""Trap 26: a node that is drained and still runs a job is not empty, and is not taken for empty."""

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import Achieved, Refusal, RefusalKind, Wait
from support.slurm.scontrol_lines import intent, node, propose

OURS = "accelwatch:inc-1:r x"


@pytest.mark.parametrize(
    "state",
    ["ALLOCATED+DRAIN", "MIXED+DRAIN", "COMPLETING+DRAIN", "ALLOCATED+DRAIN+NOT_RESPONDING"],
)
def test_trap_26_a_node_that_drains_is_not_rebooted_under_its_jobs(state: str) -> None:
    waits = propose(intent(IntentKind.REBOOT), {"node": node(state, OURS)})
    assert isinstance(waits, Wait)
    assert waits.text == "jobs still run on n1"


def test_trap_26_a_node_that_is_drained_and_empty_is_waited_for_no_longer() -> None:
    assert not isinstance(
        propose(intent(IntentKind.REBOOT), {"node": node("IDLE+DRAIN", OURS)}), Wait
    )


@pytest.mark.parametrize("state", ["ALLOCATED", "MIXED", "IDLE"])
def test_trap_26_a_node_that_a_person_has_undrained_is_not_rebooted(state: str) -> None:
    """Its mark may be there still: it takes work."""
    refusal = propose(intent(IntentKind.REBOOT), {"node": node(state, OURS)})
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.UNSAFE


@pytest.mark.parametrize("state", ["ALLOCATED+DRAIN", "MIXED+DRAIN"])
@pytest.mark.parametrize("reason", ["board swap", ""])
def test_trap_26_a_drain_of_somebody_else_under_a_job_is_not_undone(
    state: str, reason: str
) -> None:
    """As an operator has it that replaces the node once its job has ended."""
    for kind in (IntentKind.RELEASE, IntentKind.REBOOT, IntentKind.QUARANTINE):
        refusal = propose(intent(kind), {"node": node(state, reason)})
        assert isinstance(refusal, Refusal)
        assert refusal.kind is RefusalKind.FOREIGN


def test_trap_26_a_drain_of_ours_counts_while_its_jobs_run() -> None:
    held = propose(intent(IntentKind.QUARANTINE), {"node": node("ALLOCATED+DRAIN", OURS)})
    assert isinstance(held, Achieved)
