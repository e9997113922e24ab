"""Who stands in which row of a node's frames."""

from accelwatch.agent.detection.device_rows import DeviceRows
from support.machines.composed import device


def test_a_device_keeps_its_row_while_it_is_away() -> None:
    rows = DeviceRows()
    assert rows.assign([device(0), device(1)]) == [0, 1]
    assert rows.assign([device(1)]) == [1]
    assert rows.assign([device(1), device(0)]) == [1, 0]
    assert rows.generation.tolist() == [0, 0]


def test_a_new_device_takes_the_row_of_one_that_has_gone() -> None:
    rows = DeviceRows()
    rows.assign([device(0), device(1)])
    assert rows.assign([device(1), device(2)]) == [1, 0]
    assert rows.ids == [device(2).id, device(1).id]
    assert rows.generation.tolist() == [1, 0]


def test_another_serial_number_is_another_device() -> None:
    rows = DeviceRows()
    rows.assign([device(0)])
    rows.assign([device(0, serial="other")])
    assert rows.generation.tolist() == [1]


def test_another_uuid_is_another_device() -> None:
    rows = DeviceRows()
    rows.assign([device(0, id="slot")])
    rows.assign([device(0, id="slot", uuid="GPU-other")])
    assert rows.generation.tolist() == [1]


def test_what_a_device_does_not_say_makes_it_no_other() -> None:
    rows = DeviceRows()
    rows.assign([device(0)])
    rows.assign([device(0, serial=None, uuid=None)])
    rows.assign([device(0)])
    assert rows.generation.tolist() == [0]
