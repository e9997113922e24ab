"""Where the devices of one node stand in the table."""

from accelwatch.fleet.state.inventory.file import Expected
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.fleet.state.rows.node_slots import NodeSlots
from accelwatch.fleet.table.columns import ColumnStore
from accelwatch.fleet.table.rows import Rows
from accelwatch.fleet.target import targets_of
from accelwatch.schema.device import Device
from support.machines import composed as machines


def node_of(labels: dict[str, str] | None = None) -> tuple[Node, TargetSource]:
    (target,) = targets_of(["a"], labels or {})
    node = Node("a", Expected(first_seen=0.0, last_seen=0.0), 0.0)
    source = node.sources[target.key] = TargetSource(target, ColumnStore())
    source.boot_id = "boot 1"
    return node, source


def report(node: Node, source: TargetSource, *devices: Device) -> None:
    """These devices are there, and expected from now on."""
    source.read([machines.view(0, device=device) for device in devices], 1.0)
    source.arrive(None, machines.NOW, 1.0)
    node.gather(lambda _: 0)
    assert node.expected is not None
    node.expected.devices |= {device.id: device for device in devices}


def test_a_node_of_which_nothing_is_known_has_no_seats() -> None:
    seats = NodeSlots("a", 3)
    assert (seats.node, seats.number) == ("a", 3)
    assert (seats.rows, seats.devices, seats.present, set(seats.keys)) == ([], [], [], set())
    assert (seats.labels, seats.relabelled, seats.missing) == ({}, False, 0)
    assert (seats.shape, seats.version, seats.noted, seats.epoch) == (-1, -1, -1, -1)
    assert seats.leave(Rows()) == []


def test_devices_stand_by_index_then_id_and_missing_ones_among_them() -> None:
    node, source = node_of({"rack": "r1"})
    seats, rows = NodeSlots("a", 0), Rows()
    named = [machines.device(at, id=name, uuid=None) for at, name in ((2, "z"), (1, "y"), (1, "x"))]
    report(node, source, *named)
    assert seats.arrange(node, rows) == ([0, 1, 2], [])
    assert [device.id for device in seats.devices] == ["x", "y", "z"]
    assert seats.rows == [2, 1, 0]
    assert [row for row, _ in seats.present] == [0, 1, 2]
    assert (seats.missing, seats.labels, seats.relabelled) == (0, {"rack": "r1"}, True)
    assert seats.shape == node.shape
    report(node, source, named[0])
    assert seats.arrange(node, rows) == ([], [])
    assert [device.id for device in seats.devices] == ["x", "y", "z"]
    assert (seats.rows, seats.missing, seats.relabelled) == ([2, 1, 0], 2, False)
    assert [row for row, _ in seats.present] == [0]
    assert set(seats.keys) == {"x", "y", "z"}


def test_rows_of_devices_that_are_neither_there_nor_expected_are_free() -> None:
    node, source = node_of()
    seats, rows = NodeSlots("a", 0), Rows()
    report(node, source, machines.device(0), machines.device(1))
    seats.arrange(node, rows)
    report(node, source, machines.device(0))
    node.expected = None
    assert seats.arrange(node, rows) == ([], [1])
    assert len(rows) == 1
    assert set(seats.keys) == {machines.device(0).id}
    assert seats.leave(rows) == [0]
    assert len(rows) == 0


def test_another_serial_or_uuid_is_another_device_and_another_boot_is_not() -> None:
    node, source = node_of()
    seats, rows = NodeSlots("a", 0), Rows()
    device = machines.device(0)
    report(node, source, device)
    assert seats.arrange(node, rows) == ([0], [])
    generations = [int(rows.generation[0])]
    for change in (
        {"serial": "another"},
        {"serial": "another", "uuid": "GPU-another"},
    ):
        report(node, source, machines.device(0, id=device.id, **change))
        assert seats.arrange(node, rows) == ([0], [])
        generations.append(int(rows.generation[0]))
    source.boot_id = "boot 2"
    assert seats.arrange(node, rows) == ([], [])
    generations.append(int(rows.generation[0]))
    assert generations == [1, 2, 3, 4]
    report(node, source)
    source.boot_id = "boot 3"
    assert seats.arrange(node, rows) == ([], [])
    assert int(rows.generation[0]) == 4


def test_a_device_that_is_there_by_another_id_is_not_missing() -> None:
    node, source = node_of()
    seats, rows = NodeSlots("a", 0), Rows()
    report(node, source, machines.device(0))
    seats.arrange(node, rows)
    report(node, source, machines.device(0, id="another exporter's"))
    seats.arrange(node, rows)
    assert [device.id for device in seats.devices] == ["another exporter's"]
    assert (seats.rows, seats.missing) == ([1], 0)
    assert set(seats.keys) == {machines.device(0).id, "another exporter's"}
