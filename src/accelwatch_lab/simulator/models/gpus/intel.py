"""Intel: a data-centre GPU.

Figures are those of the vendor's data sheet, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch_lab.simulator.models.rows import (
    GIB,
    Model,
    clocks,
    fixed,
    heat,
    links,
    live,
    usual,
)


# Built for the vendors in use only, and shared by all their nodes.
@cache
def max1550() -> Model:
    """A data-centre GPU of a third vendor: Xe Link, engines by kind."""
    memory = 128 * GIB
    rows = (
        *usual(600.0, memory),
        *links("xelink", 8, 40_000_000_000),
        *heat("gpu", 28, 50),
        *heat("memory", 30, 44),
        *clocks({"graphics": (1600, True), "memory": (3200, False)}),
        fixed(105, "temperature_limit_celsius", "gpu", "shutdown"),
        live("bandwidth", 0.0, 1.0, "memory_bandwidth_utilization_ratio"),
        live("work", 0.0, 0.9, "engine_utilization_ratio", "compute"),
        live("bandwidth", 0.0, 0.4, "engine_utilization_ratio", "copy"),
        live("work_s", 0, 1_700_000_000, "pcie_bytes_total", "receive"),
        live("work_s", 0, 900_000_000, "pcie_bytes_total", "transmit"),
    )
    return Model(
        vendor="intel",
        name="Intel Data Center GPU Max 1550",
        architecture="xe-hpc",
        device_prefix="intel",
        uuid_prefix="",
        driver_version="1.6.33578",
        firmware_version="PVC2_1.23453",
        part_number="SIM-MAX1550",
        fabric="xelink",
        board_watts=600.0,
        memory_bytes=memory,
        rows=rows,
    )
