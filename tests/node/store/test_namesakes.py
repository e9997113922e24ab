"""Devices under one uuid: rows, counters and events stay apart, before and after it is known."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.node.sampler.turns.contract import ContractError, sound_devices
from accelwatch.node.store.reports import Events
from accelwatch.schema.device import Device
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Process, Reading
from node.store.reporting import Node, device

UUID = "GPU-1"


def twin(number: int) -> Device:
    return device(number, id=f"n:{UUID}", uuid=UUID, pci_bus_id=f"0000:0{number}:00.0")


def own_id(number: int) -> str:
    return f"nvidia:0000:0{number}:00.0"


def reading(watts: float) -> Reading:
    process = Process(device_id=f"n:{UUID}", pid=int(watts))
    values: dict[Series, Number] = {("power_watts",): watts, ("utilization_ratio",): 1.0}
    return Reading(device_id=f"n:{UUID}", values=values, processes=(process,))


@pytest.fixture
def node() -> Node:
    """Two slots; the first has been followed for ten seconds when the second tells the same uuid."""
    node = Node(interval_s=1.0)
    node.slots(device(0, id="slot0"), device(1, id="slot1"))
    node.identified("slot0", twin(0))
    for _ in range(11):
        node.read("slot0", reading(100.0))
        node.clock.advance(1.0)
    assert list(node.views()) == [f"n:{UUID}", "slot1"]
    node.identified("slot1", twin(1))
    return node


def test_both_are_rows_and_marked(node: Node) -> None:
    node.read("slot0", reading(100.0))
    node.read("slot1", reading(200.0))
    assert list(node.views()) == [own_id(0), own_id(1)]
    for number, watts in enumerate((100.0, 200.0)):
        view = node.view(own_id(number))
        assert (view.device.uuid, view.device.absent) == (None, {"uuid": Absence.ERROR})
        assert view.reading.device_id == own_id(number)
        assert view.reading.values["power_watts",] == watts
        (process,) = view.reading.processes or ()
        assert (process.device_id, process.pid) == (own_id(number), int(watts))
        assert view.health is Health.DEGRADED
        assert view.health_reasons == ("duplicate uuid GPU-1: 2 devices report it",)
    errors = [(error.device_id, error.code) for error in node.store.snapshot().errors]
    assert errors == [(own_id(0), "duplicate_uuid"), (own_id(1), "duplicate_uuid")]


def test_what_was_read_before_goes_by_the_new_id_at_once(node: Node) -> None:
    for _ in range(2):  # also once it has been worked out for a snapshot
        reading = node.view(own_id(0)).reading
        assert reading.device_id == own_id(0)
        assert reading.values["power_watts",] == 100.0
        assert [process.device_id for process in reading.processes or ()] == [own_id(0)]


def test_what_one_has_gathered_stays_its_own(node: Node) -> None:
    node.read("slot0", reading(100.0))
    node.read("slot1", reading(200.0))
    energy = ("energy_joules_total", "integrated")
    assert node.view(own_id(0)).reading.values[energy] == pytest.approx(1100.0)
    assert node.view(own_id(1)).reading.values[energy] == 0.0


def test_an_event_goes_to_the_address_that_it_names(node: Node) -> None:
    fault = ErrorEvent(
        code="xid_79",
        category=Category.BUS,
        time=node.clock.wall(),
        text="fell off the bus",
        source="nvml",
        device_id=f"n:{UUID}",
        subject="0000:01:00.0",
    )
    nobody = msgspec.structs.replace(fault, code="xid_13", subject="")
    node.store.apply(Events(backend="nvidia", events=(fault, nobody)))
    device_of = {event.code: event.device_id for event in node.store.snapshot().events}
    assert device_of == {"xid_79": own_id(1), "xid_13": ""}
    assert [count.code for count in node.view(own_id(1)).event_counts] == ["xid_79"]
    assert node.view(own_id(0)).event_counts == ()


def test_it_ends_with_the_fault(node: Node) -> None:
    node.identified("slot1", device(1, id="n:GPU-2", uuid="GPU-2", pci_bus_id="0000:01:00.0"))
    node.read("slot0", reading(100.0))
    node.cycle()
    node.cycle()
    view = node.view(f"n:{UUID}")
    assert (view.device.uuid, view.health_reasons) == (UUID, ())
    assert view.reading.values["energy_joules_total", "integrated"] == pytest.approx(1100.0)


def test_partitions_go_with_their_device(node: Node) -> None:
    part = device(0, id=f"n:{UUID}/gi1", parent_id=f"n:{UUID}", partition="gi1")
    for number in range(2):
        node.identified(f"slot{number}", twin(number), msgspec.structs.replace(part, index=number))
    ids = list(node.views())
    assert ids == [own_id(0), f"{own_id(0)}/gi1", own_id(1), f"{own_id(1)}/gi1"]
    node.read("slot1", reading(1.0), Reading(device_id=part.id, values={("power_watts",): 7.0}))
    assert node.view(f"{own_id(1)}/gi1").reading.values == {("power_watts",): 7.0}
    assert node.view(f"{own_id(1)}/gi1").device.parent_id == own_id(1)


def test_one_uuid_under_two_ids_is_no_uuid_either() -> None:
    node = Node()
    node.slots(device(0), device(1))
    for number in range(2):
        node.identified(
            f"n:{number}", device(number, uuid="same", pci_bus_id=f"0000:0{number}:00.0")
        )
    assert list(node.views()) == ["n:0", "n:1"]
    assert {view.device.uuid for view in node.views().values()} == {None}


def test_a_device_that_changes_its_slot_is_no_twin_of_itself() -> None:
    node = Node()
    node.slots(device(0, id="slot0"), device(1, id="slot1"))
    first, second = (
        device(n, id=f"n:{n}", uuid=f"GPU-{n}", pci_bus_id=f"0000:0{n}:00.0") for n in range(2)
    )
    node.identified("slot0", first)
    node.identified("slot1", second)
    node.identified("slot0", second)
    assert [view.device.uuid for view in node.views().values()] == ["GPU-0", "GPU-1"]
    node.identified("slot1", first)
    assert sorted(node.views()) == ["n:0", "n:1"]
    assert "duplicate_uuid" not in {error.code for error in node.store.snapshot().errors}


def test_devices_discovered_under_one_id_are_distinguished_by_their_address() -> None:
    found = sound_devices([twin(0), twin(1), device(2)])
    assert [one.id for one in found] == [own_id(0), own_id(1), "n:2"]
    with pytest.raises(ContractError):
        sound_devices([device(0), device(0)])


def test_devices_without_a_uuid_under_one_id_go_by_their_addresses() -> None:
    node = Node()
    node.slots(device(0, id="slot0"), device(1, id="slot1"))
    for number in range(2):
        node.identified(
            f"slot{number}", device(number, id="n:same", pci_bus_id=f"0000:0{number}:00.0")
        )
    assert list(node.views()) == [own_id(0), own_id(1)]
    assert [view.device.absent for view in node.views().values()] == [{}, {}]


def test_a_partition_that_moved_with_its_device_keeps_its_own_uuid(node: Node) -> None:
    part = device(0, id=f"n:{UUID}/gi1", parent_id=f"n:{UUID}", partition="gi1", uuid="MIG-1")
    node.identified("slot0", twin(0), part)
    moved = node.view(f"{own_id(0)}/gi1").device
    assert (moved.uuid, moved.absent, moved.parent_id) == ("MIG-1", {}, own_id(0))


def test_a_device_and_its_partition_may_report_one_uuid(node: Node) -> None:
    part = device(0, id="n:9/p0", parent_id="n:9", uuid="U-9")
    for _ in range(2):
        node.identified("slot0", device(0, id="n:9", uuid="U-9"), part)
    assert {"n:9", "n:9/p0"} <= node.views().keys()
    assert node.view("n:9").device.uuid == "U-9"
