"""Apple Silicon: a GPU that shares the memory of its machine, as root reads it.

Figures are the public ones of the product, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch_lab.simulator.models.rows import GIB, Model, clocks, fixed, heat, live, terse


# Built for the vendors in use only, and shared by all their nodes.
@cache
def m3_max() -> Model:
    """A GPU of which macOS reports load, clock, power and thermal pressure, but no error counters."""
    memory, watts = 128 * GIB, 60.0
    rows = (
        *terse(watts, memory),
        *heat("gpu", 36, 50),
        *clocks({"graphics": (1398, True)}),
        live("busy", 0.0, 0.9, "engine_utilization_ratio", "render"),
        fixed(0, "throttle_active", "thermal_software"),
        fixed(1, "reported_status_info", "thermal pressure nominal"),
    )
    return Model(
        vendor="apple",
        name="Apple M3 Max",
        architecture="g15x",
        device_prefix="apple",
        uuid_prefix="",
        driver_version="15.6.1",
        firmware_version="11881.140.96",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
