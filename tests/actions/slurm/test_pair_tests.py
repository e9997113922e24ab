"""A test of a node with another: both are kept for it, and its figure comes back; on a real Slurm."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import Achieved, Refusal, RefusalKind
from accelwatch_slurm.texts.test_output import command_of, output_in, script_of
from support.slurm.action_on_cluster import Hand
from support.slurm.lab_cluster import WorkingSlurm, until
from support.slurm.scontrol_lines import NOW, intent, kind_of, node, propose

Hands = Callable[..., Hand]

# Prints which nodes the test has, then the figure.
PAIR = [
    "/bin/sh",
    "-c",
    """echo "$SLURM_JOB_NODELIST is {node} with {peer}" >&2
    [ "$SLURM_JOB_NUM_NODES" = 2 ] || exit 3
    echo '{"value": 1.5e9, "unit": "bytes_per_second"}'""",
]
SLOW = ["/bin/sh", "-c", "echo fine so far; echo 'n2: link down' >&2; exit 4"]
NCCL = [
    "/bin/sh",
    "-c",
    "printf '# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 46.8313 \n#\n'",
]
RESERVED = f"ReservationName=accelwatch-verify-n1 StartTime=1 EndTime={NOW + 60:.0f} Nodes=n[1-2]"


def test_both_nodes_are_kept_and_the_figure_comes_back(slurm: WorkingSlurm, hand: Hands) -> None:
    one = hand(tests={"pair": PAIR, "slow": SLOW, "nccl": NCCL, "mute": ["/bin/true"]})
    one.pursue(IntentKind.QUARANTINE, "n1")
    passed = one.pursue(IntentKind.TEST, "n1", peer="n2", test="pair", asked=31.0)
    assert passed.kinds == ["reserve", "undrain", "run_test", "drain", "delete_reservation"]
    assert isinstance(passed.ending, Achieved)
    measured = passed.ending.measured
    assert measured is not None
    assert (measured.value, measured.unit) == (1.5e9, "bytes_per_second")
    assert "is n1 with n2" in measured.command
    assert ("DRAIN" in slurm.node("n1"), "DRAIN" in slurm.node("n2")) == (True, False)
    nccl = one.pursue(IntentKind.TEST, "n1", peer="n2", test="nccl", asked=32.0)
    assert isinstance(nccl.ending, Achieved)
    assert nccl.ending.measured is not None
    assert nccl.ending.measured.value == pytest.approx(46.8313e9)
    mute = one.pursue(IntentKind.TEST, "n1", peer="n2", test="mute", asked=33.0)
    assert isinstance(mute.ending, Achieved)
    assert mute.ending.measured is None
    slow = one.pursue(IntentKind.TEST, "n1", peer="n2", test="slow", asked=34.0)
    assert isinstance(slow.ending, Refusal)
    assert slow.ending.text == "slow on n1 and n2: failed, exit code 4:0: n2: link down"
    assert "accelwatch-verify" not in slurm.scontrol("show", "reservations")


def test_a_peer_with_a_job_is_left_alone(slurm: WorkingSlurm, hand: Hands) -> None:
    one = hand(tests={"pair": PAIR})
    one.pursue(IntentKind.QUARANTINE, "n1")
    slurm.submit("--nodelist=n2", "--wrap=sleep 60")
    until(lambda: "ALLOCATED" in slurm.node("n2") or "MIXED" in slurm.node("n2"), "a job on n2")
    refused = one.pursue(IntentKind.TEST, "n1", peer="n2", test="pair", asked=41.0)
    assert isinstance(refused.ending, Refusal)
    assert (refused.kinds, refused.ending.kind) == ([], RefusalKind.BUSY)
    assert refused.ending.text == "n2 got a job before pair could begin; nothing was tested"
    assert "DRAIN" in slurm.node("n1")


def _proposed(state: str, *, kept: bool, busy: str, **more: Any) -> str:
    own = {"node": node(state, "accelwatch:inc-1:r x" if "DRAIN" in state else "", MARK)}
    own |= {"reservations": RESERVED} if kept else {}
    tests = {"pair": PAIR}
    wanted = intent(IntentKind.TEST, test="pair", peer="n2", **more)
    return kind_of(propose(wanted, {**own, "busy": busy}, tests=tests))


MARK = '{"accelwatch":{"i":"inc-1","t":2,"since":1.0}}'


@pytest.mark.parametrize(
    ("state", "kept", "busy", "proposed"),
    [
        ("IDLE+DRAIN", False, "", "reserve"),
        ("IDLE+DRAIN", True, "", "undrain"),
        ("IDLE", True, "", "run_test"),
        # A job came to the peer meanwhile: what was opened is closed before it is given back.
        ("IDLE", True, "n2", "drain"),
        ("IDLE+DRAIN", True, "n2", "delete_reservation"),
        ("IDLE+DRAIN", False, "n2", "Refusal"),
    ],
)
def test_the_node_is_closed_again_before_its_reservation_goes(
    state: str, kept: bool, busy: str, proposed: str
) -> None:
    assert _proposed(state, kept=kept, busy=busy) == proposed


@pytest.mark.parametrize(
    ("kept", "busy", "proposed"),
    [(False, "", "reserve"), (True, "", "run_test"), (True, "n1", "delete_reservation")],
)
def test_an_idle_node_that_gets_a_job_is_not_tested(kept: bool, busy: str, proposed: str) -> None:
    assert _proposed("IDLE", kept=kept, busy=busy, spare="n1") == proposed


@pytest.mark.parametrize("comment", ["", "mine", "accelwatch:output:%%%", "accelwatch:output:YQ"])
def test_a_comment_that_has_no_output_of_ours_is_no_figure(comment: str) -> None:
    assert output_in(comment) == ""


def test_names_are_handed_to_the_test_and_never_to_a_shell() -> None:
    argv: Sequence[str] = command_of(["/bin/t", "{node}:{peer}", "$(x)"], "n1", "n2")
    assert argv == ["/bin/t", "n1:n2", "$(x)"]
    assert "/bin/t n1:n2 '$(x)'" in script_of(argv, "/usr/bin/scontrol")
