"""The machine around the devices.

Figures are those of the vendor's data sheet, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch_lab.simulator.models.rows import (
    GIB,
    Model,
    fixed,
    live,
)


# Built for the vendors in use only, and shared by all their nodes.
@cache
def host() -> Model:
    """The machine around the devices, as the agent reads it."""
    memory = 2048 * GIB
    rows = (
        live("work", 0.03, 0.21, "host_cpu_utilization_ratio"),
        live("work", 1.5, 24.0, "host_load_average", "1"),
        live("work", 1.5, 24.0, "host_load_average", "5"),
        live("memory", 90 * GIB, 600 * GIB, "host_memory_used_bytes"),
        live("memory", memory - 90 * GIB, -600 * GIB, "host_memory_available_bytes"),
        live("work_s", 0, 2_400_000_000, "host_network_bytes_total", "bond0", "receive"),
        live("work_s", 0, 2_300_000_000, "host_network_bytes_total", "bond0", "transmit"),
        fixed(192, "host_cpu_count"),
        fixed(memory, "host_memory_size_bytes"),
        fixed(1, "host_network_up", "bond0"),
        fixed(0, "host_blocked_processes"),
        fixed(1, "host_clock_synchronized"),
    )
    return Model(
        vendor="host",
        name="Simulated machine",
        architecture="x86_64",
        device_prefix="host",
        uuid_prefix="",
        driver_version="6.1.0-sim",
        firmware_version="",
        part_number="",
        fabric="",
        board_watts=0.0,
        memory_bytes=memory,
        rows=rows,
    )
