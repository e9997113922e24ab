"""Iluvatar: a data-centre GPU.

Figures are those that the vendor's tool prints for a card, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch_lab.simulator.models.rows import GIB, Model, clocks, each, fixed, heat, terse


# Built for the vendors in use only, and shared by all their nodes.
@cache
def bi_v150() -> Model:
    """A GPU of which the vendor's tool prints no traffic between GPUs and no health."""
    memory, watts = 32 * GIB, 350.0
    rows = (
        *terse(watts, memory, health=False),
        *heat("gpu", 30, 45),
        *clocks({"sm": (1500, True), "memory": (1600, False)}),
        *each(watts, "power_limit_watts", "enforced"),
        *each(4, "pcie_link_generation", "current", "max"),
        *each(16, "pcie_link_width_lanes", "current", "max"),
        fixed(0, "performance_state"),
        fixed(1, "ecc_enabled"),
        *each(0, "ecc_errors_total", "corrected", "uncorrected"),
    )
    return Model(
        vendor="iluvatar",
        name="Iluvatar BI-V150",
        architecture="",
        device_prefix="iluvatar",
        uuid_prefix="GPU-",
        driver_version="4.3.0",
        firmware_version="3.0.17",
        part_number="BI-V150-SIM",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
