"""The proof that the hub and the scheduler mean one machine, and everything that is none."""

from typing import Any

import msgspec
import pytest

from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.remediation.policy.guards.denial import Denial, DenialKind
from accelwatch.remediation.policy.guards.identity import Machine, Proof, ProofKind, prove


def machine(node: str, **others: Any) -> Machine:
    usual: dict[str, Any] = {"host": node, "boot_id": f"boot-{node}"}
    return Machine(node=node, **{**usual, **others})


def seen(name: str, **others: Any) -> NodeObservation:
    usual: dict[str, Any] = {
        "address": name,
        "boot_id": f"boot-{name}",
        "hold_state": HoldState.OPEN,
    }
    return NodeObservation(name=name, **{**usual, **others})


def proven(
    ours: Machine,
    theirs: NodeObservation | list[NodeObservation],
    machines: list[Machine] | None = None,
    mapped: dict[str, str] | None = None,
) -> Proof | Denial:
    nodes = theirs if isinstance(theirs, list) else [theirs]
    return prove(ours, [ours] if machines is None else machines, nodes, mapped or {})


def reason_of(answer: Proof | Denial) -> str:
    assert isinstance(answer, Denial)
    assert answer.why is DenialKind.IDENTITY
    return answer.text


def test_host_name_and_boot_id_prove_it() -> None:
    answer = proven(machine("n1"), [seen("n2"), seen("n1")])
    assert answer == Proof(node="n1", name="n1", kind=ProofKind.BOOT_ID)


def test_host_name_and_system_uuid_prove_it() -> None:
    ours = machine("n1", boot_id="", system_uuid="4C4C4544-0032")
    theirs = seen("n1", boot_id="", system_uuid="4c4c4544-0032")
    assert proven(ours, theirs) == Proof(node="n1", name="n1", kind=ProofKind.SYSTEM_UUID)


def test_where_a_scheduler_reports_neither_the_boot_time_stands_in() -> None:
    ours = machine("n1", boot_time=1000.0)
    for boot_time, kind in ((1003.0, ProofKind.BOOT_TIME), (997.0, ProofKind.BOOT_TIME)):
        answer = proven(ours, seen("n1", boot_id="", boot_time=boot_time))
        assert isinstance(answer, Proof)
        assert answer.kind is kind
    for boot_time in (1003.1, 996.9):
        assert "booted 3 s apart" in reason_of(
            proven(ours, seen("n1", boot_id="", boot_time=boot_time))
        )


@pytest.mark.parametrize(
    ("ours", "theirs", "text"),
    [
        ({"boot_id": "other", "boot_time": 5.0}, {"boot_time": 5.0}, "the boot ids of it"),
        ({"boot_id": "", "system_uuid": "a"}, {"system_uuid": "b"}, "the system uuids of it"),
        (
            {"boot_id": "", "system_uuid": "a", "boot_time": 5.0},
            {"boot_id": "", "system_uuid": "b", "boot_time": 5.0},
            "the system uuids of it",
        ),
    ],
)
def test_what_both_report_and_is_another_proves_the_contrary(
    ours: dict[str, Any], theirs: dict[str, Any], text: str
) -> None:
    answer = reason_of(proven(machine("n1", **ours), seen("n1", **theirs)))
    assert f": {text} and of n1 differ." in answer


@pytest.mark.parametrize(
    ("ours", "theirs", "missing"),
    [
        ({"boot_id": ""}, {"boot_time": 5.0}, "the agent"),
        ({"boot_time": 5.0}, {"boot_id": ""}, "the scheduler"),
        ({"boot_id": ""}, {"boot_id": ""}, "the agent"),
        ({"boot_id": "", "system_uuid": "a", "boot_time": 5.0}, {}, "the scheduler"),
    ],
)
def test_without_anything_that_both_report_there_is_no_proof(
    ours: dict[str, Any], theirs: dict[str, Any], missing: str
) -> None:
    text = reason_of(proven(machine("n1", **ours), seen("n1", **theirs)))
    assert f"{missing} reports no boot id" in text
    assert "`n1: NAME` under remedy.nodes" in text


def test_two_nodes_that_have_swapped_their_names_are_nobody() -> None:
    ours = [machine("n1", boot_id="boot-n2"), machine("n2", boot_id="boot-n1")]
    for one in ours:
        assert "boot ids" in reason_of(proven(one, [seen("n1"), seen("n2")], ours))


def test_a_label_that_lies_is_found_out_by_the_host_name() -> None:
    lying = machine("n1", host="n2", boot_id="boot-n2")
    text = reason_of(proven(lying, [seen("n1"), seen("n2")]))
    assert "its host name is n2, and the scheduler has another n1" in text


def test_a_name_that_the_scheduler_does_not_use_lies_about_nobody() -> None:
    answer = proven(machine("gpu-7", host="n1", boot_id="boot-n1"), [seen("n1"), seen("n2")])
    assert answer == Proof(node="gpu-7", name="n1", kind=ProofKind.BOOT_ID)


def test_two_nodes_of_the_hub_that_report_one_machine_are_nobody() -> None:
    twice = [machine("n1"), machine("again", host="n1", boot_id="other")]
    assert "again reports the identity of the same machine" in reason_of(
        proven(twice[0], seen("n1"), twice)
    )
    cloned = [machine("n1"), machine("n2", boot_id="boot-n1")]
    assert "n2 reports the identity of the same" in reason_of(proven(cloned[0], seen("n1"), cloned))
    silent = [machine("n1"), machine("n2", host="", boot_id="")]
    assert isinstance(proven(silent[0], seen("n1"), silent), Proof)


def test_several_nodes_of_the_scheduler_on_one_host_are_not_distinguished() -> None:
    lab = [seen("n1", address="box"), seen("n2", address="box")]
    ours = machine("n1", host="box")
    assert "several nodes on box: n1, n2" in reason_of(proven(ours, lab))
    assert isinstance(proven(ours, lab, mapped={"n1": "n1"}), Proof)


@pytest.mark.parametrize(
    ("host", "address", "same"),
    [
        ("n1", "n1", True),
        ("N1", "n1.", True),
        ("n1", "n1.example.org", True),
        ("n1.example.org", "n1", True),
        ("n1.example.org", "n1.example.org", True),
        ("n1.a.org", "n1.a.org.", True),
        ("n1.a.org.", "n1.a.org", True),
        ("n1.a.org", "n1.b.org", False),
        ("n1.a.org", "n1.a", False),
        ("n1", "n10", False),
        ("n1", "n1x.example.org", False),
        ("n1", ".", False),
    ],
)
def test_host_names_in_full_and_short(host: str, address: str, same: bool) -> None:
    answer = proven(machine("x", host=host, boot_id="b"), seen("y", address=address, boot_id="b"))
    assert isinstance(answer, Proof) is same


def test_without_an_address_the_scheduler_reaches_a_node_by_its_name() -> None:
    assert isinstance(proven(machine("n1"), seen("n1", address="")), Proof)


def test_without_a_host_name_there_is_no_proof() -> None:
    assert "no accelwatch agent" in reason_of(proven(machine("n1", host=""), seen("n1")))
    assert "reaches no node by its host name n9" in reason_of(
        proven(machine("n1", host="n9"), seen("n1"))
    )


def test_a_pair_that_a_person_wrote_down_is_believed() -> None:
    bare = machine("gpu-7", host="", boot_id="")
    answer = proven(bare, seen("n1"), mapped={"gpu-7": "n1"})
    assert answer == Proof(node="gpu-7", name="n1", kind=ProofKind.MAP)
    assert isinstance(
        proven(machine("gpu-7"), seen("n1", boot_id=""), mapped={"gpu-7": "n1"}), Proof
    )


def test_a_pair_whose_boots_differ_is_not_believed() -> None:
    text = reason_of(proven(machine("gpu-7"), seen("n1"), mapped={"gpu-7": "n1"}))
    assert "their boot ids differ" in text


@pytest.mark.parametrize("nodes", [[], [seen("n1", hold_state=HoldState.MISSING)]])
def test_a_pair_with_a_node_that_is_not_there_is_not_believed(nodes: list[NodeObservation]) -> None:
    text = reason_of(proven(machine("gpu-7", boot_id=""), nodes, mapped={"gpu-7": "n1"}))
    assert "which the scheduler does not know" in text


def test_a_node_that_a_person_gave_to_another_is_not_proven_by_its_name() -> None:
    text = reason_of(proven(machine("n1"), seen("n1"), mapped={"gpu-7": "n1"}))
    assert "n1 stands for another node in remedy.nodes" in text


def test_the_answer_can_be_written_down() -> None:
    for answer in (proven(machine("n1"), seen("n1")), proven(machine("n1"), [])):
        data = msgspec.json.encode(answer)
        assert msgspec.json.decode(data, type=Proof | Denial) == answer
