"""The backend over the composed machines of fixtures/amd."""

from typing import Any

import pytest

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.node.sampler.turns.contract import sound_devices, sound_identity, sound_readings
from accelwatch.schema.device import Device, MemoryKind
from accelwatch.schema.reading import Link

PARTITION_BYTES = 206_141_652_992 // 8


def test_identity_of_an_instinct_board(composed: Any) -> None:
    board = composed("mi300x-x2").devices()[0]
    assert board == Device(
        id="amd:GPU-0a11223344556677",
        vendor="amd",
        backend="amd",
        index=0,
        name="amd0",
        model="AMD Instinct MI300X OAM",
        architecture="gfx942/CDNA3",
        uuid="GPU-0a11223344556677",
        serial="PCB0000-0001",
        part_number="102-G30211-0C",
        firmware_version="0x00557300",
        vbios_version="113-M3000100-102",
        driver_version="6.12.12",
        pci_bus_id="0000:05:00.0",
        numa_node=0,
        device_nodes=("/dev/dri/card1", "/dev/dri/renderD128"),
        memory_kind=MemoryKind.DEDICATED,
        partition_mode="SPX/NPS1",
    )


def test_values_of_an_instinct_board(composed: Any) -> None:
    _, reading = composed("mi300x-x2").first()
    expected = {
        ("utilization_ratio",): 0.97,
        ("compute_occupancy_ratio",): 0.75,
        ("memory_bandwidth_utilization_ratio",): 0.38,
        ("memory_size_bytes",): 206_141_652_992,
        ("memory_used_bytes",): 198_000_000_000,
        ("memory_pool_size_bytes", "gtt"): 541_097_459_712,
        ("temperature_celsius", "junction"): 61,
        ("temperature_celsius", "memory"): 52,
        ("temperature_celsius", "vr"): 66,
        ("temperature_limit_celsius", "junction", "shutdown"): 110,
        ("power_watts",): 612,
        ("power_limit_watts", "enforced"): 750,
        ("energy_joules_total", "hardware"): 10_000,
        ("clock_hertz", "graphics"): 1_990_000_000,
        ("clock_hertz", "video"): 29_000_000,
        ("core_utilization_ratio", "xcc1"): 0.98,
        ("engine_utilization_ratio", "vcn"): 0,
        ("ecc_errors_total", "corrected"): 13,
        ("ecc_errors_total", "uncorrected"): 0,
        ("ecc_location_errors_total", "corrected", "umc"): 12,
        ("ecc_enabled",): 1,
        ("memory_retired_pages", "uncorrected"): 2,
        ("memory_repair_pending",): 0,
        ("memory_repair_failed",): 0,
        ("pcie_link_generation", "current"): 5,
        ("pcie_errors_total", "replay"): 2,
        ("pcie_errors_total", "nak_received"): 3,
        ("interconnect_links", "xgmi", "up"): 6,
        ("interconnect_links", "xgmi", "down"): 1,
        ("interconnect_bytes_total", "xgmi", "receive"): 3000 * 1024,
        ("interconnect_bytes_total", "xgmi", "transmit"): 4000 * 1024,
        ("link_bytes_total", "xgmi", "1", "receive"): 2000 * 1024,
        ("link_up", "xgmi", "6"): 0,
        ("interconnect_errors_total", "xgmi", "corrected"): 1,
    }
    assert {series: reading.values.get(series) for series in expected} == pytest.approx(expected)
    assert ("memory_controller_utilization_ratio",) not in reading.values
    assert ("link_up", "xgmi", "7") not in reading.values
    assert reading.links == (Link(fabric="xgmi", link="0", remote="0000:26:00.0"),)


def test_partitions_of_an_instinct_board(composed: Any) -> None:
    machine = composed("mi300x-x2")
    backend = machine.backend()
    _, second = backend.discover()
    parent, *parts = backend.identify(second)
    assert parent.partition_mode == "CPX/NPS4"
    assert [part.partition for part in parts] == [f"xcp{n}" for n in range(8)]
    assert {part.parent_id for part in parts} == {parent.id}
    assert parts[3].device_nodes == ("/dev/dri/renderD139",)
    assert parts[3].partition_technology == "xcp"
    assert parts[3].partition_profile == "CPX/NPS4"
    own, *readings = backend.read(parent, Request())
    assert own.values["utilization_ratio",] == 0.25
    assert [reading.device_id for reading in readings] == [part.id for part in parts]
    assert readings[1].values == {
        ("memory_size_bytes",): PARTITION_BYTES,
        ("memory_used_bytes",): 6_375_000_000,
        ("utilization_ratio",): 0.5,
        ("engine_utilization_ratio", "vcn"): 0,
        ("engine_utilization_ratio", "jpeg"): 0,
    }
    assert readings[2].values["utilization_ratio",] == 0


def test_one_whole_board_has_no_partitions(composed: Any) -> None:
    machine = composed("mi300x-x2")
    backend = machine.backend()
    first = backend.discover()[0]
    assert len(backend.identify(first)) == 1
    assert len(backend.read(first, Request())) == 1


def test_device_that_is_partitioned_anew(composed: Any) -> None:
    machine = composed("mi300x-x2")
    kfd = "sys/class/kfd/kfd/topology"
    machine.tree.write(f"{kfd}/generation_id", "1\n")
    backend = machine.backend()
    split = next(d for d in machine.devices(backend) if d.partition_mode == "CPX/NPS4")
    for number in range(3, 10):
        machine.tree.write(f"{kfd}/nodes/{number}/properties", "simd_count 0\n")
    machine.tree.write(f"{kfd}/generation_id", "2\n")
    assert len(backend.read(split, Request(slow=False))) == 9
    with pytest.raises(ReadError, match="repartitioned"):
        backend.read(split, Request())
    assert len(backend.identify(split)) == 1
    assert len(backend.read(split, Request())) == 1


def test_compute_processes_are_counted_by_the_compute_driver(composed: Any) -> None:
    machine = composed("mi300x-x2")
    backend = machine.backend()
    whole, split = backend.discover()
    (process,) = backend.read(whole, Request(argv=True))[0].processes
    assert (process.pid, process.command, process.type) == (4242, "python3", "compute")
    assert process.gpu_memory_bytes == 197_568_495_616
    assert process.argv == ("python3", "train.py")
    assert process.host_memory_bytes == 204_800 * 1024
    (foreign,) = backend.read(split, Request())[0].processes
    assert (foreign.pid, foreign.pid_namespace) == (5151, "foreign")
    assert foreign.gpu_memory_bytes == 8_000_000_000
    assert foreign.command is None


def test_radeon_link_is_that_of_its_slot(composed: Any) -> None:
    _, reading = composed("rx7900").first()
    assert reading.values["pcie_link_width_lanes", "current"] == 8
    assert reading.values["pcie_link_width_lanes", "max"] == 16
    assert reading.values["pcie_link_generation", "current"] == 4


def test_radeon_name_comes_from_the_installed_list(composed: Any) -> None:
    device, _ = composed("rx7900").first()
    assert device.model == "AMD Radeon RX 7900 XTX"
    assert device.architecture == "gfx1100/RDNA3"
    assert device.driver_version == "6.14.0-composed"
    assert device.uuid == "GPU-c0ffee0012345678"


def test_graphics_processes_and_their_engine_time(composed: Any) -> None:
    machine = composed("rx7900")
    backend = machine.backend()
    (device,) = backend.discover()
    first = backend.read(device, Request())[0].processes
    assert [(p.pid, p.type, p.gpu_memory_bytes) for p in first] == [
        (900, "graphics", 204_800 * 1024),
        (1900, "compute", 1_048_576 * 1024),
    ]
    assert first[1].command == "render\N{REPLACEMENT CHARACTER}"
    assert first[0].absent["utilization_ratio"] == Absence.NOT_COLLECTED
    machine.clock.advance(2.0)
    later = "drm-driver:\tamdgpu\ndrm-client-id:\t9\ndrm-pdev:\t0000:03:00.0\n"
    machine.tree.write("proc/1900/fdinfo/4", later + "drm-engine-compute:\t7500000000 ns\n")
    second = backend.read(device, Request())[0].processes
    assert second[0].utilization_ratio == 0
    assert second[1].utilization_ratio == pytest.approx(0.25)


def test_opt_in_groups_are_left_out_unless_requested(composed: Any) -> None:
    device, given = composed("mi300x-x2").first(frozenset())
    (reading,) = sound_readings((given,), (device,), frozenset())
    keys = {series[0] for series in reading.values}
    assert "voltage_volts" not in keys
    assert "link_bytes_total" not in keys
    assert "ecc_location_errors_total" not in keys
    assert "ecc_errors_total" in keys
    assert device.id == reading.device_id


def test_slow_quantities_are_kept_until_they_are_requested_again(composed: Any) -> None:
    machine = composed("mi300x-x2")
    backend = machine.backend()
    device = backend.discover()[0]
    backend.read(device, Request())
    folder = "sys/devices/pci0000:00/0000:00:01.1/0000:05:00.0"
    machine.tree.write(f"{folder}/hwmon/hwmon3/power1_cap", "500000000\n")
    machine.tree.write(f"{folder}/hwmon/hwmon3/power1_input", "499000000\n")
    machine.read_paths.clear()
    quick = backend.read(device, Request(slow=False))[0]
    assert quick.values["power_watts",] == 499
    assert quick.values["power_limit_watts", "enforced"] == 750
    assert not [path for path in machine.read_paths if "/ras/" in path or "_cap" in path]
    assert backend.read(device, Request())[0].values["power_limit_watts", "enforced"] == 500


def test_more_than_a_kilowatt_is_not_clamped(composed: Any) -> None:
    machine = composed("mi300x-x2")
    folder = "sys/devices/pci0000:00/0000:00:01.1/0000:05:00.0/hwmon/hwmon3"
    machine.tree.write(f"{folder}/power1_input", "1387500000\n")
    machine.tree.write(f"{folder}/power1_cap", "1400000000\n")
    _, reading = machine.first()
    assert reading.values["power_watts",] == 1387.5
    assert reading.values["power_limit_watts", "enforced"] == 1400


def test_two_cards_with_one_unique_id_keep_their_own_numbers(composed: Any) -> None:
    machine = composed("mi300x-x2")
    for address in ("0000:05:00.0", "0000:26:00.0"):
        (folder,) = machine.root.glob(f"sys/devices/*/*/{address}")
        (folder / "unique_id").write_text("0a11223344556677\n")
    backend = machine.backend()
    devices = sound_devices(backend.discover())
    assert [device.id for device in devices] == ["amd:0000:05:00.0", "amd:0000:26:00.0"]
    watts = []
    for device in devices:
        identity = sound_identity(backend.identify(device))
        whole = sound_readings(backend.read(identity[0], Request()), identity, frozenset())[0]
        assert whole.device_id == device.id
        watts.append(whole.values["power_watts",])
    assert watts == [612.0, 438.0]
