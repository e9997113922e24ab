"""nvitop-exporter: its families, its processes, and a device that is lost."""

import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects import ForeignReader, read_devices
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.series import series_of
from support.machines.samples import FIXTURES, sample

NOW = 1_700_000_100.0
MIB = 1 << 20
PAGE = FIXTURES / "fleet" / "dialects" / "nvitop.prom"


def test_the_numbers_of_a_device() -> None:
    read = read_devices(PAGE.read_bytes(), NOW)
    assert read.dialects == ("nvitop-exporter",)
    first = read.devices[0]
    expected = {
        "utilization_ratio": 0.09,
        "memory_controller_utilization_ratio": 0.81,
        "engine_utilization_ratio.encoder": 0,
        "engine_utilization_ratio.decoder": 0,
        "memory_size_bytes": 81559 * MIB,
        "memory_used_bytes": 38146.5 * MIB,
        "clock_hertz.sm": 1.98e9,
        "clock_hertz.memory": 2.619e9,
        "clock_hertz.graphics": 1.965e9,
        "clock_hertz.video": 1.545e9,
        "power_watts": 345.678,
        "power_limit_watts.enforced": 700,
        "temperature_celsius.gpu": 45,
        "pcie_throughput_bytes_per_second.transmit": 1.25 * MIB,
        "pcie_throughput_bytes_per_second.receive": 2.5 * MIB,
        "interconnect_throughput_bytes_per_second.nvlink.transmit": 360 * MIB,
        "interconnect_throughput_bytes_per_second.nvlink.receive": 180 * MIB,
    }
    assert first.reading.values == {series_of(path): value for path, value in expected.items()}
    assert first.reading.absent["fan_speed_ratio", "0"] is Absence.ERROR
    assert (first.device.model, first.device.uuid) == ("NVIDIA H100 80GB HBM3", "GPU-a0")
    assert [view.state for view in read.devices[:2]] == [DeviceState.OK, DeviceState.OK]


def test_processes_are_named_by_their_program() -> None:
    first, second, lost = read_devices(PAGE.read_bytes(), NOW).devices
    (one,) = first.reading.processes or ()
    assert (one.pid, one.command, one.user) == (700, "python3", "anna")
    assert (one.gpu_memory_bytes, one.utilization_ratio) == (3072 * MIB, 0.8)
    assert (one.host_memory_bytes, one.cpu_utilization_ratio) == (512 * MIB, 1.5)
    assert second.reading.processes == ()
    assert not lost.reading.processes


def test_a_lost_device_is_lost() -> None:
    lost = read_devices(PAGE.read_bytes(), NOW).devices[2]
    assert (lost.state, lost.health) == (DeviceState.LOST, Health.FAILED)
    assert (lost.device.index, lost.device.model, lost.device.uuid) == (2, None, None)
    assert lost.health_reasons == ("the device is lost",)
    assert lost.reading.values == {}
    assert lost.reading.absent == {("*",): Absence.LOST}
    assert "GPU is Lost" in lost.reading.notes[0]


def test_a_lost_device_keeps_the_name_that_it_had() -> None:
    text = PAGE.read_text()
    well = text.replace(
        'devicename="ERROR: GPU is Lost",hostname="box",index="2",uuid="N/A"',
        'devicename="NVIDIA H100 80GB HBM3",hostname="box",index="2",uuid="GPU-a2"',
    )
    well = well.replace("NaN", "1")
    reader = ForeignReader()
    before = reader.read(well, NOW - 5).devices[2]
    lost = reader.read(text, NOW).devices[2]
    assert before.device.uuid == "GPU-a2"
    assert lost.device == before.device
    assert lost.reading.device_id == before.device.id
    assert (lost.state, lost.sample_time, lost.sample_age_s) == (DeviceState.LOST, NOW - 5, 5)
    again = reader.read(well, NOW + 5).devices[2]
    assert (again.device, again.state) == (before.device, DeviceState.OK)


def test_a_device_that_is_there_lends_its_name_to_none() -> None:
    """The order has changed: the index of the lost one is that of another now."""
    page = (
        'gpu_temperature_C{devicename="NVIDIA L4",index="0",uuid="GPU-a"} 40\n'
        'gpu_temperature_C{devicename="NVIDIA L4",index="1",uuid="GPU-b"} 41\n'
        "nvitop_info 1\n"
    )
    moved = (
        'gpu_temperature_C{devicename="NVIDIA L4",index="0",uuid="GPU-b"} 41\n'
        'gpu_temperature_C{devicename="ERROR: GPU is Lost",index="1",uuid="N/A"} NaN\n'
        "nvitop_info 1\n"
    )
    reader = ForeignReader()
    reader.read(page, NOW)
    there, lost = reader.read(moved, NOW).devices
    assert (there.device.uuid, there.state) == ("GPU-b", DeviceState.OK)
    assert (lost.device.uuid, lost.state) == (None, DeviceState.LOST)


def test_the_host_as_its_disks_and_interfaces_are_written() -> None:
    page = PAGE.read_text() + (
        'host_disk_io_read_data_MiB{hostname="box",partition="Vg0-Root"} 3.0\n'
        'host_net_io_rx_data_MiB{hostname="box",interface="Eth0"} 5.0\n'
    )
    node = read_devices(page, NOW).node
    assert node is not None
    reported = {
        ".".join(series): value
        for series, value in node.reading.values.items()
        if series[0] in ("host_disk_bytes_total", "host_filesystem_size_bytes") or "Eth0" in series
    }
    assert reported == {
        "host_disk_bytes_total.vda.read": 100 * MIB,
        "host_disk_bytes_total.vda.write": 200 * MIB,
        "host_disk_bytes_total.Vg0-Root.read": 3 * MIB,
        "host_network_bytes_total.Eth0.receive": 5 * MIB,
        "host_filesystem_size_bytes./srv/Data": 258019.5 * MIB,
    }


@pytest.mark.oracle
def test_a_recorded_page_of_eight_gpus_of_which_one_is_lost() -> None:
    page = sample("exporters/nvitop_exporter/1.7.2_h100x8.metrics").read_bytes()
    read = read_devices(page, NOW)
    states = [view.state.value for view in read.devices]
    assert states == ["ok", "ok", "ok", "ok", "ok", "lost", "ok", "ok"]
    first = read.devices[0]
    expected = {
        "utilization_ratio": 0.09,
        "memory_controller_utilization_ratio": 0.81,
        "memory_size_bytes": 81559 * MIB,
        "memory_used_bytes": 38146.97265625 * MIB,
        "clock_hertz.sm": 1.98e9,
        "power_watts": 345.678,
        "power_limit_watts.enforced": 700,
        "temperature_celsius.gpu": 45,
        "pcie_throughput_bytes_per_second.transmit": 1.205078125 * MIB,
    }
    found = {path: first.reading.values.get(series_of(path)) for path in expected}
    assert found == expected
    assert [len(view.reading.processes or ()) for view in read.devices] == [8] * 5 + [0, 8, 8]
    assert read.node is not None
    assert read.node.reading.values["host_cpu_utilization_ratio",] == 0.985
    assert ("host_network_bytes_total", "lo", "receive") not in read.node.reading.values
