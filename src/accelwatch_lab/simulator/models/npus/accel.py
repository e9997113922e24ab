"""AMD XDNA: an NPU beside the processor's cores, of which the kernel reports little.

Nothing here was read from a device.
"""

from functools import cache

from accelwatch_lab.simulator.models.rows import GIB, Model, fixed, live


# Built for the vendors in use only, and shared by all their nodes.
@cache
def xdna2() -> Model:
    """An NPU whose clients report load and memory; nothing reports its watts."""
    memory, watts = 2 * GIB, 10.0
    rows = (
        live("busy", 0.0, 1.0, "utilization_ratio"),
        live("busy_s", 0.0, 1.0, "busy_seconds_total"),
        live("busy_peak", 0.0, 1.0, "window_utilization_max_ratio"),
        live("busy", 0.0, 1.0, "engine_utilization_ratio", "npu"),
        live("memory", 0, memory, "memory_used_bytes"),
        fixed(4, "pcie_link_generation", "current"),
        fixed(16, "pcie_link_width_lanes", "current"),
    )
    return Model(
        vendor="accel",
        name="RyzenAI-npu4",
        architecture="xdna",
        device_prefix="accel",
        uuid_prefix="",
        driver_version="6.17.0",
        firmware_version="1.1.2.64",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
