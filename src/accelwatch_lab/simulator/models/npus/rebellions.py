"""Rebellions: an inference card.

Figures are those of the vendor's data sheet, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch.schema.device import DeviceKind
from accelwatch_lab.simulator.models.rows import GIB, Model, fixed, heat, terse


# Built for the vendors in use only, and shared by all their nodes.
@cache
def atom_max() -> Model:
    """A card of which the vendor's tool says little: no clocks, no ECC, no energy."""
    memory, watts = 64 * GIB, 350.0
    rows = (
        *terse(watts, memory),
        *heat("gpu", 28, 48),
        fixed(2, "performance_state"),
        fixed(0, "throttle_active", "thermal_hardware"),
        fixed(0.0, "throttle_seconds_total", "thermal_hardware"),
        fixed(5, "pcie_link_generation", "current"),
        fixed(16, "pcie_link_width_lanes", "current"),
        fixed(1, "reported_status_info", "normal"),
    )
    return Model(
        vendor="rebellions",
        kind=DeviceKind.NPU,
        name="RBLN-CA25",
        architecture="atom",
        device_prefix="rbln",
        uuid_prefix="",
        driver_version="2.0.1",
        firmware_version="2.0.1",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
