"""`-q -x`: nvidia-smi's document for every vendor, read back by our own reader of that document."""

import xml.etree.ElementTree as ET

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission
from accelwatch.schema.catalogue.lookup import opt_in_groups
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Process, Reading, wholly_absent
from accelwatch.schema.snapshot import BackendState, BackendStatus, DeviceView, Snapshot
from accelwatch_nvidia.smi import document as smi_document
from accelwatch_nvidia.smi import identity as smi_identity
from accelwatch_nvidia.smi import mapping as smi_mapping
from accelwatch_nvidia_smi import document, machine_of
from accelwatch_nvidia_smi.leaves import leaves
from support.machines.composed import GIB, device, lost_view, mig_view, snapshot, view
from support.machines.samples import sample
from support.machines.smi_documents import Gpu
from support.machines.smi_documents import document as composed

GROUPS = frozenset(opt_in_groups())
BLANK = Device(id="nvidia:0", vendor="nvidia", backend="nvidia", index=0, name="nvidia0")
SAMPLES = (
    "hw_qx-a100",
    "hw_qx-b200",
    "hw_qx-gb200",
    "hw_qx-h100",
    "hw_qx-l40s",
    "hw_qx-t4",
    "netdata_rtx-3060",
    "netdata_rtx-4090-driver-535",
    "netdata_tesla-p100",
    "telegraf_a100-sxm4-v12",
    "telegraf_gtx-1070-ti",
    "telegraf_gtx-1660-ti",
    "telegraf_quadro-p2000-v12",
    "telegraf_quadro-p400",
    "telegraf_rtx-3060-v12",
    "telegraf_rtx-3080-v12",
    "telegraf_rtx-3080-v13",
    "telegraf_rtx-4000-sff-ada-v13",
    "telegraf_tesla-t4",
)


def written(one: Snapshot) -> bytes:
    return document(one, machine_of(one)).encode()


def views(content: bytes) -> list[DeviceView]:
    """Devices and instances of a document, as our reader has them."""
    found = smi_document.parse(content)
    assert found.complete, found.fault
    rows: list[tuple[Device, Reading]] = []
    for index, gpu in enumerate(found.gpus):
        blank = msgspec.structs.replace(BLANK, index=index)
        whole = smi_identity.complete_device(blank, gpu, found.driver_version)
        rows.append((whole, smi_mapping.read(whole, gpu, GROUPS)))
        for part, element in smi_identity.partitions(whole, gpu, {}):
            rows.append((part, smi_mapping.read_partition(part, element, gpu, GROUPS)))
    return [
        DeviceView(device=one, state=DeviceState.OK, state_since=0.0, reading=reading)
        for one, reading in rows
    ]


def again(content: bytes) -> tuple[list[DeviceView], list[DeviceView]]:
    """What is read of a document, and of the one that is written from it."""
    before = views(content)
    return before, views(written(snapshot(*before, backends=())))


def shown(reading: Reading) -> dict[Series, Number]:
    """The values of the quantities that the document has a place for."""
    fields = [leaf.field for leaf in leaves() if leaf.field is not None]
    keys = {key for field in fields for key in (*field.series[:1], *field.needs)}
    assert {"memory_used_bytes", "throttle_active", "ecc_location_errors_total"} <= keys
    return {series: value for series, value in reading.values.items() if series[0] in keys}


def assert_same(content: bytes) -> None:
    before, after = again(content)
    assert len(before) == len(after) > 0
    for first, second in zip(before, after, strict=True):
        assert second.device == first.device
        assert shown(second.reading) == pytest.approx(shown(first.reading), abs=1e-6)
        assert second.reading.processes == first.reading.processes


def test_a_composed_document_reads_back_the_same() -> None:
    assert_same(composed([Gpu(0), Gpu(1)]).encode())


@pytest.mark.oracle
@pytest.mark.parametrize("name", SAMPLES)
def test_recorded_documents_read_back_the_same(name: str) -> None:
    assert_same(sample(f"nvidia/xml/{name}.xml").read_bytes())


def test_it_starts_and_is_laid_out_as_nvidia_smi_s() -> None:
    nvidia = BackendStatus(
        name="nvidia",
        vendor="nvidia",
        state=BackendState.OK,
        versions={"driver": "590.48.01", "cuda": "13.1"},
    )
    lines = written(snapshot(view(2), backends=(nvidia,))).decode().splitlines()
    assert lines[:3] == [
        '<?xml version="1.0" ?>',
        '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">',
        "<nvidia_smi_log>",
    ]
    assert lines[4:9] == [
        "\t<driver_version>590.48.01</driver_version>",
        "\t<cuda_version>13.1</cuda_version>",
        "\t<attached_gpus>1</attached_gpus>",
        '\t<gpu id="00000000:1A:00.0">',
        "\t\t<product_name>NVIDIA H100 80GB HBM3</product_name>",
    ]
    assert "\t\t\t<pci_bus>1A</pci_bus>" in lines
    assert "\t\t\t\t\t<current_link_width>16x</current_link_width>" in lines
    assert "\t\t\t<gpu_temp>61 C</gpu_temp>" in lines
    assert lines[-1] == "</nvidia_smi_log>"


def test_a_device_of_another_vendor_is_written_the_same_way() -> None:
    amd = msgspec.structs.replace(
        view(0),
        device=device(0, vendor="amd", id="amd:x", model="AMD Instinct MI300X", uuid="GPU-0a"),
        reading=Reading(
            device_id="amd:x",
            values={
                ("utilization_ratio",): 0.5,
                ("temperature_celsius", "junction"): 71,
                ("power_watts",): 1050.0,
                ("memory_size_bytes",): 192 * GIB,
            },
        ),
    )
    (gpu,) = ET.fromstring(written(snapshot(amd))).findall("gpu")
    assert [
        gpu.findtext(path)
        for path in (
            "product_name",
            "product_brand",
            "uuid",
            "utilization/gpu_util",
            "temperature/gpu_temp",
            "gpu_power_readings/power_draw",
            "gpu_power_readings/average_power_draw",
            "fb_memory_usage/total",
            "fb_memory_usage/used",
            "fan_speed",
        )
    ] == [
        "AMD Instinct MI300X", "AMD", "GPU-0a", "50 %", "71 C", "1050.00 W", "N/A", "196608 MiB",
        "N/A", "N/A",
    ]  # fmt: skip


def test_a_lost_device_reads_back_lost_and_a_denied_one_denied() -> None:
    with pytest.raises(DeviceLost):
        views(written(snapshot(lost_view(0))))
    denied = msgspec.structs.replace(view(0), reading=wholly_absent("x", Absence.PERMISSION))
    with pytest.raises(DevicePermission):
        views(written(snapshot(denied)))


@pytest.mark.parametrize("why", [Absence.UNSUPPORTED, Absence.PERMISSION, Absence.ERROR])
def test_processes_that_nobody_reports_are_not_none(why: Absence) -> None:
    whole = view(0)
    reading = msgspec.structs.replace(
        whole.reading, processes=None, absent={**whole.reading.absent, ("processes",): why}
    )
    (parsed,) = views(written(snapshot(msgspec.structs.replace(whole, reading=reading))))
    assert parsed.reading.processes is None
    assert parsed.reading.absent["processes",] is why


def test_instances_stand_below_their_device_with_their_processes() -> None:
    part = mig_view(2, 0)
    held = (Process(device_id=part.device.id, pid=77, command="train", gpu_memory_bytes=GIB),)
    part = msgspec.structs.replace(
        part, reading=msgspec.structs.replace(part.reading, processes=held)
    )
    whole = msgspec.structs.replace(view(0), device=device(0, partition_mode="enabled"))
    whole = msgspec.structs.replace(
        whole, reading=msgspec.structs.replace(whole.reading, processes=())
    )
    parent, instance = views(written(snapshot(whole, part)))
    assert parent.device.partition_mode == "enabled"
    assert (instance.device.partition, instance.device.index) == ("gi1/ci0", 2)
    assert instance.reading.values["memory_used_bytes",] == 3 * GIB
    assert instance.reading.processes is not None
    (process,) = instance.reading.processes
    assert (process.pid, process.command, process.gpu_memory_bytes) == (77, "train", GIB)
    assert parent.reading.processes == ()


def test_what_a_driver_says_cannot_leave_its_element() -> None:
    model = 'H100</product_name><gpu id="x">&\x1b[31m\u202e\ud800'
    hostile = msgspec.structs.replace(view(0), device=device(0, model=model))
    text = document(snapshot(hostile), machine_of(snapshot(hostile)))
    assert not {"\x1b", "\u202e"} & set(text)
    (gpu,) = ET.fromstring(text.encode()).findall("gpu")
    name = 'H100</product_name><gpu id="x">&?[31m??'
    assert gpu.findtext("product_name") == name
