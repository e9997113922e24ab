"""The status of a node in a detector: everything that it holds, also where nothing is found."""

import msgspec
import numpy as np
import pytest

from accelwatch.detection.baselines.stages import stage_text
from accelwatch.detection.channels.prior import ConfirmedIncident
from accelwatch.detection.detector import Detector
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.fusion.families import FAMILIES
from accelwatch.detection.status.documents import FamilyStatus, RowStatus
from accelwatch.detection.status.row_status import status_of_node
from accelwatch.schema.event import Category
from support.detection.cluster import REST, Cluster, play
from support.detection.simulated import INTERVAL_S

# Past the five minutes for which a job that has just begun is on hold.
CALM = 20


def family(row: RowStatus, name: str) -> FamilyStatus:
    return next(each for each in row.families if each.family == name)


def watched(fleet: Cluster, ticks: int = CALM) -> Detector:
    detector = Detector()
    play(detector, fleet, ticks)
    return detector


def test_of_a_healthy_node_every_family_and_channel_is_shown() -> None:
    node, job, *devices = status_of_node(watched(Cluster()), "node3")

    assert [node.subject, job.subject, *(row.subject for row in devices)] == [
        "node",
        "job",
        *["device"] * 8,
    ]
    assert (node.name, job.name, devices[0].node) == ("node3", "train", "node3")
    assert [row.device for row in devices] == [f"gpu{number}" for number in range(24, 32)]
    for row in (node, job, *devices):
        assert [each.family for each in row.families] == [each.name for each in FAMILIES]
        assert row.level == "none"
        assert row.ends_below is None
    assert set(devices[0].quiet_channels) == set(Channel) - {Channel.PRIOR}
    first = devices[0]
    assert first.group is not None
    assert (first.group.job, first.group.members, first.group.nodes) == ("train", 64, 8)
    assert (first.group.comparable, first.group.reason, first.group.model) == (True, "", "B200")
    assert (first.on_hold, first.maintenance, first.silent) == (False, False, False)
    assert first.sample_age_s == 3.0
    assert first.phase == "busy"
    assert first.learned_s["busy"] == pytest.approx((CALM - 10) * INTERVAL_S, abs=2 * INTERVAL_S)
    assert first.learned_s["idle"] == 0.0
    power = family(first, "power")
    assert (power.score, power.enough_for, power.factor, power.evidence) == (0.0, "", 1.0, ())
    assert (power.watch.score, power.watch.lasted_s) == (6.0, 120.0)
    assert (power.agree.score, power.agree.lasted_s) == (5.0, 120.0)
    assert (power.alert.score, power.alert.lasted_s) == (8.0, 600.0)
    # What does little harm at once has to last longer.
    assert family(first, "thermal").alert.lasted_s == 600.0


def test_signals_have_the_numbers_that_a_finding_has_the_farthest_first() -> None:
    fleet = Cluster()
    fleet.slow(24)
    detector = watched(fleet, 30)
    node, _, slow, *well = status_of_node(detector, "node3")

    assert slow.level == "alert"
    assert slow.ends_below is not None
    assert len(slow.signals) == 5
    sizes = [abs(signal.z or 0.0) for signal in slow.signals]
    assert sizes == sorted(sizes, reverse=True)
    clock = next(signal for signal in slow.signals if signal.name == "clock_hertz.sm")
    assert clock.value is not None
    assert clock.expected is not None
    assert clock.low is not None
    assert clock.high is not None
    assert clock.value < clock.low <= clock.expected <= clock.high
    assert clock.z is not None
    assert clock.z < -5
    reported = family(slow, "clock")
    assert reported.score >= reported.agree.score
    assert reported.lasted_s > 0
    assert reported.enough_for in ("alert", "watch", "agrees")
    assert [each.cause for each in reported.evidence if each.channel == "peer"] == [
        "clock_hertz.sm"
    ]
    assert reported.z is not None
    assert reported.z < -5
    assert "peer" not in slow.quiet_channels
    assert {row.level for row in (node, *well)} == {"none"}


def test_a_group_that_changes_its_phase_is_on_hold_and_has_no_z() -> None:
    fleet = Cluster()
    detector = watched(fleet)
    fleet.work = [REST] * 8
    play(detector, fleet, 2)
    node, _, device, *_ = status_of_node(detector, "node3")

    assert device.on_hold
    assert device.hold_left_s is not None
    assert 0 < device.hold_left_s <= 300
    assert not any(signal.z for signal in device.signals)
    assert {each.z for each in device.families} == {None}
    assert node.on_hold
    play(detector, fleet, 15)
    assert not status_of_node(detector, "node3")[2].on_hold
    assert status_of_node(detector, "node3")[2].phase == "idle"
    assert status_of_node(detector, "node3")[2].hold_left_s is None


@pytest.mark.parametrize(
    ("nodes", "each", "reason"),
    [
        (2, 2, "its group has fewer than 5 members"),
        (1, 8, "all members of its group are on one node"),
    ],
)
def test_why_a_device_has_nobody_to_be_compared_with(nodes: int, each: int, reason: str) -> None:
    _, _, device, *_ = status_of_node(watched(Cluster(nodes, each=each)), "node0")
    assert device.group is not None
    assert (device.group.comparable, device.group.reason) == (False, reason)
    assert {(signal.expected, signal.z) for signal in device.signals} == {(None, None)}
    # What is compared with the own past is shown all the same.
    assert all(signal.value is not None and signal.usual is not None for signal in device.signals)


def test_a_node_of_several_jobs_is_compared_with_nobody() -> None:
    fleet = Cluster()
    fleet.names = fleet.names._replace(jobs=("train", "other"))
    fleet.job[24:26] = 1
    node, first, second, *_ = status_of_node(watched(fleet), "node3")
    assert node.group is not None
    assert (node.group.comparable, node.group.reason) == (
        False,
        "it works for several jobs at once",
    )
    assert node.group.stage == ""
    assert (first.name, second.name) == ("train", "other")


def test_maintenance_and_silence_are_shown() -> None:
    fleet = Cluster()
    detector = watched(fleet)
    fleet.maintenance[3] = True
    fleet.silent[2] = True
    play(detector, fleet, 4)
    node, _, device, *_ = status_of_node(detector, "node3")
    assert node.maintenance
    assert device.maintenance
    assert not node.silent
    node, _, device, *_ = status_of_node(detector, "node2")
    assert (node.silent, device.silent, node.maintenance) == (True, True, False)
    assert device.sample_age_s is not None
    assert device.sample_age_s > 3 * INTERVAL_S


def test_a_past_lowers_thresholds_and_false_alarms_raise_them() -> None:
    fleet = Cluster()
    detector = watched(fleet)
    detector.record_incidents([ConfirmedIncident(fleet.now, ("device:gpu24",))] * 20)
    play(detector, fleet, 1)
    device, other = status_of_node(detector, "node3")[2:4]
    assert family(device, "power").factor == pytest.approx(0.8, abs=0.001)
    assert family(device, "power").alert.score == pytest.approx(6.4, abs=0.01)
    assert family(other, "power").factor == 1.0

    assert detector.fusion is not None
    detector.fusion.budget.factor[0] = 1.1
    device, other = status_of_node(detector, "node3")[2:4]
    assert FAMILIES[0].name == "power"
    assert family(other, "power").factor == pytest.approx(1.1)
    assert family(device, "power").factor == pytest.approx(0.88, abs=0.001)
    assert family(other, "clock").factor == 1.0


def test_what_is_decisive_is_an_alert_at_once() -> None:
    fleet = Cluster()
    detector = watched(fleet)
    fleet.log("xid_79", Category.BUS, 24, "critical")
    play(detector, fleet, 1)
    device = status_of_node(detector, "node3")[2]
    [logged] = [
        (each, evidence)
        for each in device.families
        for evidence in each.evidence
        if evidence.channel == "log"
    ]
    assert (logged[1].weight, logged[1].cause) == ("decisive", "xid_79")
    assert logged[0].enough_for == "alert"
    assert device.level == "alert"


def test_what_devices_say_of_their_host_counts_for_the_node() -> None:
    fleet = Cluster()
    detector = watched(fleet)
    lifted = Evidence(
        channel=Channel.PEER,
        weight=Weight.STATISTICAL,
        family="fabric",
        subject=Subject.DEVICE,
        rows=np.array([24]),
        score=np.array([7.0]),
        sustained_s=np.array([60.0]),
        since=np.array([0.0]),
        signal=np.array([-1]),
    )
    detector.evidence = [*detector.evidence, lifted]
    node, _, device, *_ = status_of_node(detector, "node3")
    [reported] = family(node, "fabric").evidence
    assert reported.device == "gpu24"
    assert family(node, "fabric").score == 7.0
    assert family(device, "fabric").evidence == ()


@pytest.mark.parametrize("node", ["node9", ""])
def test_a_node_that_is_not_known_has_no_status(node: str) -> None:
    assert status_of_node(watched(Cluster(), 1), node) == ()


def test_before_the_first_frame_there_is_none() -> None:
    assert status_of_node(Detector(), "node3") == ()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("-1", ""),
        ("-2", "working"),
        ("-10", "inferred 1"),
        ("-12", "inferred 3"),
        ("first", "first"),
        ("7", "7"),
    ],
)
def test_stages_have_names(key: str, text: str) -> None:
    assert stage_text(key) == text


def test_it_is_a_document() -> None:
    rows = status_of_node(watched(Cluster(), 1), "node3")
    assert msgspec.json.decode(msgspec.json.encode(rows), type=tuple[RowStatus, ...]) == rows
