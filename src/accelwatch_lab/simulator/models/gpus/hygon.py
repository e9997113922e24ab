"""Hygon: a data-centre card of a fork of AMD's stack.

Figures are those of recorded identities, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch_lab.simulator.models.rows import GIB, Model, clocks, fixed, heat, terse


# Built for the vendors in use only, and shared by all their nodes.
@cache
def k100_ai() -> Model:
    """A card of which the vendor's tool prints load, memory, power and heat, but no error counters."""
    memory, watts = 64 * GIB, 400.0
    rows = (
        *terse(watts, memory),
        fixed(watts, "power_limit_watts", "enforced"),
        *heat("gpu", 33, 40),
        *heat("junction", 35, 50),
        *heat("memory", 34, 45),
        *clocks({"graphics": (1500, True), "memory": (1800, False)}, limits=False),
        fixed(1, "reported_status_info", "healthy"),
    )
    return Model(
        vendor="hygon",
        name="K100_AI",
        architecture="gfx928",
        device_prefix="dcu",
        uuid_prefix="GPU-",
        driver_version="6.3.31",
        firmware_version="",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
