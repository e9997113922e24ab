"""The past of hardware as the detector has it: keys, weights, and only what is new."""

import asyncio

import pytest

from accelwatch.base.slices import LongWork
from accelwatch.detection.channels.prior import Prior
from accelwatch.detection.detector import Detector
from accelwatch.detection.evidence import Subject
from accelwatch.fleet.detection.confirmed_faults import confirmed_incidents, identities_of
from accelwatch.fleet.detection.hub import FaultRecorder
from support.detection.ticks import Ticks, only
from support.fleet.two_nodes import TwoNodes
from support.incidents.hardware_faults import DAY_S, NOW, fault
from support.machines import composed as machines


def test_a_fault_has_all_of_its_identities_and_its_weight() -> None:
    (past,) = confirmed_incidents([fault(1, 2.0)], {"nvidia:GPU-A"})
    assert past.keys == ("device:nvidia:GPU-A", "node:n1", "slot:n1/0000:3b:00.0", "serial:A")
    assert (past.time, past.weight) == (NOW - 2 * DAY_S, 1.0)
    (past,) = confirmed_incidents([fault(1, 2.0, name="")], ())
    assert past.keys == ("node:n1",)


def test_an_id_that_names_no_single_device_is_no_key() -> None:
    (past,) = confirmed_incidents([fault(1, 2.0)], {"nvidia:GPU-B"})
    assert past.keys == ("node:n1", "slot:n1/0000:3b:00.0", "serial:A")


def test_devices_have_their_serial_and_slot_where_their_id_is_their_own() -> None:
    site = TwoNodes()
    same = {"id": "nvidia:0", "serial": None}
    site.report(
        "a", machines.view(0), machines.view(1, device=machines.device(1, **same, uuid=None))
    )
    site.report("b", machines.view(2, device=machines.device(2, **same, uuid=None)))
    device = machines.device(0)
    devices = [
        (node.name, present.device)
        for node in site.fleet.nodes.values()
        for present in node.devices.values()
    ]
    assert identities_of(devices) == {
        device.id: (f"slot:a/{device.pci_bus_id}", f"serial:{device.serial}")
    }


def test_the_detector_knows_a_board_again_in_another_slot() -> None:
    ticks, prior = Ticks(), Prior()
    prior.record(confirmed_incidents([fault(1, 0.0, node="n9", serial="A", now=ticks.now)], ()))
    assert prior.evidence(ticks.after()) == []
    prior.also = {"d2": ("slot:n1/0000:5e:00.0", "serial:A")}
    evidence = only(prior.evidence(ticks.after()))
    assert (evidence.subject, evidence.rows.tolist()) == (Subject.DEVICE, [2])


def test_a_hub_gives_its_detector_all_faults_whenever_there_are_others() -> None:
    async def main() -> tuple[list[list[float]], bool]:
        site = TwoNodes()
        site.report("a", machines.view(0))
        ticks = Ticks()
        # The second is confirmed later and started earlier.
        known = [fault(1, 1.0, node="n1", now=ticks.now)]
        past, detector = FaultRecorder(site.fleet, lambda: known), Detector()
        scores: list[list[float]] = []
        for more in ((), (), (fault(2, 2.0, node="n1", now=ticks.now),)):
            known.extend(more)
            frame = ticks.after().frame
            await past.record(detector, frame, LongWork())
            [evidence] = detector.channels.prior.evidence(ticks.after())
            scores.append(evidence.score.tolist())
        return scores, machines.device(0).id in detector.channels.prior.also

    (first, again, more), knows_devices = asyncio.run(main())
    assert first == pytest.approx(again, rel=1e-3)
    assert more[0] > first[0] * 1.2
    assert knows_devices


def test_a_detector_that_starts_anew_is_given_all_again() -> None:
    async def main() -> list[int]:
        site, ticks = TwoNodes(), Ticks()
        past = FaultRecorder(site.fleet, lambda: [fault(1, 1.0, node="n1", now=ticks.now)])
        lengths = []
        for detector in (Detector(), Detector()):
            await past.record(detector, ticks.after().frame, LongWork())
            lengths.append(len(detector.channels.prior.evidence(ticks.after())))
        return lengths

    assert asyncio.run(main()) == [1, 1]


def test_without_faults_nobody_is_looked_at() -> None:
    async def main() -> object:
        site = TwoNodes()
        site.report("a", machines.view(0))
        detector = Detector()
        await FaultRecorder(site.fleet, tuple).record(detector, Ticks().after().frame, LongWork())
        return detector.channels.prior.also

    assert asyncio.run(main()) == {}
