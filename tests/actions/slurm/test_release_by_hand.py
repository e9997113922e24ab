"""A node of a real Slurm is given back without a journal where its reason says that it is ours."""

import asyncio
import shlex
import time
from collections.abc import Callable, Sequence

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import NodeObservation
from accelwatch.base.clock import SystemClock
from accelwatch.remediation.execution.release_by_hand import NotReleasedError, release
from accelwatch.remediation.policy.guards.identity import Proof, ProofKind
from accelwatch.remediation.policy.state.changes import Command, Verb
from support.slurm.action_on_cluster import Hand
from support.slurm.lab_cluster import WorkingSlurm

Hands = Callable[..., Hand]


def released(hand: Hand, node: str) -> str:
    command = Command(
        verb=Verb.FORCE_RELEASE, by="kim", at=time.time(), node=node, reason="needed now"
    )

    def prove(_: Sequence[NodeObservation]) -> Proof:
        return Proof(node=node, name=node, kind=ProofKind.BOOT_ID)

    return asyncio.run(release({"lab": hand.action}, command, prove, SystemClock(), "10.0.0.7"))


def test_what_we_have_drained_takes_work_again(slurm: WorkingSlurm, hand: Hands) -> None:
    one = hand()
    one.pursue(IntentKind.QUARANTINE, "n1", token=7)
    assert "DRAIN" in slurm.node("n1")
    assert "takes work" in released(hand(), "n1")
    line = slurm.node("n1")
    assert "DRAIN" not in line
    assert "accelwatch" not in line


def test_what_a_person_has_drained_stays_and_slurms_command_is_printed(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    one = hand()
    one.pursue(IntentKind.QUARANTINE, "n1")
    slurm.scontrol("update", "node=n1", "state=drain", "reason=mine now")
    with pytest.raises(NotReleasedError, match="mine now") as refused:
        released(hand(), "n1")
    assert "Reason=mine now" in slurm.node("n1")
    command = str(refused.value).split("`")[1]
    assert command == "scontrol update nodename=n1 state=undrain"
    slurm.scontrol(*shlex.split(command)[1:])
    assert "DRAIN" not in slurm.node("n1")
