"""Composed snapshots for tests of views: eight H100-like devices, and the ways they can be unwell."""

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Process, Reading, complete, wholly_absent
from accelwatch.schema.snapshot import (
    BackendState,
    BackendStatus,
    DeviceView,
    EventCount,
    ReadFailure,
    Snapshot,
)

NOW = 1_800_000_000.0
GIB = 1 << 30


def device(index: int = 0, **changes: object) -> Device:
    """An H100-like device."""
    whole = Device(
        id=f"nvidia:GPU-0000000{index}-1111-2222-3333-444444444444",
        vendor="nvidia",
        backend="nvidia",
        index=index,
        name=f"nvidia{index}",
        model="NVIDIA H100 80GB HBM3",
        architecture="hopper",
        uuid=f"GPU-0000000{index}-1111-2222-3333-444444444444",
        serial=f"165000000000{index}",
        vbios_version="96.00.00.00.01",
        driver_version="590.48.01",
        pci_bus_id=f"0000:{0x18 + index:02x}:00.0",
        numa_node=index // 4,
    )
    return msgspec.structs.replace(whole, **changes)


def values(index: int = 0) -> dict[Series, Number]:
    """Standing quantities of a busy device."""
    found: dict[Series, Number] = {
        ("utilization_ratio",): 0.97,
        ("memory_bandwidth_utilization_ratio",): 0.41,
        ("compute_active_ratio",): 0.88,
        ("compute_occupancy_ratio",): 0.5,
        ("matrix_active_ratio",): 0.35,
        ("memory_controller_utilization_ratio",): 0.4,
        ("memory_size_bytes",): 80 * GIB,
        ("memory_used_bytes",): 61 * GIB + index,
        ("memory_reserved_bytes",): 512 << 20,
        ("temperature_celsius", "gpu"): 61,
        ("temperature_celsius", "memory"): 72,
        ("power_watts",): 642.125 + index,
        ("energy_joules_total", "hardware"): 123456789.25,
        ("performance_state",): 0,
        ("ecc_enabled",): 1,
        ("ecc_errors_total", "corrected"): 0,
        ("ecc_errors_total", "uncorrected"): 0,
        ("ecc_lifetime_errors", "corrected"): 0,
        ("ecc_lifetime_errors", "uncorrected"): 0,
        ("memory_remapped_rows", "corrected"): 0,
        ("memory_remapped_rows", "uncorrected"): 0,
        ("memory_repair_pending",): 0,
        ("memory_repair_failed",): 0,
        ("reset_required",): 0,
        ("pcie_errors_total", "replay"): 3,
        ("busy_seconds_total",): 1234.5,
        ("window_utilization_max_ratio",): 1.0,
        ("window_power_max_watts",): 699.5,
        ("window_memory_used_max_bytes",): 62 * GIB,
    }
    for engine in ("encoder", "decoder", "jpeg"):
        found[("engine_utilization_ratio", engine)] = 0.0
    for limit, celsius in (("shutdown", 92), ("slowdown", 89), ("max_operating", 87)):
        found[("temperature_limit_celsius", "gpu", limit)] = celsius
    for limit, watts in (("enforced", 700.0), ("default", 700.0), ("min", 200.0), ("max", 700.0)):
        found[("power_limit_watts", limit)] = watts
    for domain, hertz in (("graphics", 1980), ("sm", 1980), ("memory", 2619), ("video", 1545)):
        found[("clock_hertz", domain)] = hertz * 1_000_000
        found[("clock_limit_hertz", domain, "max")] = hertz * 1_000_000
    reasons = ("power", "power_brake", "thermal_software", "thermal_hardware", "sync_boost")
    for reason in (*reasons, "clock_setting", "reliability"):
        found[("throttle_active", reason)] = 0
        found[("throttle_seconds_total", reason)] = 12.5
    for state in ("current", "max"):
        found[("pcie_link_generation", state)] = 5
        found[("pcie_link_width_lanes", state)] = 16
        found[("interconnect_links", "nvlink", "up" if state == "current" else "down")] = (
            18 if state == "current" else 0
        )
    for direction in ("receive", "transmit"):
        found[("pcie_bytes_total", direction)] = 987654321
        found[("interconnect_bytes_total", "nvlink", direction)] = 123456789012
    for kind in ("crc", "replay", "recovery"):
        found[("interconnect_errors_total", "nvlink", kind)] = 0
    return found


def processes(device_id: str, count: int = 2) -> tuple[Process, ...]:
    """Training processes of one user."""
    return tuple(
        Process(
            device_id=device_id,
            pid=4000 + number,
            start_time=NOW - 3600,
            user="trainer",
            command="python3",
            gpu_memory_bytes=30 * GIB,
        )
        for number in range(count)
    )


def view(index: int = 0, **changes: object) -> DeviceView:
    """A device as it stands, healthy unless told otherwise."""
    one = device(index)
    reading = Reading(
        device_id=one.id, values=values(index), processes=processes(one.id), sources={"*": "nvml"}
    )
    whole = DeviceView(
        device=one,
        state=DeviceState.OK,
        state_since=NOW - 60,
        reading=complete(reading, frozenset()),
        sample_time=NOW - 0.25,
        sample_age_s=0.25,
        health=Health.OK,
    )
    return msgspec.structs.replace(whole, **changes)


def lost_view(index: int) -> DeviceView:
    """A device that fell off the bus ten minutes ago."""
    return view(
        index,
        state=DeviceState.LOST,
        state_since=NOW - 600,
        reading=wholly_absent(device(index).id, Absence.LOST),
        sample_time=NOW - 600,
        sample_age_s=600.0,
        health=Health.FAILED,
        health_reasons=("the device is lost",),
        event_counts=(EventCount(code="xid_79", category="bus", total=1, last_time=NOW - 600),),
    )


def mig_view(index: int, parent: int) -> DeviceView:
    """A MIG instance of a device."""
    one = device(
        index,
        id=f"nvidia:MIG-{index}",
        uuid=f"MIG-{index}",
        name=f"nvidia{parent}mig{index}",
        parent_id=device(parent).id,
        partition="gi1/ci0",
        partition_technology="mig",
        partition_profile="1g.10gb",
    )
    found: dict[Series, Number] = {
        ("memory_size_bytes",): 10 * GIB,
        ("memory_used_bytes",): 3 * GIB,
        ("compute_active_ratio",): 0.5,
    }
    reading = complete(Reading(device_id=one.id, values=found, processes=()), frozenset())
    return view(index, device=one, reading=reading)


def unread(name: str = "nvidia", *, reason: str = "version_mismatch") -> BackendStatus:
    """A backend that cannot be used."""
    return BackendStatus(
        name=name,
        vendor={"kernel_log": "kernel"}.get(name, name),
        state=BackendState.UNAVAILABLE,
        reason=reason,
        message="NVML_ERROR_LIB_RM_VERSION_MISMATCH",
        remedy="reboot after the update",
    )


def snapshot(*views: DeviceView, **changes: object) -> Snapshot:
    """A node with the given devices, eight healthy ones by default."""
    held = views or tuple(view(index) for index in range(8))
    whole = Snapshot(
        time=NOW,
        host="n01",
        version="0.1.0",
        devices=held,
        boot_id="b0075",
        interval_s=1.0,
        backends=(
            BackendStatus(
                name="nvidia",
                vendor="nvidia",
                state=BackendState.OK,
                source="nvml",
                versions={"driver": "590.48.01", "nvml": "13.590.48.01"},
                devices=len(held),
            ),
        ),
        events=(
            ErrorEvent(
                code="xid_79",
                category=Category.BUS,
                time=NOW - 600,
                text="GPU has fallen off the bus.",
                source="kernel_log",
                device_id=device(3).id,
                subject="0000:1b:00.0",
            ),
        ),
        errors=(
            ReadFailure(
                backend="nvidia",
                device_id=device(3).id,
                code="NVML_ERROR_GPU_IS_LOST",
                absence=Absence.LOST,
                message="nvmlDeviceGetUtilizationRates: GPU is lost",
            ),
        ),
    )
    return msgspec.structs.replace(whole, **changes)
