"""Which device a sample is about and what its labels say of it; which part of the device it is about."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.exposition import Key
from accelwatch.fleet.dialects.base.table import Dialect, Labels, Partition, Processes
from accelwatch.fleet.dialects.plans.identity import MAX_DEVICES, DeviceIndex
from accelwatch.fleet.dialects.plans.partitions import name_of, partition_of
from accelwatch.schema.device import Device, DeviceKind, MemoryKind
from support.machines import composed as machines

LABELS = Labels(
    uuid=("uuid", "UUID"),
    pci=("pci",),
    serial=("serial",),
    index=("index",),
    name=("name",),
    model=("model",),
    driver=("driver",),
    vbios=("vbios",),
    firmware=("firmware",),
    architecture=("architecture",),
    kind=("kind",),
    npu=("npu",),
    library=("library",),
    memory=("memory",),
    positional=(r"GPU-at-(?P<pci>[0-9a-f:.]+)", r"nobody"),
)
DIALECT = Dialect(name="theirs", vendor="amd", fingerprints=("x",), labels=LABELS)


def key(**labels: str) -> Key:
    return Key("x", tuple(labels), tuple(labels.values()))


def devices(*keys: Key, dialect: Dialect = DIALECT, **changes: object) -> list[Device]:
    return DeviceIndex(msgspec.structs.replace(dialect, **changes), keys).devices()


def test_every_label_says_its_part_of_a_device() -> None:
    labelled = key(
        uuid="GPU-1",
        pci="00000000:05:00.0",
        serial="77",
        index="3",
        name="card3",
        model="Instinct MI300X",
        driver="6.1",
        vbios="v1",
        firmware="f2",
        architecture="cdna3",
        memory="unified",
    )
    assert devices(labelled) == [
        Device(
            id="amd:GPU-1",
            vendor="amd",
            backend="theirs",
            index=3,
            name="card3",
            kind=DeviceKind.GPU,
            model="Instinct MI300X",
            architecture="cdna3",
            uuid="GPU-1",
            serial="77",
            firmware_version="f2",
            vbios_version="v1",
            driver_version="6.1",
            pci_bus_id="0000:05:00.0",
            memory_kind=MemoryKind.SHARED,
        )
    ]


@pytest.mark.parametrize(
    ("labels", "device_id"),
    [
        ({"uuid": "GPU-1", "serial": "7", "pci": "0000:05:00.0", "name": "n"}, "amd:GPU-1"),
        ({"serial": "7", "pci": "0000:05:00.0", "name": "n"}, "amd:7"),
        ({"pci": "0000:05:00.0", "name": "n"}, "amd:0000:05:00.0"),
        ({"name": "n"}, "amd:n"),
        ({"index": "2"}, "amd:amd2"),
        ({"uuid": "N/A", "UUID": "GPU-2"}, "amd:GPU-2"),
    ],
)
def test_a_device_goes_by_the_best_that_is_reported(labels: dict[str, str], device_id: str) -> None:
    assert [device.id for device in devices(key(**labels))] == [device_id]


@pytest.mark.parametrize(
    ("labels", "index"),
    [
        ({"index": "7", "name": "card3"}, 7),
        ({"name": "card12"}, 12),
        ({"name": "card"}, 0),
        ({"index": "x7", "name": "card3"}, 0),
        ({"index": "999999"}, 999_999),
        ({"index": "1000000"}, 0),
        ({"serial": "5"}, 0),
    ],
)
def test_the_index_is_the_label_s_or_that_behind_the_name(
    labels: dict[str, str], index: int
) -> None:
    assert [device.index for device in devices(key(**labels))] == [index]


def test_devices_without_an_index_are_numbered_as_they_are_met() -> None:
    found = devices(key(serial="a"), key(serial="b"), device_name="npu")
    assert [(device.index, device.name) for device in found] == [(0, "npu0"), (1, "npu1")]


def test_samples_without_a_uuid_are_of_the_device_that_says_the_same_of_itself() -> None:
    keys = (
        key(index="0", serial="s0"),
        key(uuid="GPU-B", pci="0000:02:00.0", index="1"),
        key(uuid="GPU-A", pci="0000:01:00.0", index="0"),
        key(pci="0000:02:00.0", model="late"),
    )
    roster = DeviceIndex(DIALECT, keys)
    first, second = roster.devices()
    assert (first.uuid, first.model, first.serial) == ("GPU-B", "late", None)
    assert (second.uuid, second.model, second.serial) == ("GPU-A", None, "s0")
    assert [roster.number(one) for one in keys] == [1, 0, 1, 0]
    assert roster.number(key(uuid="GPU-C", index="0")) is None
    assert roster.number(key(index="5")) is None
    assert roster.number(key()) is None


def test_an_id_that_two_devices_claim_is_nobody_s() -> None:
    keys = (key(uuid="GPU-A", name="same"), key(uuid="GPU-B", name="same"))
    roster = DeviceIndex(DIALECT, keys)
    assert roster.number(key(name="same")) is None
    assert [roster.number(one) for one in keys] == [0, 1]
    third = DeviceIndex(DIALECT, (*keys, key(uuid="GPU-C", name="same")))
    assert third.number(key(name="same")) is None


def test_devices_are_bounded() -> None:
    keys = [key(serial=f"s{number}") for number in range(MAX_DEVICES + 1)]
    roster = DeviceIndex(DIALECT, keys)
    assert len(roster.devices()) == MAX_DEVICES
    assert roster.number(keys[-2]) == MAX_DEVICES - 1
    assert roster.number(keys[-1]) is None


def test_a_uuid_that_names_a_slot_is_none() -> None:
    (device,) = devices(key(uuid="gpu-at-0000:07:00.0"))
    assert (device.uuid, device.pci_bus_id, device.id) == (None, "0000:07:00.0", "amd:0000:07:00.0")
    (device,) = devices(key(uuid="GPU-at-0000:07:00.0", pci="0000:08:00.0"))
    assert device.pci_bus_id == "0000:08:00.0"
    labelled = key(uuid="GPU-at-0000:07:00.0", pci="0000:08:00.0")
    assert len(devices(labelled, key(pci="0000:08:00.0"))) == 1, "its label says its place better"
    (device,) = devices(key(uuid="nobody", index="4"))
    assert (device.uuid, device.pci_bus_id, device.id) == (None, None, "amd:amd4")


def test_all_samples_are_about_the_only_device_of_an_exporter() -> None:
    only = msgspec.structs.replace(DIALECT, labels=msgspec.structs.replace(LABELS, only="tpu"))
    keys = (key(index="3"), key(index="4", model="v5e"), key())
    roster = DeviceIndex(only, keys)
    assert [(device.index, device.model) for device in roster.devices()] == [(3, "v5e")]
    assert [roster.number(one) for one in keys] == [0, 0, 0]


@pytest.mark.parametrize(
    ("vendor", "model", "expected"),
    [
        ("nvidia", "MTT S80", "mthreads"),
        ("nvidia", "NVIDIA H100", "nvidia"),
        ("amd", "MTT S80", "amd"),
        ("", "MTT S80", "mthreads"),
        ("", "Radeon", "amd"),
        ("", "", "unknown"),
    ],
)
def test_the_vendor_is_the_dialect_s_but_for_one_that_speaks_like_another(
    vendor: str, model: str, expected: str
) -> None:
    (device,) = devices(key(index="0", model=model), vendor=vendor)
    assert device.vendor == expected


def test_the_kind_is_the_dialect_s_or_what_labels_say() -> None:
    assert devices(key(index="0"), kind="npu")[0].kind is DeviceKind.NPU
    assert devices(key(index="0", kind="tpu"))[0].kind is DeviceKind.NPU
    assert devices(key(index="0", npu="0"))[0].kind is DeviceKind.NPU
    assert devices(key(index="0", library="Metal"), vendor="")[0].vendor == "apple"


def test_a_text_instead_of_a_model_is_recognised() -> None:
    broken = msgspec.structs.replace(DIALECT, broken="ERR!")
    roster = DeviceIndex(broken, (key(index="0", model="ERR! lost"), key(index="1", model="H100")))
    assert [facts.get("broken") for facts in roster.facts] == ["ERR! lost", None]
    assert [device.model for device in roster.devices()] == [None, "H100"]
    whole = DeviceIndex(DIALECT, (key(index="0", model="ERR! lost"),))
    assert whole.devices()[0].model == "ERR! lost"


def test_a_uuid_of_several_slots_is_no_name() -> None:
    keys = [key(uuid="GPU-1", pci=f"0000:0{n}:00.0", index=str(n)) for n in (1, 2, 3)]
    roster = DeviceIndex(DIALECT, (*keys, key(uuid="GPU-9", pci="0000:09:00.0", index="9")))
    other, *twins = roster.devices()
    assert [device.id for device in twins] == [f"amd:0000:0{n}:00.0" for n in (1, 2, 3)]
    assert {device.uuid for device in twins} == {None}
    assert all(device.absent == {"uuid": Absence.ERROR} for device in twins)
    assert (other.uuid, other.absent) == ("GPU-9", {})
    doubt = "duplicate uuid GPU-1: 3 devices report it"
    assert roster.doubts() == {device.id: doubt for device in twins}
    assert DeviceIndex(DIALECT, keys[:1]).doubts() == {}


def test_a_process_uses_the_device_of_its_uuid() -> None:
    with_processes = msgspec.structs.replace(DIALECT, processes=Processes(uuid=("of",)))
    roster = DeviceIndex(
        with_processes, (key(uuid="GPU-1", index="0"), key(uuid="GPU-2", index="1"))
    )
    assert roster.used_by(key(of="GPU-2", index="0")) == 1
    assert roster.used_by(key(of="", index="0")) is None
    assert roster.used_by(key(of="GPU-3", index="0")) is None
    for dialect in (DIALECT, msgspec.structs.replace(DIALECT, processes=Processes())):
        by_labels = DeviceIndex(
            dialect, (key(uuid="GPU-1", index="0"), key(uuid="GPU-2", index="1"))
        )
        assert by_labels.used_by(key(of="GPU-2", index="0")) == 0


MIG = Partition(label="gi", within="ci", profile=("profile", "profile_name"), uuid=("part_uuid",))
TILE = Partition(label="tile", technology="tile", name="tile{}")


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ({"gi": "7", "ci": "0"}, "gi7/ci0"),
        ({"gi": "7"}, "gi7"),
        ({"gi": "7", "ci": "N/A"}, "gi7"),
        ({"ci": "0"}, ""),
        ({"gi": "N/A"}, ""),
        ({"tile": "1"}, "tile1"),
        ({"tile": "1", "gi": "2"}, "gi2"),
        ({}, ""),
    ],
)
def test_labels_name_a_part_of_a_device(labels: dict[str, str], name: str) -> None:
    cut = msgspec.structs.replace(DIALECT, partitions=(MIG, TILE))
    assert name_of(cut, key(**labels)) == name
    part = partition_of(cut, key(**labels))
    assert (part.name if part is not None else "") == name
    assert name_of(DIALECT, key(**labels)) == ""
    assert partition_of(DIALECT, key(**labels)) is None


def test_a_part_is_a_device_below_the_whole_one() -> None:
    cut = msgspec.structs.replace(DIALECT, partitions=(MIG,))
    part = partition_of(cut, key(gi="7"))
    assert part is not None
    parent = machines.device(0)
    bare = part.device(parent)
    assert (bare.uuid, bare.partition_profile) == (None, None)
    part.learn(key(gi="7", profile="1g.10gb"))
    part.learn(key(gi="7", part_uuid="MIG-1", profile_name="1g.10gb"))
    device = part.device(parent)
    assert device == msgspec.structs.replace(
        parent,
        id=f"{parent.id}/gi7",
        name="nvidia0/gi7",
        uuid="MIG-1",
        serial=None,
        parent_id=parent.id,
        partition="gi7",
        partition_technology="mig",
        partition_profile="1g.10gb",
    )
    part.learn(key(gi="7", part_uuid="MIG-2", profile="2g.20gb"))
    assert (part.device(parent).uuid, part.device(parent).partition_profile) == (None, None)
