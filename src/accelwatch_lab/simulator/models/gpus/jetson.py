"""NVIDIA Jetson: a module whose GPU shares the memory of the system on a chip.

Figures are those of the vendor's data sheet, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch_lab.simulator.models.rows import GIB, Model, clocks, each, fixed, heat, live, terse


# Built for the vendors in use only, and shared by all their nodes.
@cache
def agx_orin() -> Model:
    """A module that reports load, clocks, heat, rails and engines, but no health, no errors."""
    memory, watts = 62 * GIB, 40.0
    rows = (
        *terse(watts, memory, health=False),
        *heat("gpu", 38, 30),
        *heat("junction", 42, 32),
        *heat("soc", 40, 26),
        *clocks({"graphics": (1300, True), "memory": (3199, False)}),
        live("bandwidth", 0.0, 1.0, "memory_controller_utilization_ratio"),
        *each(0.0, "engine_utilization_ratio", "encoder", "decoder", "vic", "dla0", "dla1"),
        fixed(96, "temperature_limit_celsius", "gpu", "shutdown"),
    )
    return Model(
        vendor="nvidia",
        name="Jetson AGX Orin",
        architecture="ampere",
        device_prefix="tegra",
        uuid_prefix="",
        driver_version="36.4.3",
        firmware_version="",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
