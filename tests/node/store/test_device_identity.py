"""Which devices there are: identity, slots that change, lost ones, partitions, order."""

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState
from node.store.reporting import Node, device, power


def test_identity_replaces_the_provisional_row() -> None:
    node = Node()
    node.slots(device(0, id="slot0"), device(1, id="slot1"))
    assert list(node.views()) == ["slot0", "slot1"]
    node.identified("slot0", device(0))
    assert list(node.views()) == ["n:0", "slot1"]
    node.slots(device(0, id="slot0"), device(1, id="slot1"))
    assert list(node.views()) == ["n:0", "slot1"]


def test_devices_that_change_slots_are_not_lost() -> None:
    node = Node()
    slots = [device(n, id=f"slot{n}") for n in range(3)]
    node.slots(*slots)
    for n in range(3):
        node.identified(f"slot{n}", device(n))
        node.read(f"slot{n}", power(f"n:{n}"))
    node.slots(*slots[:2])
    node.identified("slot1", device(2, index=1))
    node.identified("slot0", device(1, index=0))
    node.read("slot0", power("n:1"))
    node.read("slot1", power("n:2"))
    node.cycle()
    node.cycle()
    states = {name: view.state for name, view in node.views().items()}
    assert states == {"n:0": DeviceState.LOST, "n:1": DeviceState.OK, "n:2": DeviceState.OK}


def test_a_lost_device_found_again_takes_its_row_back(node: Node) -> None:
    node.slots()
    node.cycle()
    node.cycle()
    assert node.view().state is DeviceState.LOST
    node.slots(device(0))
    node.identified("n:0", device(0, model="H100"))
    node.read("n:0", power())
    assert node.view().state is DeviceState.OK
    assert len(node.views()) == 1


def test_lost_devices_are_kept_up_to_a_bound() -> None:
    node = Node()
    for number in range(100):
        node.slots(device(number))
        node.read(f"n:{number}", power(f"n:{number}"))
        node.clock.advance(1.0)
        node.slots()
        node.cycle()
        node.cycle()
    assert len(node.views()) == 64
    assert "n:99" in node.views()


def test_a_partition_that_is_gone_is_no_row_any_more(node: Node) -> None:
    part = device(0, id="n:0/p0", parent_id="n:0")
    node.identified("n:0", device(0), part)
    node.read("n:0", power(), power("n:0/p0"))
    assert list(node.views()) == ["n:0", "n:0/p0"]
    node.identified("n:0", device(0))
    assert list(node.views()) == ["n:0"]


def test_a_partition_without_a_reading_is_an_error(node: Node) -> None:
    node.identified("n:0", device(0), device(0, id="n:0/p0", parent_id="n:0"))
    node.read("n:0", power())
    assert node.view("n:0").state is DeviceState.OK
    assert node.view("n:0/p0").reading.absent == {("*",): Absence.ERROR}


def test_devices_are_ordered_by_vendor_and_index_with_partitions_after_their_parent() -> None:
    node = Node()
    node.slots(device(10), device(2))
    node.slots(device(0, id="a:0", vendor="amd"), backend="amd")
    node.identified("n:2", device(2), *(device(0, id=f"n:2/{p}", parent_id="n:2") for p in "xb"))
    assert list(node.views()) == ["a:0", "n:2", "n:2/x", "n:2/b", "n:10"]


def test_a_reading_of_an_unknown_device_is_no_row(node: Node) -> None:
    node.read("n:0", power(), power("n:7"))
    assert list(node.views()) == ["n:0"]
