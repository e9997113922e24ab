"""The past of hardware as the detector has it: keys, weights, and only what is new."""

import asyncio

from accelwatch.base.slices import LongWork
from accelwatch.detection.channels.prior import Prior
from accelwatch.detection.detector import Detector
from accelwatch.detection.evidence import Subject
from accelwatch.fleet.detection.hub import HubPast
from accelwatch.fleet.detection.past_faults import identities_of, past_incidents
from support.detection.ticks import Ticks, only
from support.fleet.two_nodes import TwoNodes
from support.incidents.hardware_faults import DAY_S, NOW, fault
from support.machines import composed as machines


def test_a_fault_has_all_of_its_identities_and_its_weight() -> None:
    (past,) = past_incidents([fault(1, 2.0)], {"nvidia:GPU-A"})
    assert past.keys == ("device:nvidia:GPU-A", "node:n1", "slot:n1/0000:3b:00.0", "serial:A")
    assert (past.time, past.weight) == (NOW - 2 * DAY_S, 1.0)
    (past,) = past_incidents([fault(1, 2.0, name="")], ())
    assert past.keys == ("node:n1",)


def test_an_id_that_names_no_single_device_is_no_key() -> None:
    (past,) = past_incidents([fault(1, 2.0)], {"nvidia:GPU-B"})
    assert past.keys == ("node:n1", "slot:n1/0000:3b:00.0", "serial:A")


def test_only_what_is_newer_than_a_snapshot_is_given() -> None:
    faults = [fault(1, 3.0), fault(2, 2.0), fault(3, 1.0)]
    times = [past.time for past in past_incidents(faults, (), after=NOW - 2 * DAY_S)]
    assert times == [NOW - DAY_S]


def test_devices_have_their_serial_and_slot_where_their_id_is_their_own() -> None:
    site = TwoNodes()
    same = {"id": "nvidia:0", "serial": None}
    site.tell("a", machines.view(0), machines.view(1, device=machines.device(1, **same, uuid=None)))
    site.tell("b", machines.view(2, device=machines.device(2, **same, uuid=None)))
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
    prior.record(past_incidents([fault(1, 0.0, node="n9", serial="A", now=ticks.now)], ()))
    assert prior.evidence(ticks.after()) == []
    prior.also = {"d2": ("slot:n1/0000:5e:00.0", "serial:A")}
    evidence = only(prior.evidence(ticks.after()))
    assert (evidence.subject, evidence.rows.tolist()) == (Subject.DEVICE, [2])


def test_a_hub_gives_its_detector_each_fault_once_and_who_devices_are() -> None:
    async def main() -> tuple[float, float, bool]:
        site = TwoNodes()
        site.tell("a", machines.view(0))
        now = site.clock.wall()
        known = [fault(1, 1.0, now=now)]
        past = HubPast(site.fleet, lambda: known)
        detector, ticks = Detector(), Ticks()
        await past.record(detector, ticks.after().frame, LongWork())
        first = detector.channels.prior.newest
        await past.record(detector, ticks.after().frame, LongWork())
        known.append(fault(2, 0.0, now=now))
        await past.record(detector, ticks.after().frame, LongWork())
        also = machines.device(0).id in detector.channels.prior.also
        return first - now, detector.channels.prior.newest - now, also

    assert asyncio.run(main()) == (-DAY_S, 0.0, True)


def test_without_faults_nobody_is_looked_at() -> None:
    async def main() -> object:
        site = TwoNodes()
        site.tell("a", machines.view(0))
        detector = Detector()
        await HubPast(site.fleet, tuple).record(detector, Ticks().after().frame, LongWork())
        return detector.channels.prior.also

    assert asyncio.run(main()) == {}
