"""FuriosaAI: an inference card.

Figures are those of the vendor's data sheet, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch.schema.device import DeviceKind
from accelwatch_lab.simulator.models.rows import GIB, Model, fixed, heat, terse


# Built for the vendors in use only, and shared by all their nodes.
@cache
def rngd() -> Model:
    """A card of which the vendor's tool says little: no ECC, no throttling, no energy."""
    memory, watts = 48 * GIB, 180.0
    rows = (
        *terse(watts, memory),
        fixed(watts, "power_limit_watts", "enforced"),
        fixed(1_000_000_000, "clock_hertz", "npu"),
        *heat("gpu", 30, 45),
        fixed(1, "reported_status_info", "alive"),
    )
    return Model(
        vendor="furiosa",
        kind=DeviceKind.NPU,
        name="FuriosaAI RNGD",
        architecture="rngd",
        device_prefix="npu",
        uuid_prefix="",
        driver_version="2026.3.0",
        firmware_version="2026.3.0",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
