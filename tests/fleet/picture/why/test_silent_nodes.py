"""Nodes that do not answer: many are one sentence, and what is known of a device or job comes first."""

from collections.abc import Mapping
from datetime import datetime

import msgspec
import pytest

from accelwatch.alerting.evaluation.documents import EvidenceNote
from accelwatch.fleet.picture.why.answer import Answer, answer
from accelwatch.fleet.picture.why.observed_state import ObservedState, observed_fleet, with_node
from accelwatch.fleet.picture.why.subject import subject_of
from accelwatch.fleet.picture.why.troubles import troubles
from accelwatch.fleet.wire import IncidentNow
from accelwatch.schema.snapshot import ReadFailure
from accelwatch.schema.status.verdict import CHECK_COLLECTION, REMEDIES
from support.dashboards.fleets import Faults, fleet_view
from support.incidents.incident_documents import incident_now
from support.incidents.incident_samples import incident
from support.machines import composed as machines
from support.machines.composed import NOW

# Has all sixteen devices of n001 and n002.
JOB = "48100"
REFUSED = "cannot connect: Connection refused"
WHOLE = "check the hub's network or the agents' roll-out first"
ALL_DOWN = {f"n{number:03d}": "down" for number in range(1, 5)}
# How long ago a node that is down last answered.
AGE_S = 372.0


def observed(
    faults: Faults | None = None, *incidents: IncidentNow, nodes: int = 4
) -> ObservedState:
    view = fleet_view(nodes, faults=faults)
    known = [
        msgspec.structs.replace(one, why=REFUSED) if one.state in ("down", "never") else one
        for one in view.nodes
    ]
    return observed_fleet(msgspec.structs.replace(view, nodes=known, incidents=incidents))


def answer_to(known: ObservedState, what: str = "") -> Answer:
    return answer(known, subject_of(known, what))


def clock(known: ObservedState) -> str:
    age_s = max(one.age_s or 0.0 for one in known.nodes.values())
    return datetime.fromtimestamp(NOW - age_s).astimezone().strftime("%H:%M:%S")


def of_silence(nodes: tuple[str, ...], **parts: object) -> IncidentNow:
    """An incident because these do not answer."""
    one = incident_now(incident(7, node=nodes[0], title="A node is silent"))
    note = EvidenceNote(
        signal="node_state",
        text="node_state is down",
        value="down",
        expected=None,
        since=None,
        source="",
        trusted=True,
    )
    document = msgspec.structs.replace(
        one.incident,
        node="" if len(nodes) > 1 else nodes[0],
        nodes=nodes,
        evidence=(note,),
        device="",
    )
    return msgspec.structs.replace(one, incident=msgspec.structs.replace(document, **parts))


def test_a_fleet_that_is_down_is_one_sentence() -> None:
    known = observed(ALL_DOWN)
    result = answer_to(known)
    assert result.sentence == (f"all 4 nodes unreachable since {clock(known)}: connection refused.")
    assert (result.remedy, result.others, result.where) == (WHOLE, 0, "4 nodes")


def test_two_nodes_are_shown_one_by_one() -> None:
    result = answer_to(observed({"n001": "down", "n002": "down"}))
    assert result.sentence.startswith("n001 has been down for 6 min: cannot connect")
    assert result.others == 1


def test_what_else_is_wrong_is_counted_beside_an_outage() -> None:
    down = dict.fromkeys(("n001", "n002", "n003"), "down")
    assert answer_to(observed(down | {"n004/1": "lost"})).others == 1


def test_a_node_of_an_outage_is_shown_as_one_of_many() -> None:
    known = observed(ALL_DOWN)
    result = answer_to(known, "n003")
    assert result.sentence == f"n003 has been down for 6 min, one of 4 nodes: {REFUSED}."
    assert result.evidence == (f"all 4 nodes unreachable since {clock(known)}: connection refused",)
    assert result.remedy == WHOLE


def test_a_device_starts_with_its_own_incident_while_its_node_is_silent() -> None:
    slot = next(one for one in observed().devices if (one.node, one.index) == ("n003", 3))
    xid = incident_now(incident(3, node="n003", title="GPU has fallen off the bus"), device=slot.id)
    named = msgspec.structs.replace(xid.incident, device_name=slot.name)
    known = observed({"n003": "down"}, msgspec.structs.replace(xid, incident=named))
    result = answer_to(known, "n003/3")
    assert result.sentence.startswith("n003/nvidia3: GPU has fallen off the bus, for ")
    assert result.sentence.endswith(f"; n003 has been down for 6 min: {REFUSED}.")
    assert (result.others, result.incident) == (0, xid.incident.id)


def test_a_device_that_was_lost_before_its_node_fell_silent_is_shown_as_lost() -> None:
    known = observed({"n001": "down"})
    slot = next(one for one in known.devices if (one.node, one.index) == ("n001", 3))
    lost = machines.lost_view(3)
    device = msgspec.structs.replace(lost.device, id=slot.id)
    lost = msgspec.structs.replace(lost, device=device, state_since=NOW - 18)
    failure = ReadFailure(backend="nvidia", device_id=slot.id, message="NVML_ERROR_GPU_IS_LOST")
    own = machines.snapshot(lost, errors=(failure,))
    result = answer_to(with_node(known, "n001", own, silent=f"n001 is down: {REFUSED}"), "n001/3")
    assert result.sentence == (
        "n001/nvidia3 has been lost for 18 s: NVML_ERROR_GPU_IS_LOST;"
        f" n001 has been down for 6 min: {REFUSED}."
    )


def test_a_device_of_which_nothing_is_wrong_is_shown_with_its_job_and_its_node() -> None:
    result = answer_to(observed({"n001": "down"}), "n001/3")
    assert result.sentence == (
        f"n001/nvidia3 (job {JOB}) was last read 6 min ago: n001 has been down for 6 min: {REFUSED}."
    )
    assert result.wrong


def test_a_job_none_of_whose_nodes_answers_is_not_shown_as_running() -> None:
    known = observed({"n001": "down", "n002": "down"})
    result = answer_to(known, JOB)
    assert result.sentence == (
        f"none of the 2 nodes of job {JOB} of ada has answered since {clock(known)}: connection"
        " refused; whether it still runs is unknown."
    )
    assert result.others == 0


@pytest.mark.parametrize(
    ("state", "start"), [("down", "has answered since"), ("never", "has ever answered:")]
)
def test_the_cause_of_the_silence_of_a_job_is_shown_as_it_is(state: str, start: str) -> None:
    known = observed({"n001": "down", "n002": "down"})
    cause = "the certificate was never valid, and has not answered a check"
    silent = {
        name: msgspec.structs.replace(node, state=state, reason=cause)
        for name, node in known.nodes.items()
        if name in ("n001", "n002")
    }
    known = msgspec.structs.replace(known, nodes={**known.nodes, **silent})
    result = answer_to(known, JOB).sentence
    assert result.startswith(f"none of the 2 nodes of job {JOB} of ada {start}")
    assert cause in result


def test_a_job_one_of_whose_nodes_answers_goes_on() -> None:
    assert answer_to(observed({"n001": "down"}), JOB).sentence.startswith(
        f"job {JOB} of ada is still running, but n001"
    )


def test_a_job_on_one_node_that_is_silent() -> None:
    known = observed({"n001": "down"})
    alone = [one for one in known.devices if one.node == "n001"]
    known = msgspec.structs.replace(known, devices=alone)
    assert answer_to(known, JOB).sentence == (
        f"n001, the only node of job {JOB} of ada, has not answered since {clock(known)}: connection"
        " refused; whether it still runs is unknown."
    )


def test_a_job_several_of_whose_nodes_do_not_answer_shows_how_many() -> None:
    known = observed({"n001": "down", "n002": "down"})
    more = [msgspec.structs.replace(one, jobs=(JOB,)) for one in known.devices]
    known = msgspec.structs.replace(known, devices=more)
    assert answer_to(known, JOB).sentence.startswith(
        f"job {JOB} is still running, but 2 of its 4 nodes have not answered since {clock(known)}"
    )


@pytest.mark.parametrize("nodes", [("n003",), ("n001", "n002", "n003", "n004")])
def test_what_a_rule_has_opened_about_silence_is_the_same_trouble(nodes: tuple[str, ...]) -> None:
    down: Mapping[str, str] = dict.fromkeys(nodes, "down")
    one = of_silence(nodes, id="i9")
    result = answer_to(observed(down, one))
    assert (result.others, result.incident) == (0, "i9")
    assert "A node is silent" not in result.sentence


def test_members_of_an_incident_about_silence_are_not_more_things() -> None:
    group = of_silence(tuple(ALL_DOWN), id="i9")
    members = [of_silence((node,), id=f"m{node}", group_incident="i9") for node in ALL_DOWN]
    result = answer_to(observed(ALL_DOWN, group, *members))
    assert (result.others, result.incident) == (0, "i9")


def test_an_incident_of_other_nodes_is_not_of_this_outage() -> None:
    down = dict.fromkeys(("n001", "n002", "n003"), "down")
    wider = of_silence((*down, "n004"), id="i9")
    assert answer_to(observed(down, wider)).incident == ""


def test_another_incident_of_a_node_does_not_hide_that_it_is_silent() -> None:
    clock_off = incident_now(incident(3, node="n003", title="The clock of the node is wrong"))
    bare = msgspec.structs.replace(clock_off.incident, device="")
    found = troubles(observed({"n003": "down"}, msgspec.structs.replace(clock_off, incident=bare)))
    assert [one.silent for one in found] == [True, False]


@pytest.mark.parametrize(
    ("health", "remedy"),
    [("failed", REMEDIES["unresponsive"]), ("unknown", CHECK_COLLECTION)],
)
def test_a_device_that_cannot_be_read_keeps_its_jobs_unless_it_is_at_fault(
    health: str, remedy: str
) -> None:
    view = fleet_view(1, 1, faults={"n001/0": "unresponsive"})
    (device,) = view.devices
    unread = msgspec.structs.replace(device, health=health)
    (found,) = troubles(observed_fleet(msgspec.structs.replace(view, devices=[unread])))
    assert (found.condition, found.remedy) == ("hung", remedy)
