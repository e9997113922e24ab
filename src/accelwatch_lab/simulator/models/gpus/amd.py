"""AMD: a data-centre GPU.

Figures are those of the vendor's data sheet, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch_lab.simulator.models.rows import (
    GIB,
    Model,
    clocks,
    each,
    fixed,
    heat,
    links,
    live,
    usual,
)


# Built for the vendors in use only, and shared by all their nodes.
@cache
def mi300x() -> Model:
    """A data-centre GPU of a second vendor: junction sensor, XGMI, no performance state."""
    memory = 192 * GIB
    rows = (
        *usual(750.0, memory),
        *links("xgmi", 7, 96_000_000_000),
        *heat("junction", 30, 55),
        *heat("memory", 32, 50),
        *clocks({"graphics": (2100, True), "memory": (1300, False), "soc": (1200, False)}),
        *clocks({"video": (1400, False)}),
        fixed(100, "temperature_limit_celsius", "junction", "slowdown"),
        fixed(110, "temperature_limit_celsius", "junction", "shutdown"),
        live("work_s", 0, 1_900_000_000, "pcie_bytes_total", "receive"),
        live("work_s", 0, 1_100_000_000, "pcie_bytes_total", "transmit"),
        *each(0.0, "engine_utilization_ratio", "video", "jpeg"),
        *each(0, "memory_retired_pages", "corrected", "uncorrected"),
    )
    return Model(
        vendor="amd",
        name="AMD Instinct MI300X",
        architecture="gfx942",
        device_prefix="amd",
        uuid_prefix="",
        driver_version="6.12.12",
        firmware_version="022.040.003.042.000001",
        part_number="102-SIM-MI300X",
        fabric="xgmi",
        board_watts=750.0,
        memory_bytes=memory,
        rows=rows,
    )
