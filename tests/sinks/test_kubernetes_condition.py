"""What the condition, its annotation and the Events of a node object say; all of it is pure."""

import re

import msgspec
import pytest

from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import Notice, NoticeKind
from accelwatch_kubernetes_status.condition import (
    CONDITION_TYPE,
    NodeCondition,
    camel_case,
    condition_of,
)
from accelwatch_kubernetes_status.incidents import (
    MOST_INCIDENTS,
    OpenIncident,
    open_incident,
    read_incidents,
    with_incident,
    written_incidents,
)
from accelwatch_kubernetes_status.node_events import (
    SEQUENCE,
    EventMetadata,
    ExistingEvent,
    NodeReference,
    counted_again,
    event_name,
    is_counted,
    new_event,
)
from accelwatch_kubernetes_status.nodes import Node, NodeMetadata, NodeStatus
from accelwatch_kubernetes_status.status_writing import with_condition
from support.incidents.notices import LONG, NOTICE, notice
from support.servers.unreadable_json import DEEP

NOW, THEN = 1_795_317_300.0, 1_795_317_000.0
LOST = OpenIncident(
    rule="nvidia.gpu.lost", severity=Severity.CRITICAL, title="a GPU is lost", since=10.0
)
HOT = OpenIncident(rule="amd.heat", severity=Severity.WARNING, title="a GPU is hot", since=5.0)
SILENT = OpenIncident(
    rule="service.node_silent",
    severity=Severity.CRITICAL,
    title="a node is silent",
    since=1.0,
    unknown=True,
)
NODE = NodeReference("n12", "uid-1")


def of_family(family: str, **fields: object) -> Notice:
    return notice(labels={**NOTICE.labels, "family": family}, **fields)


def meaning(one: Notice, *ignored: str) -> OpenIncident | None:
    return open_incident(one, Severity.CRITICAL, ignored)


def test_a_critical_incident_makes_it_false_and_the_end_of_the_last_makes_it_true() -> None:
    bad = condition_of({"west/i42": LOST}, None, THEN)
    assert bad == NodeCondition(
        type=CONDITION_TYPE,
        status="False",
        reason="NvidiaGpuLost",
        message="a GPU is lost (incident west/i42)",
        last_transition_time="2026-11-22T03:10:00Z",
        last_heartbeat_time="2026-11-22T03:10:00Z",
    )
    well = condition_of({}, bad, NOW)
    assert (well.status, well.reason) == ("True", "NoOpenIncident")
    assert well.last_transition_time == "2026-11-22T03:15:00Z"


def test_another_message_of_the_same_status_is_no_transition() -> None:
    before = condition_of({"i1": HOT}, None, THEN)
    after = condition_of({"i1": HOT, "i2": LOST}, before, NOW)
    assert (before.reason, after.reason) == ("AmdHeat", "NvidiaGpuLost")
    assert after.message == "a GPU is lost (incident i2); 1 more open"
    assert after.last_transition_time == before.last_transition_time
    assert after.last_heartbeat_time == "2026-11-22T03:15:00Z"


def test_a_condition_without_a_transition_gets_one() -> None:
    # What `kubectl patch` or another tool may have left.
    odd = NodeCondition(status="False", last_transition_time=None)
    assert condition_of({"i1": LOST}, odd, NOW).last_transition_time == "2026-11-22T03:15:00Z"


def test_a_silent_node_is_unknown_unless_something_is_known_to_be_bad() -> None:
    assert condition_of({"i1": SILENT}, None, NOW).status == "Unknown"
    both = condition_of({"i1": SILENT, "i2": HOT}, None, NOW)
    assert (both.status, both.reason) == ("False", "AmdHeat")


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("nvidia.xid_79", "NvidiaXid79"),
        ("my-rule", "MyRule"),
        ("79", "Rule79"),
        ("", "Rule"),
        ("r" * 300, "R" + "r" * 127),
    ],
)
def test_a_reason_is_one_that_the_api_takes(rule: str, reason: str) -> None:
    assert camel_case(rule) == reason
    assert re.fullmatch(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", reason)


def test_a_message_is_short_whatever_the_title() -> None:
    found = meaning(msgspec.structs.replace(LONG, labels={}))
    assert found is not None
    assert len(condition_of({"west/i42": found}, None, NOW).message.encode()) <= 600


@pytest.mark.parametrize(
    ("one", "counts"),
    [
        (of_family("nvidia.gpu"), True),
        (of_family("nvidia.gpu", severity=Severity.WARNING), False),
        (of_family("nvidia.gpu", trusted=False), False),
        (of_family("nvidia.gpu", closed=NOW), False),
        (of_family("storage.nfs"), False),
        (of_family("storage"), False),
        (of_family("storages"), True),
        (of_family("service.node", severity=Severity.WARNING), True),
    ],
)
def test_which_incidents_count(one: Notice, counts: bool) -> None:
    assert (meaning(one, "storage") is not None) is counts


def test_what_is_wrong_with_our_own_service_is_unknown() -> None:
    found = meaning(of_family("service.node"))
    assert found is not None
    assert found.unknown
    assert meaning(of_family("service.node"), "service") is None


def test_the_annotation_says_the_same_after_it_was_written_and_read() -> None:
    incidents = {"i1": LOST, "i2": SILENT}
    text = written_incidents(incidents)
    assert text is not None
    assert read_incidents(text) == incidents
    assert written_incidents({"i2": SILENT, "i1": LOST}) == text
    assert written_incidents({}) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"i1": 7}', '{"i1": {"rule": "r"}}'])
def test_what_somebody_else_wrote_there_is_nothing(text: str) -> None:
    assert read_incidents(text) == {}


def test_what_somebody_else_nested_without_end_is_nothing() -> None:
    written = written_incidents({"i1": LOST}) or ""
    assert read_incidents(written) == {"i1": LOST}
    assert read_incidents(written.replace('"rule"', f'"more":{DEEP.decode()},"rule"')) == {}


def test_of_very_many_the_worst_are_kept() -> None:
    many = {f"i{number}": HOT for number in range(MOST_INCIDENTS)}
    after = with_incident(many, "worse", LOST)
    assert len(after) == MOST_INCIDENTS
    assert "worse" in after
    assert with_incident({"i1": LOST, "i2": HOT}, "i1", None) == {"i2": HOT}


def test_conditions_of_others_go_back_exactly_as_they_were() -> None:
    problem = {"type": "GpuProblem", "status": "True", "x": None, "reason": "NPD"}
    ours = {"type": CONDITION_TYPE, "status": "False"}
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-22T03:00:00Z"}
    metadata = NodeMetadata(name="n12", uid="u", resource_version="7")
    wanted = condition_of({}, None, NOW)
    node = Node(metadata=metadata, status=NodeStatus(conditions=(problem, ours, ready)))
    assert with_condition(node, wanted) == [problem, msgspec.to_builtins(wanted), ready]
    node = Node(metadata=metadata, status=NodeStatus(conditions=(ready,)))
    assert with_condition(node, wanted) == [ready, msgspec.to_builtins(wanted)]


def test_an_incident_has_one_event_and_its_end_another() -> None:
    opened = new_event(NOTICE, NODE, NOW)
    again = new_event(notice(kind=NoticeKind.REMINDER, sequence=5), NODE, NOW + 60.0)
    closed = new_event(notice(kind=NoticeKind.CLOSED, closed=NOW, sequence=6), NODE, NOW)
    assert opened["metadata"]["name"] == again["metadata"]["name"]  # type: ignore[index]
    assert opened["metadata"]["name"] != closed["metadata"]["name"]  # type: ignore[index]
    assert (opened["type"], opened["reason"]) == ("Warning", "NvidiaGpuLost")
    assert (closed["type"], closed["reason"]) == ("Normal", "NvidiaGpuLostOver")
    assert new_event(notice(severity=Severity.INFO), NODE, NOW)["type"] == "Normal"
    assert len(str(new_event(LONG, NODE, NOW)["message"]).encode()) <= 1024


def test_two_incidents_two_nodes_and_a_node_made_anew_have_events_of_their_own() -> None:
    names = {
        event_name(NOTICE, NODE),
        event_name(notice(key="west/i43"), NODE),
        event_name(NOTICE, NodeReference("n13", "uid-2")),
        event_name(NOTICE, NodeReference("n12", "uid-3")),
    }
    assert len(names) == 4


def test_a_notice_that_is_sent_again_is_counted_once() -> None:
    existing = ExistingEvent(
        metadata=EventMetadata(annotations={SEQUENCE: "3"}, resource_version="9"), count=2
    )
    assert counted_again(notice(sequence=3), existing, NOW) is None
    patch = counted_again(notice(sequence=4), existing, NOW)
    assert patch is not None
    assert patch["count"] == 3
    assert patch["metadata"]["resourceVersion"] == "9"  # type: ignore[index]
    odd = ExistingEvent(metadata=EventMetadata(annotations={SEQUENCE: "x"}))
    assert counted_again(NOTICE, odd, NOW) is not None


@pytest.mark.parametrize(
    ("kind", "closed", "counted"),
    [
        (NoticeKind.OPENED, None, True),
        (NoticeKind.REMINDER, None, True),
        (NoticeKind.CALLED, None, True),
        (NoticeKind.UPDATED, None, False),
        (NoticeKind.APPROVAL, None, False),
        (NoticeKind.CLOSED, NOW, True),
    ],
)
def test_changes_are_no_flood_of_events(
    kind: NoticeKind, closed: float | None, counted: bool
) -> None:
    assert is_counted(notice(kind=kind, closed=closed)) is counted
