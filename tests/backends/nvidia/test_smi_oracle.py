"""Every recorded `nvidia-smi -q -x`, against values read from it by hand."""

from pathlib import Path

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost
from accelwatch.schema.device import Device, MemoryKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch_nvidia.smi import identity as smi_identity
from accelwatch_nvidia.smi import mapping as smi_mapping
from accelwatch_nvidia.smi.document import SmiDocument, parse
from accelwatch_nvidia.smi.identity import listed_instances
from support.machines.polling import assert_all_believed
from support.machines.samples import sample, samples_root

pytestmark = pytest.mark.oracle
MIB = 1 << 20
GROUPS = frozenset({"ecc", "pcie", "pools", "components"})


def document(name: str) -> SmiDocument:
    return parse(sample(f"nvidia/{name}").read_bytes())


def blank(index: int = 0) -> Device:
    return Device(id="x", vendor="nvidia", backend="nvidia", index=index, name=f"nvidia{index}")


def gpu(name: str, index: int = 0) -> tuple[Device, Reading]:
    read = document(name)
    element = read.gpus[index]
    device = smi_identity.complete_device(blank(index), element, read.driver_version)
    return device, smi_mapping.read(device, element, GROUPS)


EXPECTED: dict[str, dict[Series, Number | Absence]] = {
    "xml/hw_qx-a100.xml": {
        ("memory_size_bytes",): 40960 * MIB,
        ("memory_reserved_bytes",): 518 * MIB,
        ("temperature_celsius", "memory"): 34,
        ("temperature_limit_celsius", "gpu", "shutdown"): 92,
        ("temperature_limit_celsius", "memory", "max_operating"): 95,
        ("power_watts",): 49.68,
        ("power_limit_watts", "min"): 100,
        ("clock_hertz", "memory"): 1_215_000_000,
        ("pcie_throughput_bytes_per_second", "transmit"): 350_000,
        ("temperature_headroom_celsius",): Absence.UNSUPPORTED,
        ("fan_speed_ratio",): Absence.UNSUPPORTED,
        ("fabric_state_info",): Absence.UNSUPPORTED,
    },
    "xml/hw_qx-b200.xml": {
        ("memory_size_bytes",): 183359 * MIB,
        ("power_watts",): 195.79,
        ("power_component_watts", "memory"): 22.33,
        ("temperature_margin_celsius",): 49,
        ("temperature_headroom_celsius",): 52,
        ("platform_module_info", "6"): 1,
        ("platform_info",): Absence.UNSUPPORTED,
        ("fabric_clique_info", "0"): 1,
        ("fabric_cluster_info",): Absence.UNSUPPORTED,
        ("clock_limit_hertz", "graphics", "max"): 1_965_000_000,
        ("throttle_seconds_total", "power"): 770.461242,
        ("fabric_state_info", "completed"): 1,
        ("temperature_limit_celsius",): Absence.UNSUPPORTED,
    },
    "xml/hw_qx-gb200.xml": {
        ("power_watts",): 165.93,
        ("power_component_watts", "module"): 467.68,
        ("power_component_limit_watts", "module", "enforced"): 2500,
        ("power_component_limit_watts", "module", "min"): 500,
        ("temperature_margin_celsius",): 60,
        ("temperature_headroom_celsius",): 62,
        ("platform_info", "1820000000001", "14", "4", "1"): 1,
        ("platform_module_info", "2"): 1,
        ("fabric_clique_info", "2"): 1,
        ("fabric_cluster_info", "00000001-0000-0000-0000-000000000001"): 1,
        ("memory_row_remap_banks", "max"): 3968,
        ("memory_row_remap_banks", "none"): 0,
        ("memory_remapped_rows_inactive", "uncorrected"): 0,
        ("memory_unrepairable",): 0,
        ("compute_repair_pending",): 0,
        ("sram_error_threshold_exceeded",): 0,
        ("persistence_enabled",): 1,
        ("ecc_enabled_pending",): 1,
        ("partitioning_enabled",): 0,
        ("partitioning_enabled_pending",): 0,
        ("power_limit_watts", "enforced"): 1200,
        ("throttle_seconds_total", "power"): 2.354613,
        ("recovery_action_info", "none"): 1,
        ("memory_retired_pages",): Absence.UNSUPPORTED,
    },
    "xml/hw_qx-h100.xml": {
        ("memory_size_bytes",): 81559 * MIB,
        ("memory_used_bytes",): 0,
        ("memory_pool_used_bytes", "bar1"): MIB,
        ("temperature_celsius", "gpu"): 29,
        ("temperature_margin_celsius",): 58,
        ("temperature_headroom_celsius",): 60,
        ("power_watts",): 68.92,
        ("power_component_watts", "memory"): 32.98,
        ("throttle_seconds_total", "power"): 7015.662857,
        ("pcie_errors_total", "replay"): 150,
        ("pcie_link_width_lanes", "current"): 16,
        ("throttle_active", "power"): 0,
        ("ecc_enabled",): 1,
        ("memory_remapped_rows", "uncorrected"): 0,
        ("reset_required",): 0,
        ("utilization_ratio",): 0,
    },
    "xml/hw_qx-l40s.xml": {
        ("pcie_link_width_lanes", "current"): 8,
        ("pcie_link_width_lanes", "max"): 16,
        ("clock_hertz", "graphics"): 2_040_000_000,
        ("power_watts",): 66.16,
        ("fabric_state_info",): Absence.UNSUPPORTED,
        ("power_component_watts",): Absence.UNSUPPORTED,
    },
    "xml/hw_qx-t4.xml": {
        ("ecc_lifetime_errors", "corrected"): 1,
        ("ecc_errors_total", "corrected"): 0,
        ("memory_retired_pages", "single_bit"): 0,
        ("memory_repair_pending",): 0,
        ("power_watts",): 33.51,
        ("temperature_limit_celsius", "gpu", "slowdown"): 93,
    },
    "xml/netdata_rtx-3060.xml": {
        ("voltage_volts", "graphics"): 0.63125,
        ("power_watts",): 8.7,
        ("memory_used_bytes",): 5 * MIB,
        ("pcie_link_generation", "current"): 1,
        ("pcie_link_generation", "max"): 4,
        ("performance_state",): 8,
        ("power_limit_watts",): Absence.UNSUPPORTED,
        ("ecc_enabled",): Absence.UNSUPPORTED,
    },
    "xml/netdata_rtx-4090-driver-535.xml": {
        ("power_watts",): 26.84,
        ("power_limit_watts", "max"): 600,
        ("fan_speed_ratio", "0"): 0,
        ("ecc_enabled",): 0,
        ("temperature_margin_celsius",): 43,
        ("temperature_headroom_celsius",): 45,
        ("temperature_limit_celsius", "gpu", "target"): 84,
        ("reset_required",): 0,
        ("ecc_errors_total",): Absence.UNSUPPORTED,
    },
    "xml/netdata_tesla-p100.xml": {
        ("ecc_lifetime_errors", "corrected"): 3,
        ("ecc_location_errors_total", "corrected", "dram"): 0,
        ("power_watts",): 26.16,
        ("power_limit_watts", "enforced"): 250,
        ("memory_retired_pages", "double_bit"): 0,
        ("fan_speed_ratio",): Absence.UNSUPPORTED,
    },
    "xml/telegraf_a100-sxm4-v12.xml": {
        ("utilization_ratio",): Absence.UNSUPPORTED,
        ("engine_utilization_ratio",): Absence.UNSUPPORTED,
        ("memory_remapped_rows",): Absence.UNSUPPORTED,
        ("power_watts",): 67.03,
        ("memory_used_bytes",): 50 * MIB,
        ("pcie_throughput_bytes_per_second", "transmit"): 4_000_000,
    },
    "xml/telegraf_gtx-1070-ti.xml": {
        ("fan_speed_ratio", "0"): 1,
        ("memory_used_bytes",): 42 * MIB,
        ("power_watts",): Absence.UNSUPPORTED,
        ("pcie_link_width_lanes", "current"): 16,
    },
    "xml/telegraf_gtx-1660-ti.xml": {
        ("power_watts",): 8.93,
        ("memory_controller_utilization_ratio",): 0.01,
        ("temperature_limit_celsius", "gpu", "max_operating"): 91,
        ("memory_retired_pages",): Absence.UNSUPPORTED,
    },
    "xml/telegraf_quadro-p2000-v12.xml": {
        ("fan_speed_ratio", "0"): 0.46,
        ("power_watts",): 4.61,
        ("pcie_link_width_lanes", "current"): 8,
        ("voltage_volts",): Absence.UNSUPPORTED,
    },
    "xml/telegraf_quadro-p400.xml": {
        ("memory_size_bytes",): 1998 * MIB,
        ("fan_speed_ratio", "0"): 0.34,
        ("power_watts",): Absence.UNSUPPORTED,
        ("power_limit_watts",): Absence.UNSUPPORTED,
    },
    "xml/telegraf_rtx-3060-v12.xml": {
        ("power_watts",): 11.63,
        ("power_limit_watts", "max"): 190,
        ("memory_used_bytes",): 116 * MIB,
        ("pcie_throughput_bytes_per_second", "receive"): 500_000,
        ("voltage_volts",): Absence.UNSUPPORTED,
    },
    "xml/telegraf_rtx-3080-v12.xml": {
        ("memory_controller_utilization_ratio",): 0.37,
        ("power_watts",): 22.78,
        ("voltage_volts", "graphics"): 0.75,
        ("power_limit_watts", "default"): 320,
        ("memory_used_bytes",): 1128 * MIB,
    },
    "xml/telegraf_rtx-3080-v13.xml": {
        ("utilization_ratio",): 0.65,
        ("power_watts",): 142.33,
        ("performance_state",): 2,
        ("pcie_throughput_bytes_per_second", "receive"): 14_742_333_000,
        ("memory_pool_used_bytes", "bar1"): 9218 * MIB,
    },
    "xml/telegraf_rtx-4000-sff-ada-v13.xml": {
        ("fan_speed_ratio", "0"): 0.3,
        ("memory_used_bytes",): 3534 * MIB,
        ("throttle_seconds_total", "power"): 4251.825415,
        ("power_watts",): 8.44,
        ("temperature_celsius", "gpu"): 38,
    },
    "xml/telegraf_tesla-t4.xml": {
        ("memory_size_bytes",): 15360 * MIB,
        ("ecc_enabled",): 1,
        ("performance_state",): 0,
        ("fan_speed_ratio",): Absence.UNSUPPORTED,
    },
    "xml_reduced/gb10_unified_memory.xml": {
        ("utilization_ratio",): 0.02,
        ("temperature_celsius", "gpu"): 38,
        ("memory_size_bytes",): Absence.UNSUPPORTED,
        ("memory_pool_size_bytes",): Absence.UNSUPPORTED,
    },
    "xml_rendered_over_mock/qx-gb200-ecc-injected.xml": {
        ("ecc_lifetime_errors", "uncorrected"): 8,
        ("ecc_errors_total", "uncorrected"): 5,
        ("ecc_location_errors_total", "uncorrected", "dram"): 5,
        ("throttle_seconds_total",): Absence.UNSUPPORTED,
    },
    "xml_rendered_over_mock/qx-gb200-lost.xml": {
        ("ecc_errors_total", "uncorrected"): 5,
        ("memory_remapped_rows", "uncorrected"): 1,
        ("memory_repair_failed",): 1,
        ("memory_repair_pending",): 0,
        ("power_watts",): 565.11,
    },
    "xml_rendered_over_mock/qx-gb200-fabric-degraded.xml": {
        ("fabric_state_info", "completed"): 1,
        ("utilization_ratio",): 0.44,
    },
    "xml_rendered_over_mock/qx-gb200-throttle-counters.xml": {
        ("throttle_seconds_total", "power"): 0.039595,
        ("throttle_seconds_total", "power_brake"): 0,
        ("utilization_ratio",): 0.36,
    },
}


@pytest.mark.parametrize("name", EXPECTED)
def test_first_gpu_of_a_recording(name: str) -> None:
    _, reading = gpu(name)
    for series, expected in EXPECTED[name].items():
        if isinstance(expected, Absence):
            assert reading.absent.get(series) is expected, series
            assert not [known for known in reading.values if known[0] == series[0]]
        else:
            assert reading.values[series] == pytest.approx(expected, rel=1e-12), series


@pytest.mark.parametrize("name", EXPECTED)
def test_every_number_of_a_recording_is_believed(name: str) -> None:
    for index in range(len(document(name).gpus)):
        try:
            device, reading = gpu(name, index)
        except DeviceLost:
            continue
        device = msgspec.structs.replace(device, id=reading.device_id)
        assert_all_believed((device,), (reading,))


def test_no_recording_is_left_out() -> None:
    sample("nvidia/xml")
    folder = samples_root() / "nvidia"
    names = {str(path.relative_to(folder)) for path in folder.glob("xml*/*.xml")}
    assert names == set(EXPECTED)


@pytest.mark.parametrize(
    ("name", "count", "driver"),
    [
        ("xml/hw_qx-h100.xml", 8, "580.105.08"),
        ("xml/hw_qx-b200.xml", 8, "580.105.08"),
        ("xml/hw_qx-gb200.xml", 4, "580.173.02"),
        ("xml/telegraf_gtx-1660-ti.xml", 1, "418.43"),
        ("xml/telegraf_gtx-1070-ti.xml", 1, None),
    ],
)
def test_document_of_a_recording(name: str, count: int, driver: str | None) -> None:
    read = document(name)
    assert (len(read.gpus), read.driver_version, read.complete) == (count, driver, True)


def test_identity_of_recordings() -> None:
    device, _ = gpu("xml/netdata_tesla-p100.xml")
    assert device.model == "Tesla P100-PCIE-16GB"
    assert device.id == "nvidia:GPU-d3da8716-eaab-75db-efc1-60e88e1cd55e"
    assert device.serial == "0324217145110"
    assert device.pci_bus_id == "0000:00:04.0"
    assert device.architecture == "Pascal"
    assert device.driver_version == "510.47.03"
    assert device.vbios_version == "86.00.52.00.02"
    card, _ = gpu("xml/netdata_rtx-4090-driver-535.xml")
    assert card.serial is None
    assert card.partition_mode is None
    assert card.memory_kind is MemoryKind.DEDICATED
    assert card.device_nodes == ("/dev/nvidia0",)


def test_mig_instances_of_a_recording() -> None:
    read = document("xml/telegraf_a100-sxm4-v12.xml")
    device = smi_identity.complete_device(blank(), read.gpus[0], read.driver_version)
    assert device.partition_mode == "enabled"
    parts = smi_identity.partitions(device, read.gpus[0], {})
    assert [part.partition for part, _ in parts] == ["gi3/ci0", "gi4/ci0", "gi5/ci0", "gi6/ci0"]
    reading = smi_mapping.read_partition(*parts[0], read.gpus[0], frozenset({"ecc"}))
    assert reading.values == {
        ("memory_size_bytes",): 19968 * MIB,
        ("memory_used_bytes",): 12 * MIB,
        ("memory_reserved_bytes",): 0,
        ("ecc_location_errors_total", "uncorrected", "sram"): 0,
    }


def test_unified_memory_and_its_processes() -> None:
    device, reading = gpu("xml_reduced/gb10_unified_memory.xml")
    assert device.memory_kind is MemoryKind.SHARED
    assert [(p.pid, p.type, p.command, p.gpu_memory_bytes) for p in reading.processes or ()] == [
        (2553, "graphics", "Xorg", 18 * MIB),
        (2651, "graphics", "gnome-shell", 6 * MIB),
        (415592, "compute", "VLLM::EngineCore", 69564 * MIB),
    ]


def test_only_the_program_of_a_command_line_is_kept() -> None:
    _, reading = gpu("xml/telegraf_rtx-3080-v12.xml")
    assert [process.command for process in reading.processes or ()] == [
        "Xorg",
        "gnome-shell",
        "msedge",
        "firefox",
        "code",
    ]


def test_a_lost_gpu_is_lost_and_its_neighbour_is_not() -> None:
    read = document("xml_rendered_over_mock/qx-gb200-lost.xml")
    assert smi_mapping.read(blank(0), read.gpus[0], GROUPS).values
    with pytest.raises(DeviceLost) as lost:
        smi_mapping.read(blank(1), read.gpus[1], GROUPS)
    assert lost.value.code == "NVML_ERROR_GPU_IS_LOST"


def test_an_unhealthy_fabric_is_named() -> None:
    _, reading = gpu("xml_rendered_over_mock/qx-gb200-fabric-degraded.xml", 1)
    assert reading.values["fabric_state_info", "unhealthy"] == 1
    assert reading.notes == ("fabric: route unhealthy: True", "fabric: summary: Unhealthy")


def test_mig_instances_listed_by_a_session() -> None:
    name = "nvidia/captures/linux-x86_64__nvidia-h100-mig__590.48.01.txt"
    found = listed_instances(Path(sample(name)).read_text())
    assert found["GPU-00000000-0000-0000-0000-000000000000"] == {
        0: ("3g.40gb", "MIG-00000000-0000-0000-0000-000000000000"),
        1: ("2g.20gb", "MIG-00000001-0000-0000-0000-000000000001"),
        2: ("1g.10gb", "MIG-00000002-0000-0000-0000-000000000002"),
        3: ("1g.10gb", "MIG-00000003-0000-0000-0000-000000000003"),
    }
