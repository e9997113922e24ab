"""Moore Threads: a data-centre GPU.

Figures are those that the vendor's tool prints for a card, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch_lab.simulator.models.rows import GIB, Model, clocks, each, fixed, heat, terse


# Built for the vendors in use only, and shared by all their nodes.
@cache
def s5000() -> Model:
    """A GPU of which the vendor's tool prints no traffic, no counters of ECC and no health."""
    memory, watts = 80 * GIB, 950.0
    rows = (
        *terse(watts, memory, health=False),
        *heat("gpu", 27, 48),
        *clocks({"graphics": (1750, True), "memory": (2500, False), "video": (1200, False)}),
        *each(0.0, "engine_utilization_ratio", "encoder", "decoder"),
        *each(watts, "power_limit_watts", "enforced", "default"),
        *each(5, "pcie_link_generation", "current", "max"),
        *each(16, "pcie_link_width_lanes", "current", "max"),
        fixed(0, "performance_state"),
        fixed(1, "ecc_enabled"),
        *each(0, "memory_retired_pages", "single_bit", "double_bit"),
        fixed(0, "memory_repair_pending"),
    )
    return Model(
        vendor="mthreads",
        name="MTT S5000",
        architecture="mp_31",
        device_prefix="mtgpu",
        uuid_prefix="",
        driver_version="3.3.8-server",
        firmware_version="4.3.45",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
