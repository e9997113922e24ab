"""What the detector has found is read first; a watch is mentioned too."""

from typing import Any

import msgspec
import pytest

from accelwatch.alerting.incidents.model.incident import Facts
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity, Evidence
from accelwatch.fleet.picture.model import UTILIZATION
from accelwatch.fleet.picture.why.answer import Answer, answer
from accelwatch.fleet.picture.why.lines import lines_of
from accelwatch.fleet.picture.why.observed_state import ObservedState, observed_fleet
from accelwatch.fleet.picture.why.subject import subject_of
from accelwatch.fleet.wire import IncidentNow, NodeFinding
from support.dashboards.fleets import Faults, fleet_view
from support.incidents.incident_documents import incident_now
from support.incidents.incident_samples import incident
from support.machines.composed import NOW

JOB = "48100"
GPU = "nvidia:GPU-000001"
OF_NODE = "n001 draws 9 % less power at equal load than its 59 peers, since 03:12 UTC."
BY_ID = f"{GPU} of n001 draws 9 % less power than its 59 peers, since 03:12 UTC."
OF_DEVICE = "n001/nvidia1 draws 9 % less power than its 59 peers, since 03:12 UTC."


def by_detector(sentence: str, **fields: Any) -> IncidentNow:
    """An incident of the pack `detector`."""
    usual: dict[str, Any] = {
        "rule": "detector.node.suspect",
        "entity": Entity(scope=Scope.NODE, node="n001"),
        "facts": Facts(),
        "since": NOW - 600,
    }
    made = incident(
        title="A node differs from its peers",
        node="n001",
        evidence=(
            Evidence(signal="detector", text=sentence, source="detector"),
            Evidence(signal="power_watts", text="power_watts is 412 W", source="detector:peer"),
        ),
        what_to_do="take its node out and test it",
        **{**usual, **fields},
    )
    return incident_now(made)


def of_device(**fields: Any) -> IncidentNow:
    entity = Entity(scope=Scope.DEVICE, node="n001", device=GPU)
    found = by_detector(BY_ID, entity=entity, **fields)
    document = msgspec.structs.replace(found.incident, device_name="nvidia1")
    return msgspec.structs.replace(found, incident=document)


def fleet(
    *incidents: IncidentNow,
    finding: NodeFinding | None = None,
    idle: bool = False,
    faults: Faults | None = None,
) -> ObservedState:
    """Four nodes of eight devices, busy or idle."""
    view = fleet_view(4, faults=faults)
    devices = []
    for now in view.devices:
        values = list(now.values)
        values[UTILIZATION] = 0.0 if idle else 0.9
        devices.append(msgspec.structs.replace(now, values=tuple(values)))
    nodes = [
        msgspec.structs.replace(node, finding=finding) if node.node == "n001" else node
        for node in view.nodes
    ]
    return observed_fleet(
        msgspec.structs.replace(view, devices=devices, nodes=nodes, incidents=incidents)
    )


def answer_to(observed: ObservedState, what: str = "") -> Answer:
    return answer(observed, subject_of(observed, what))


@pytest.mark.parametrize("what", ["n001", ""])
def test_the_sentence_of_an_incident_is_read_first(what: str) -> None:
    result = answer_to(fleet(by_detector(OF_NODE)), what)
    assert result.sentence == OF_NODE
    assert result.evidence == ("power_watts is 412 W",)
    assert result.remedy == "take its node out and test it"
    assert (result.wrong, result.where, result.incident) == (True, "n001", "i1")
    assert result.finding == ""
    assert lines_of(result, 100)[0] == OF_NODE


@pytest.mark.parametrize("what", ["n001", "n001/nvidia1"])
def test_a_device_has_the_name_that_people_call_it(what: str) -> None:
    result = answer_to(fleet(of_device()), what)
    assert result.sentence == OF_DEVICE
    assert result.evidence == ("power_watts is 412 W",)


def test_how_the_device_stands_follows_the_sentence() -> None:
    result = answer_to(fleet(of_device(), faults={"n001/1": "lost"}), "n001/nvidia1")
    assert result.sentence == f"{OF_DEVICE.removesuffix('.')}; n001/nvidia1 is lost."


def test_an_incident_of_another_rule_keeps_its_title() -> None:
    other = by_detector(OF_NODE)
    evidence = tuple(reversed(other.incident.evidence))
    document = msgspec.structs.replace(other.incident, evidence=evidence)
    result = answer_to(fleet(msgspec.structs.replace(other, incident=document)), "n001")
    assert result.sentence.startswith("n001: A node differs from its peers")


def test_a_job_that_waits_for_a_suspect_says_for_what() -> None:
    result = answer_to(fleet(by_detector(OF_NODE), idle=True), JOB)
    assert result.sentence.startswith(
        f"job {JOB} of ada waits: {OF_NODE.removesuffix('.')}; 16 of its 16 devices are idle"
    )
    result = answer_to(fleet(by_detector(OF_NODE)), JOB)
    assert result.sentence == f"job {JOB} of ada is still running, but {OF_NODE}"


def test_of_a_job_that_hangs_its_own_sentence_is_all() -> None:
    hangs = f"Job {JOB} has hung since 03:12 UTC: its 16 devices look busy and do no work."
    entity = Entity(scope=Scope.JOB, job=JOB)
    found = by_detector(hangs, entity=entity, rule="detector.job.suspect")
    document = msgspec.structs.replace(found.incident, node="", job=JOB, nodes=("n001", "n002"))
    result = answer_to(fleet(msgspec.structs.replace(found, incident=document)), JOB)
    assert result.sentence == hangs


ALERT = NodeFinding(level="alert", family="power", sentence=OF_NODE)
WATCH = NodeFinding(level="watch", family="power", sentence=OF_NODE)
ON_DEVICE = NodeFinding(
    level="alert", device=GPU, name="nvidia1", family="power", sentence=OF_DEVICE
)


def test_an_alert_without_an_incident_is_wrong_too() -> None:
    result = answer_to(fleet(finding=ALERT), "n001")
    assert result.sentence == OF_NODE
    assert (result.wrong, result.incident, result.finding) == (True, "", "")
    assert result.remedy == "see accelwatch rules explain detector n001"


def test_an_alert_on_a_device_is_of_that_device() -> None:
    observed = fleet(finding=ON_DEVICE)
    assert answer_to(observed, "n001/nvidia1").sentence == OF_DEVICE
    assert answer_to(observed, "n001").where == "n001/nvidia1"
    other = answer_to(observed, "n001/nvidia2")
    assert not other.wrong
    assert other.finding == ""


def test_what_an_incident_says_is_not_shown_twice() -> None:
    result = answer_to(fleet(by_detector(OF_NODE), finding=ALERT), "n001")
    assert (result.sentence, result.others, result.finding) == (OF_NODE, 0, "")


@pytest.mark.parametrize("what", ["n001", "n001/nvidia1"])
def test_a_watch_is_a_line_below_and_nothing_wrong(what: str) -> None:
    result = answer_to(fleet(finding=WATCH), what)
    assert result.sentence.startswith("nothing is wrong with n001")
    assert not result.wrong
    assert result.finding == f"watch: {OF_NODE}"
    assert lines_of(result, 100)[-1] == f"  detector:   watch: {OF_NODE}"


@pytest.mark.parametrize("what", ["n002", "n002/nvidia1", "", JOB])
def test_of_others_it_is_not_shown(what: str) -> None:
    assert answer_to(fleet(finding=WATCH), what).finding == ""


def test_a_watch_stands_beside_an_incident_of_another_cause() -> None:
    other = incident_now(incident(2, node="n001", title="It is dark"))
    result = answer_to(fleet(other, finding=WATCH), "n001")
    assert "It is dark" in result.sentence
    assert result.finding == f"watch: {OF_NODE}"
