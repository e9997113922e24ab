"""Nodes that Slurm itself sets down because their slurmd is silent: while we hold them, or before."""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.action.step import Achieved, ReportStatus, Step, Wait
from accelwatch.remediation.policy.guards.ownership import Ownership, ownership
from support.actions.pursuits import committed
from support.slurm.action_on_cluster import Hand, imprint_of
from support.slurm.lab_cluster import WorkingSlurm, until, working_slurm

NAMES = ("n1", "n2", "n3")
HELD, SILENT, NEVER_HELD = NAMES


@pytest.fixture(scope="module")
def given_up() -> Iterator[WorkingSlurm]:
    """A controller that gives silent nodes up after seconds, and has: two that we hold, one that we do
    not. The slurmd of the first answers again.
    """
    with (
        tempfile.TemporaryDirectory(prefix="slurm") as name,
        working_slurm(Path(name), names=NAMES, slurmd_timeout_s=3, message_timeout_s=2) as slurm,
        contextlib.ExitStack() as silent,
    ):
        one = Hand(slurm)
        for node in (HELD, SILENT):
            one.pursue(IntentKind.QUARANTINE, node)
        held = imprint_of(shown(one, HELD))
        back = silent.enter_context(contextlib.ExitStack())
        back.enter_context(slurm.stopped(f"slurmd.{HELD}"))
        for node in (SILENT, NEVER_HELD):
            silent.enter_context(slurm.stopped(f"slurmd.{node}"))
        until(lambda: all(" State=DOWN" in slurm.node(node) for node in NAMES), "Slurm gives up")
        assert ownership(shown(one, HELD), held) is Ownership.OURS
        back.close()
        asyncio.run(one.action.close())
        yield slurm


@pytest.fixture
def one(given_up: WorkingSlurm) -> Iterator[Hand]:
    hand = Hand(given_up)
    yield hand
    asyncio.run(hand.action.close())


def shown(hand: Hand, node: str) -> NodeObservation:
    return {seen.name: seen for seen in asyncio.run(hand.action.observe_all())}[node]


def test_a_node_of_ours_that_slurm_gave_up_takes_work_again_when_its_slurmd_answers(
    given_up: WorkingSlurm, one: Hand
) -> None:
    assert "DRAIN" in given_up.node(HELD)
    released = one.pursue(IntentKind.RELEASE, HELD)
    assert isinstance(released.ending, Achieved)
    assert released.kinds[-1] == "resume"
    until(lambda: " State=IDLE " in given_up.node(HELD), "it takes work")
    assert "accelwatch" not in given_up.node(HELD)
    with given_up.stopped(f"slurmd.{HELD}"):
        until(lambda: " State=DOWN" in given_up.node(HELD), "Slurm gives it up once more")
        again = shown(one, HELD)
    assert (again.hold_state, again.annotation, again.reason) == (
        HoldState.DOWN,
        None,
        "Not responding",
    )


def test_a_node_of_ours_whose_slurmd_stays_silent_stays_down_and_says_what_mends_it(
    given_up: WorkingSlurm, one: Hand
) -> None:
    wanted = one.intent(IntentKind.RELEASE, SILENT)
    proposed = one.action.propose(wanted, asyncio.run(one.action.observe(wanted)))
    assert isinstance(proposed, Step)
    assert (proposed.kind, proposed.arguments["keep"]) == ("undrain", "yes")
    asyncio.run(one.action.perform(proposed, committed(wanted)))
    waits = one.action.propose(wanted, asyncio.run(one.action.observe(wanted)))
    assert isinstance(waits, Wait)
    assert "systemctl restart slurmd" in waits.text
    assert shown(one, SILENT).hold_state is HoldState.OURS
    assert shown(one, SILENT).annotation is not None
    # It had answered when that was decided.
    late = Step(
        kind="resume",
        arguments={"node": SILENT},
        precondition={"incident": "inc-1", "reason": shown(one, SILENT).reason},
    )
    report = asyncio.run(one.action.perform(late, committed(wanted)))
    assert (report.status, "does not answer" in report.text) == (ReportStatus.RETRY, True)
    assert " State=DOWN" in given_up.node(SILENT)
    os.kill(given_up.pid(f"slurmd.{SILENT}"), signal.SIGKILL)
    given_up.start_node(SILENT)
    until(lambda: "NOT_RESPONDING" not in given_up.node(SILENT), "Slurm hears its slurmd")
    released = one.pursue(IntentKind.RELEASE, SILENT)
    assert (released.kinds, isinstance(released.ending, Achieved)) == (["resume"], True)


def test_a_node_that_slurm_had_given_up_before_us_stays_down_with_slurms_own_reason(
    given_up: WorkingSlurm, one: Hand
) -> None:
    assert shown(one, NEVER_HELD).hold_state is HoldState.DOWN
    fenced = one.pursue(IntentKind.FENCE, NEVER_HELD, fenced_by_job=True)
    assert fenced.kinds == ["set_down"]
    assert "Reason=accelwatch:inc-1:" in given_up.node(NEVER_HELD)
    released = one.pursue(IntentKind.RELEASE, NEVER_HELD, original=fenced.original)
    assert released.kinds == ["leave_down"]
    assert isinstance(released.ending, Achieved)
    assert "Slurm itself keeps it down: Not responding" in released.ending.text
    line = given_up.node(NEVER_HELD)
    assert " State=DOWN" in line
    assert "Reason=Not responding [" in line
    assert "accelwatch" not in line
    assert shown(one, NEVER_HELD).hold_state is HoldState.DOWN
