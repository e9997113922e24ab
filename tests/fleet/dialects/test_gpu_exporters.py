"""Exporters of Cambricon, Hygon, Iluvatar and MetaX: what a person reads in a page of each."""

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.health import Health
from support.fleet.composed_pages import find, foreign, holds

MIB = 1 << 20


def test_iluvatar() -> None:
    read = foreign("ix")
    assert read.dialects == ("ix-exporter",)
    first, second = read.devices
    holds(
        first,
        utilization_ratio=0.41,
        compute_active_ratio=0.37,
        memory_size_bytes=32768 * MIB,
        memory_used_bytes=257 * MIB,
        temperature_celsius__gpu=34,
        temperature_celsius__memory=52,
        power_watts=54,
        fan_speed_ratio__0=0,
        clock_hertz__sm=1_500_000_000,
        clock_hertz__memory=1_600_000_000,
        pcie_throughput_bytes_per_second__receive=2048 << 10,
        ecc_errors_total__uncorrected=2,
    )
    assert first.device.vendor == "iluvatar"
    assert (first.device.name, first.device.model) == ("iluvatar0", "Iluvatar BI-V150")
    assert first.device.uuid == "GPU-11111111-2222-3333-4444-555555555501"
    assert [(one.pid, one.gpu_memory_bytes) for one in first.reading.processes or ()] == [
        (4242, 241 * MIB)
    ]
    # What the exporter cannot read it writes as 0.
    holds(second, utilization_ratio=0, power_watts=Absence.ERROR)
    assert (second.owners[0].namespace, second.owners[0].pod) == ("ml", "run-0")


def test_reasons_for_throttling_that_iluvatar_calls_an_xid_are_no_event() -> None:
    first = find(foreign("ix"), "iluvatar0")
    assert first.event_counts == ()
    assert not any("xid" in note.lower() for note in first.reading.notes)


def test_hygon() -> None:
    read = foreign("dcu")
    assert read.dialects == ("dcu-exporter",)
    (view,) = read.devices
    holds(
        view,
        utilization_ratio=0.125,
        memory_size_bytes=68702699520,
        memory_used_bytes=1 << 30,
        temperature_celsius__gpu=45,
        power_watts=112,
        power_limit_watts__enforced=400,
        ecc_errors_total__corrected=4,
        ecc_location_errors_total__corrected__umc=3,
        ecc_errors_total__uncorrected=0,
    )
    assert (view.device.vendor, view.device.name) == ("hygon", "dcu0")
    assert (view.device.model, view.device.pci_bus_id) == ("K100_AI", "0000:33:00.0")
    assert (view.owners[0].namespace, view.owners[0].pod) == ("ml", "run-0")


def test_metax() -> None:
    read = foreign("mx")
    assert read.dialects == ("mx-exporter",)
    first, second = read.devices
    holds(
        first,
        utilization_ratio=0.55,
        memory_size_bytes=65536 * MIB,
        memory_used_bytes=858 * MIB,
        temperature_celsius__gpu=45.5,
        temperature_celsius__memory=41,
        power_watts=48.123,
    )
    assert (first.device.vendor, first.device.name) == ("metax", "metax0")
    assert (first.device.model, first.device.driver_version) == ("MXC500", "2.14.8")
    assert (first.health, second.health) == (Health.OK, Health.FAILED)
    assert second.owners[0].pod == "run-1"


def test_a_sum_of_memories_is_absent_where_one_is_missing() -> None:
    (view,) = foreign("mlu").devices
    assert ("ecc_errors_total", "uncorrected") not in view.reading.values


def test_cambricon() -> None:
    read = foreign("mlu")
    assert read.dialects == ("mlu-exporter",)
    (view,) = read.devices
    holds(
        view,
        utilization_ratio=0.71,
        core_utilization_ratio__3=0.5,
        memory_size_bytes=24 << 30,
        memory_used_bytes=1 << 30,
        temperature_celsius__gpu=33,
        temperature_celsius__board=31,
        temperature_celsius__memory=35,
        power_watts=107,
        power_limit_watts__enforced=250,
        fan_speed_rpm__0=Absence.UNSUPPORTED,
        clock_hertz__npu=1_300_000_000,
        ecc_errors_total__corrected=3,
        ecc_enabled=1,
        pcie_link_generation__current=4,
        pcie_link_width_lanes__current=16,
        memory_repair_pending=1,
        interconnect_bytes_total__mlulink__transmit=15,
    )
    assert (view.device.vendor, view.device.name) == ("cambricon", "mlu0")
    assert (view.device.kind, view.device.model) == (DeviceKind.NPU, "MLU370-X8")
    assert view.device.serial == "0123456789ab"
    assert [(one.pid, one.gpu_memory_bytes) for one in view.reading.processes or ()] == [
        (991, 512 * MIB)
    ]
    assert view.health is Health.FAILED
