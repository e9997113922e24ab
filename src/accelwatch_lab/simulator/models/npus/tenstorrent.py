"""Tenstorrent: an inference card.

Figures are those of the vendor's data sheet, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch.schema.device import DeviceKind
from accelwatch_lab.simulator.models.rows import Model, fixed, heat, live


# Built for the vendors in use only, and shared by all their nodes.
@cache
def p150a() -> Model:
    """A card of which the driver reports neither load nor memory."""
    watts = 300.0
    rows = (
        live("power", 0.0, watts, "power_watts"),
        live("full_power_s", 0.0, watts, "energy_joules_total", "integrated"),
        live("power_peak", 0.0, watts, "window_power_max_watts"),
        fixed(watts, "power_limit_watts", "enforced"),
        fixed(1_350_000_000, "clock_hertz", "npu"),
        fixed(90.0, "temperature_limit_celsius", "gpu", "slowdown"),
        *heat("gpu", 30, 45),
        fixed(5, "pcie_link_generation", "current"),
        fixed(16, "pcie_link_width_lanes", "current"),
        fixed(1, "reported_health_info", "ok"),
        fixed(1, "reported_status_info", "alive"),
    )
    return Model(
        vendor="tenstorrent",
        kind=DeviceKind.NPU,
        name="p150a",
        architecture="blackhole",
        device_prefix="tt",
        uuid_prefix="",
        driver_version="2.8.0",
        firmware_version="19.5.0.0",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=0,
        rows=rows,
    )
