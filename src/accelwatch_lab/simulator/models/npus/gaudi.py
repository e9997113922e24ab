"""Intel Gaudi: a training accelerator.

Figures are those of the vendor's data sheet, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch.schema.device import DeviceKind
from accelwatch_lab.simulator.models.rows import GIB, Model, fixed, heat, terse


# Built for the vendors in use only, and shared by all their nodes.
@cache
def gaudi2() -> Model:
    """A card with ECC, a driver that reports its status, and one clock."""
    memory, watts = 96 * GIB, 600.0
    rows = (
        *terse(watts, memory),
        fixed(watts, "power_limit_watts", "enforced"),
        fixed(1_650_000_000, "clock_hertz", "soc"),
        *heat("gpu", 24, 45),
        fixed(0, "performance_state"),
        fixed(1, "ecc_enabled"),
        fixed(0, "ecc_errors_total", "corrected"),
        fixed(0, "ecc_errors_total", "uncorrected"),
        fixed(0, "reset_required"),
        fixed(0, "resets_total"),
        fixed(1, "reported_status_info", "operational"),
    )
    return Model(
        vendor="habana",
        kind=DeviceKind.NPU,
        name="HL-225",
        architecture="gaudi2",
        device_prefix="accel",
        uuid_prefix="",
        driver_version="1.20.0",
        firmware_version="58.1.1",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
