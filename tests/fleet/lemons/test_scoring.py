"""Scores of serial numbers, slots and nodes, and what their faults follow."""

import math

import pytest

from accelwatch.detection.channels.prior import ConfirmedIncident, Prior
from accelwatch.detection.fading import faded
from accelwatch.fleet.lemons.documents import Blamed, Lemon
from accelwatch.fleet.lemons.faults import Fault
from accelwatch.fleet.lemons.scoring import MOST_EVIDENCE, lemons_of, score_of
from support.detection.ticks import Ticks
from support.incidents.hardware_faults import DAY_S, NOW, fault


def offenders(*faults: Fault, least: int = 2) -> list[Lemon]:
    return list(lemons_of(faults, NOW, least))


def test_a_fault_loses_its_weight_and_is_forgotten_after_28_days() -> None:
    assert score_of([fault(1, 14.0)], NOW) == pytest.approx(math.exp(-1))
    assert score_of([fault(1, 0.0), fault(2, 14.0)], NOW) == pytest.approx(1 + math.exp(-1))
    assert offenders(fault(1, 27.9), fault(2, 1.0))[0].faults == 2
    assert offenders(fault(1, 28.1), fault(2, 1.0)) == []
    # A clock that was set back makes no fault count for more.
    assert score_of([fault(1, -3.0)], NOW) == 1.0


def test_the_detector_counts_by_the_same_formula() -> None:
    ticks, prior = Ticks(), Prior()
    faults = [fault(1, 2.0, now=ticks.now), fault(2, 9.0, now=ticks.now)]
    prior.record([ConfirmedIncident(each.time, ("node:n2",)) for each in faults])
    tick = ticks.after()
    (evidence,) = prior.evidence(tick)
    total = score_of(faults, tick.frame.now)
    assert total == pytest.approx(faded(2 * DAY_S) + faded(9 * DAY_S), rel=1e-3)
    assert evidence.score[0] == pytest.approx(8 * (1 - math.exp(-total)))


def test_a_board_that_fails_in_its_slot_is_one_offender_of_three_identities() -> None:
    (lemon,) = offenders(fault(1, 5.0), fault(2, 1.0))
    assert lemon.keys == ("serial:A", "slot:n1/0000:3b:00.0", "node:n1")
    assert (lemon.blamed, lemon.faults) == (Blamed.DEVICE_OR_SLOT, 2)
    assert (lemon.subject, lemon.serial, lemon.slot) == ("n1/nvidia3", "A", "0000:3b:00.0")
    assert "try it in another one" in lemon.reason
    assert [note.incident for note in lemon.evidence] == ["i2", "i1"]
    assert lemon.first < lemon.last == lemon.evidence[0].time


def test_faults_that_follow_the_board_to_another_slot_blame_the_board() -> None:
    (lemon,) = offenders(
        fault(1, 9.0), fault(2, 5.0), fault(3, 1.0, node="n2", slot="0000:5e:00.0", name="nvidia1")
    )
    assert (lemon.blamed, lemon.faults, lemon.keys) == (Blamed.DEVICE, 3, ("serial:A",))
    assert lemon.subject == "n2/nvidia1"
    assert lemon.reason == "the faults followed the board: n1 0000:3b:00.0 -> n2 0000:5e:00.0"


def test_a_board_that_moved_between_nodes_without_known_slots_is_blamed() -> None:
    (lemon,) = offenders(fault(1, 9.0, slot=""), fault(2, 5.0, slot="", node="n2"))
    assert lemon.blamed is Blamed.DEVICE
    assert lemon.reason == "the faults followed the board: n1 -> n2"
    (lemon,) = offenders(fault(1, 9.0, slot=""), fault(2, 5.0, slot=""))
    assert (lemon.blamed, lemon.reason) == (
        Blamed.DEVICE,
        "always this board; its slot is not known",
    )


def test_faults_that_stay_with_the_slot_blame_the_slot() -> None:
    (lemon,) = offenders(fault(1, 9.0), fault(2, 5.0), fault(3, 1.0, serial="B"))
    assert (lemon.blamed, lemon.faults) == (Blamed.SLOT, 3)
    assert lemon.keys == ("slot:n1/0000:3b:00.0", "node:n1")
    assert lemon.reason == "2 boards failed in this slot: A, B"
    assert [note.serial for note in lemon.evidence] == ["B", "A", "A"]


def test_a_slot_whose_board_gave_no_serial_number_blames_nobody_yet() -> None:
    (lemon,) = offenders(fault(1, 9.0, serial=""), fault(2, 5.0, serial=""))
    assert lemon.blamed is Blamed.DEVICE_OR_SLOT
    assert lemon.reason == "always in this slot; not every fault has a serial number"


def test_a_node_is_blamed_for_several_devices_beside_the_device_that_repeats() -> None:
    other = {"serial": "B", "slot": "0000:5e:00.0", "name": "nvidia4"}
    device, node = sorted(
        offenders(fault(1, 9.0), fault(2, 5.0), fault(3, 1.0, **other)),
        key=lambda lemon: lemon.faults,
    )
    assert (device.blamed, device.keys[0]) == (Blamed.DEVICE_OR_SLOT, "serial:A")
    assert (node.blamed, node.subject, node.keys) == (Blamed.NODE, "n1", ("node:n1",))
    assert node.reason == "faults of 2 devices"
    (alone,) = offenders(fault(1, 9.0, name=""), fault(2, 5.0, name=""))
    assert alone.reason == "faults of the node itself"
    (mixed,) = offenders(fault(1, 9.0, name=""), fault(2, 5.0))
    assert mixed.reason == "1 of the node itself, and faults of a device"


def test_those_of_one_fault_are_listed_only_on_request() -> None:
    assert offenders(fault(1), fault(2, node="n2", serial="B")) == []
    assert len(offenders(fault(1), fault(2, node="n2", serial="B"), least=1)) == 2
    assert offenders(fault(1), fault(2), least=3) == []


def test_the_worst_is_first_by_what_still_counts() -> None:
    old = [fault(number, 20.0, node="n1") for number in (1, 2, 3)]
    new = [fault(number, 1.0, node="n2", serial="B") for number in (4, 5)]
    assert [lemon.node for lemon in offenders(*old, *new)] == ["n2", "n1"]


def test_one_incident_counts_once_and_evidence_is_bounded() -> None:
    assert offenders(fault(1), fault(1)) == []
    (lemon,) = offenders(*(fault(number, number / 10) for number in range(1, 101)))
    assert (lemon.faults, len(lemon.evidence)) == (100, MOST_EVIDENCE)
    assert lemon.evidence[0].incident == "i1"
