"""The XML parser under truncation and damage: typed outcomes only, and no value that was not there."""

import functools
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accelwatch.base.errors import ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch_nvidia.smi import identity as smi_identity
from accelwatch_nvidia.smi import mapping as smi_mapping
from accelwatch_nvidia.smi.document import MAX_DEPTH, parse
from support.machines.samples import FIXTURES

GROUPS = frozenset({"ecc", "pcie", "pools", "components"})
MACHINES = ("h100x2", "h100x2-lost", "rtx3090", "h100-mig")
NO_EXAMPLES_KEPT = settings(
    database=None, deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow]
)


@functools.cache
def content(machine: str) -> bytes:
    return (FIXTURES / "nvidia" / machine / "nvidia-smi.xml").read_bytes()


Values = Mapping[Series, Number]


def readings(data: bytes) -> dict[str, Values]:
    """Values by PCI id and MIG instance; only ReadError may be raised by the mapping."""
    found: dict[str, Values] = {}
    read = parse(data)
    for index, gpu in enumerate(read.gpus):
        blank = Device(id="x", vendor="nvidia", backend="nvidia", index=index, name="n")
        try:
            device = smi_identity.complete_device(blank, gpu, read.driver_version)
            reading = smi_mapping.read(device, gpu, GROUPS)
        except ReadError:
            continue
        found[device.pci_bus_id or str(index)] = reading.values
        for part, element in smi_identity.partitions(device, gpu, {}):
            values = smi_mapping.read_partition(part, element, gpu, GROUPS).values
            found[f"{device.pci_bus_id} {part.partition}"] = values
    return found


@functools.cache
def whole(machine: str) -> dict[str, Values]:
    return readings(content(machine))


# Versions as drivers up to 595 print them, and in the ways of 610 and what may follow it.
HEADS = {
    "as ever": "<driver_version>590.1.2</driver_version><cuda_version>13.1</cuda_version>",
    "with a note": "<driver_version>590.1.2 [Deprecated; gone in CUDA 99. Use another]</driver_version>"
    "<cuda_version>13.1 [Deprecated; gone in CUDA 99. Use another]</cuda_version>"
    "<kmd_version>590.1.2</kmd_version><cuda_umd_version>13.1</cuda_umd_version>",
    "a note alone": '<driver_version>Deprecated, see "KMD version" instead</driver_version>'
    "<cuda_version>N/A</cuda_version>"
    "<kmd_version>590.1.2</kmd_version><cuda_umd_version>13.1</cuda_umd_version>",
    "under the new names": "<kmd_version>590.1.2</kmd_version><cuda_umd_version>13.1</cuda_umd_version>",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS.keys())
def test_versions_under_their_old_and_their_new_names(head: str) -> None:
    read = parse(f"<nvidia_smi_log>{head}</nvidia_smi_log>".encode())
    assert (read.driver_version, read.cuda_version) == ("590.1.2", "13.1")


def test_a_version_that_is_not_reported_is_none() -> None:
    read = parse(b"<nvidia_smi_log><driver_version>N/A</driver_version></nvidia_smi_log>")
    assert (read.driver_version, read.cuda_version) == (None, None)


def test_a_number_with_a_note_that_it_is_deprecated_is_one() -> None:
    fan = b"<fan_speed>38 % [Deprecated; use another]</fan_speed>"
    (gpu,) = parse(b"<nvidia_smi_log><gpu>" + fan + b"</gpu></nvidia_smi_log>").gpus
    assert gpu.findtext("fan_speed") == "38 %"


@NO_EXAMPLES_KEPT
@given(machine=st.sampled_from(MACHINES), data=st.data())
def test_a_cut_document_gives_whole_gpus_or_none(machine: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(0, len(content(machine)) - 1))
    cut = content(machine)[:size]
    found = readings(cut)
    assert all(found[key] == whole(machine)[key] for key in found)
    assert not parse(cut.rstrip()).complete or found == whole(machine)


@NO_EXAMPLES_KEPT
@given(
    machine=st.sampled_from(MACHINES),
    positions=st.lists(st.integers(0, 12000), min_size=1, max_size=8),
    damage=st.sampled_from([b"\xff", b"\x00", b"<", b"&", b"?", b"]"]),
)
def test_damage_loses_values_and_invents_none(
    machine: str, positions: list[int], damage: bytes
) -> None:
    broken = bytearray(content(machine))
    for position in positions:
        at = position % len(broken)
        broken[at : at + 1] = damage
    known = {value for values in whole(machine).values() for value in values.values()}
    known |= {0, 1}
    for values in readings(bytes(broken)).values():
        for series, number in values.items():
            assert number in known or series[0] == "ecc_errors_total", series


@NO_EXAMPLES_KEPT
@given(data=st.binary(max_size=400))
def test_garbage_is_no_document(data: bytes) -> None:
    read = parse(data)
    assert not read.gpus
    assert not read.complete


def test_entities_are_refused() -> None:
    bomb = (
        b'<?xml version="1.0"?><!DOCTYPE nvidia_smi_log [<!ENTITY a "x"><!ENTITY b "&a;&a;">]>'
        b'<nvidia_smi_log><gpu id="1"><product_name>&b;</product_name></gpu></nvidia_smi_log>'
    )
    read = parse(bomb)
    assert read.gpus == ()
    assert read.fault == "the document declares entities"


def test_a_document_type_is_not_fetched() -> None:
    read = parse(b'<!DOCTYPE nvidia_smi_log SYSTEM "http://192.0.2.1/x.dtd"><nvidia_smi_log/>')
    assert read.complete


def test_too_deep_a_document_is_refused() -> None:
    read = parse(b"<nvidia_smi_log>" + b"<a>" * (MAX_DEPTH + 1))
    assert not read.complete
    assert read.fault == "elements nest too deep"


@pytest.mark.parametrize("name", [b"R&D", b"a\xffb", b"a\x07b", b"R&amp;D", b"x&#0;y"])
def test_awkward_process_names_do_not_spoil_the_document(name: bytes) -> None:
    data = content("rtx3090").replace(b"/usr/bin/gnome-shell", name)
    read = parse(data)
    if name == b"x&#0;y":
        assert not read.complete
        return
    assert read.complete
    assert len(read.gpus) == 1


def test_ten_megabytes_of_garbage_end_quickly() -> None:
    assert parse(b"<nvidia_smi_log>" + b"A" * (10 << 20)).gpus == ()
