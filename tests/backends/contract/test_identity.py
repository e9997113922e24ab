"""Who devices are: unique, stable, well formed, and known without asking more than may be asked."""

import re

import pytest

from accelwatch.backend import Backend
from accelwatch.backend.kit.unlisted import RUNS
from accelwatch.schema.device import Device, DeviceKind
from support.machines.polling import Poll, Polled, PolledMachine, identities
from support.machines.staged_machines import FixtureMachine, Stage

VENDORS = {"nvidia", "amd", "intel", "host"}
PCI_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")
NAME = re.compile(r"[a-z][a-z0-9_.:/-]*")
NO_VALUE = {"", "n/a", "[n/a]", "none", "null", "unknown", "nan", "-1", "0000000000000", "err!"}


def test_ids_and_names_are_unique(polled: list[Polled]) -> None:
    devices = identities(polled)
    for field in ("id", "name"):
        values = [getattr(device, field) for device in devices]
        assert len(set(values)) == len(values), field


def test_identity_is_stable_over_polls(rounds: list[list[Polled]]) -> None:
    first, second, third = (identities(polled) for polled in rounds[:3])
    assert first == second == third


def test_identity_survives_reopening(stage: Stage, backend: Backend, poll: Poll) -> None:
    before = identities(poll(backend))
    backend.close()
    again = stage.backend()
    again.open()
    assert identities(poll(again)) == before
    again.close()


def test_there_is_a_device(polled: list[Polled], machine: FixtureMachine) -> None:
    """What the other tests look at, one by one; the kernel log has events only."""
    assert bool(identities(polled)) == (machine.vendor != "kernel")


def test_identity_is_well_formed(polled_machine: PolledMachine, machine: FixtureMachine) -> None:
    for device in identities(polled_machine.rounds[0]):
        assert device.vendor in VENDORS | {machine.vendor}
        assert device.vendor == machine.vendor or machine.vendor == "replay"
        assert device.backend == polled_machine.backend
        assert device.id.startswith(f"{device.vendor}:")
        assert NAME.fullmatch(device.name), device.name
        assert device.index >= 0
        assert (device.kind is DeviceKind.HOST) == (machine.vendor == "host")
        if device.pci_bus_id is not None:
            assert PCI_ID.fullmatch(device.pci_bus_id), device.pci_bus_id
        assert device.numa_node is None or device.numa_node >= 0
        assert all(node.startswith("/dev/") for node in device.device_nodes)


def test_no_text_stands_for_a_missing_value(polled: list[Polled]) -> None:
    for device in identities(polled):
        for field in Device.__struct_fields__:
            value = getattr(device, field)
            if isinstance(value, str) and field != "boot_id":
                assert value.strip() == value, field
                assert value.lower() not in NO_VALUE, (field, value)
        assert [name for name in device.absent if getattr(device, name) is not None] == []


def test_partitions_name_their_parent(polled: list[Polled]) -> None:
    for one in polled:
        assert one.found.parent_id is None
        for part in one.identity[1:]:
            assert part.parent_id == one.identity[0].id
            assert part.partition
            assert part.partition_technology


@pytest.mark.needs("removable")
def test_a_device_that_goes_is_no_longer_found_and_the_others_are_read_on(
    stage: Stage, backend: Backend, poll: Poll
) -> None:
    assert stage.remove is not None
    before = poll(backend)
    stage.remove(before[-1].found)
    for _ in range(RUNS):  # one answer that leaves it out proves no loss
        stage.clock.advance(10.0)
        after = poll(backend)
    assert len(after) == len(before) - 1
    readable = {one.identity[0].id for one in before if one.error is None}
    still = {one.identity[0].id for one in after if one.error is None}
    assert still == readable - {one.identity[0].id for one in before[-1:] if one.identity}
