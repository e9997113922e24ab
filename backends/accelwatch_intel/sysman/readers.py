"""Runs the Sysman readers over a device; one that fails leaves a reason, not a gap."""

from collections.abc import Callable

from accelwatch.base.errors import DeviceLost, ReadError
from accelwatch.schema.reading import Process
from accelwatch_intel.sysman import health, load, structures
from accelwatch_intel.sysman.calls import ResetRequired
from accelwatch_intel.sysman.device import Sink, SysmanCard

# A reader and the quantities that it alone, or mostly, provides.
_READERS: tuple[tuple[Callable[[SysmanCard, Sink], None], tuple[str, ...]], ...] = (
    (load.read_memory, ("memory_size_bytes", "memory_used_bytes")),
    (load.read_bandwidth, ("memory_bandwidth_utilization_ratio",)),
    (load.read_temperatures, ("temperature_celsius",)),
    (load.read_power, ("power_watts", "energy_joules_total")),
    (load.read_power_limits, ("power_limit_watts",)),
    (load.read_frequencies, ("clock_hertz", "throttle_active")),
    (load.read_engines, ("utilization_ratio", "engine_utilization_ratio")),
    (health.read_ras, ("ecc_errors_total", "ecc_location_errors_total", "resets_total")),
    (health.read_ecc, ("ecc_enabled",)),
    (health.read_state, ("reset_required", "recovery_action_info")),
    (health.read_pci, ("pcie_bytes_total",)),
    (health.read_fabric, ("interconnect_links", "interconnect_bytes_total")),
    (health.read_fabric_errors, ("interconnect_errors_total",)),
)

_COMPUTE_ENGINE = 1 << 1
# zes_engine_type_flags_t: everything but compute and copy means graphics.
_OTHER_ENGINES = ~(_COMPUTE_ENGINE | 1 << 4)


def read(card: SysmanCard, sink: Sink) -> None:
    """All that Sysman gives. Raises DeviceLost when the driver says that the device is gone."""
    for reader, keys in _READERS:
        try:
            reader(card, sink)
        except DeviceLost:
            raise
        except ReadError as error:
            if isinstance(error, ResetRequired):
                sink.fill(None, 1, "reset_required")
                sink.fill(None, 1, "recovery_action_info", "reset")
            for key in keys:
                if not any(series[0] == key for series in sink.card_values.values):
                    sink.card_values.miss(key, error.absence)


def processes(card: SysmanCard, device_id: str) -> list[Process]:
    """Processes with memory on the device; empty where the driver reports none. Raises DeviceLost.

    One without memory only keeps the device open, as we do ourselves.
    """
    try:
        rows = card.sysman.structures(
            "zesDeviceProcessesGetState", card.handle, structures.ProcessState
        )
    except DeviceLost:
        raise
    except ReadError:
        return []
    return [
        Process(
            device_id=device_id,
            pid=row.processId,
            type=_type(row.engines),
            gpu_memory_bytes=row.memSize,
        )
        for row in rows
        if row.processId > 0 and row.memSize > 0
    ]


def _type(engines: int) -> str:
    if engines & _COMPUTE_ENGINE:
        return "compute+graphics" if engines & _OTHER_ENGINES else "compute"
    return "graphics"
