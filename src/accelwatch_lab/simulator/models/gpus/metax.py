"""MetaX: a data-centre GPU.

Figures are those of recorded identities, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch_lab.simulator.models.rows import GIB, Model, each, fixed, heat, terse


# Built for the vendors in use only, and shared by all their nodes.
@cache
def c500() -> Model:
    """A GPU with counts of ECC and a retirement of pages, but no clocks and no throttling."""
    memory, watts = 64 * GIB, 350.0
    rows = (
        *terse(watts, memory),
        fixed(watts, "power_limit_watts", "enforced"),
        *heat("gpu", 33, 45),
        *heat("inlet", 25, 8),
        *each(0, "ecc_errors_total", "corrected", "uncorrected"),
        fixed(0, "memory_retired_pages", "double_bit"),
        fixed(0, "performance_state"),
        fixed(4, "pcie_link_generation", "current"),
        fixed(16, "pcie_link_width_lanes", "current"),
        fixed(1, "reported_status_info", "available"),
    )
    return Model(
        vendor="metax",
        name="MXC500",
        architecture="xcore1000",
        device_prefix="metax",
        uuid_prefix="GPU-",
        driver_version="3.8.30",
        firmware_version="",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
