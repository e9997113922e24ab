"""Names in the order people expect, and a machine's devices in theirs."""

import random

import msgspec

from accelwatch.schema.device import Device
from accelwatch.schema.natural_order import device_order, natural
from support.machines import composed as machines


def numbered(index: int, vendor: str = "nvidia", **changes: object) -> Device:
    named = {"id": f"{vendor}:{index}", "name": f"{vendor}{index}", **changes}
    return msgspec.structs.replace(machines.device(0), vendor=vendor, index=index, **named)


def test_numbers_are_ordered_as_numbers() -> None:
    assert sorted(["n10", "n9", "n2b", "N2a"], key=natural) == ["N2a", "n2b", "n9", "n10"]


def test_a_name_of_more_digits_than_a_number_can_have_is_ordered_too() -> None:
    assert sorted(["9" * 9000, "10", "9"], key=natural) == ["9", "10", "9" * 9000]


def test_devices_are_ordered_by_vendor_and_number() -> None:
    wanted = [numbered(index, vendor) for vendor in ("amd", "nvidia") for index in range(12)]
    mixed = random.Random(1).sample(wanted, len(wanted))
    assert sorted(mixed, key=device_order(mixed)) == wanted


def test_devices_without_a_number_of_their_own_are_ordered_by_name() -> None:
    wanted = [numbered(index) for index in (1, 2, 10)]
    same = [msgspec.structs.replace(device, index=0) for device in wanted]
    mixed = [same[2], same[0], same[1]]
    assert sorted(mixed, key=device_order(mixed)) == same


def test_a_partition_follows_its_device_and_stands_alone_without_it() -> None:
    whole = [numbered(0), numbered(1)]
    part = msgspec.structs.replace(numbered(0), id="part", name="nvidia0:1", parent_id="nvidia:0")
    devices = [whole[1], part, whole[0]]
    assert sorted(devices, key=device_order(devices)) == [whole[0], part, whole[1]]
    orphan = msgspec.structs.replace(part, parent_id="nowhere")
    assert sorted([whole[1], orphan], key=device_order([orphan])) == [orphan, whole[1]]


def test_partitions_of_a_device_stand_behind_it_and_before_the_next() -> None:
    first, second = numbered(0), numbered(1)
    parts = [
        numbered(index, name=f"nvidia0:{index}", id=f"part{index}", parent_id="nvidia:0")
        for index in (7, 9)
    ]
    devices = [second, parts[1], first, parts[0]]
    assert sorted(devices, key=device_order(devices)) == [first, *parts, second]


def test_a_device_stands_before_a_partition_of_a_lower_index() -> None:
    whole = numbered(4)
    part = msgspec.structs.replace(numbered(4), id="a", name="a", parent_id="nvidia:4")
    assert sorted([part, whole], key=device_order([part, whole])) == [whole, part]
