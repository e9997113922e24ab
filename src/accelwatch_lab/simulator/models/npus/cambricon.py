"""Cambricon: a training card.

Figures are those that the vendor's tool prints for a card, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch.schema.device import DeviceKind
from accelwatch_lab.simulator.models.rows import GIB, Model, fixed, heat, terse


# Built for the vendors in use only, and shared by all their nodes.
@cache
def mlu370_x8() -> Model:
    """A card of which the vendor's tool prints no clocks and no kinds of ECC errors."""
    memory, watts = 24 * GIB, 250.0
    rows = (
        *terse(watts, memory),
        *heat("gpu", 28, 50),
        *heat("board", 27, 38),
        *heat("memory", 27, 37),
        fixed(watts, "power_limit_watts", "enforced"),
        fixed(0.0, "fan_speed_ratio", "0"),
        fixed(1, "ecc_enabled"),
        fixed(1, "reported_status_info", "Good, Running"),
    )
    return Model(
        vendor="cambricon",
        kind=DeviceKind.NPU,
        name="MLU370-X8",
        architecture="mlu370",
        device_prefix="mlu",
        uuid_prefix="",
        driver_version="5.10.22",
        firmware_version="1.1.6",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
