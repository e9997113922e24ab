"""Google TPU: a chip with a workload, of which a guest sees memory and load only.

Figures are the public ones of the generation, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch.schema.device import DeviceKind
from accelwatch_lab.simulator.models.rows import GIB, Model, terse


# Built for the vendors in use only, and shared by all their nodes.
@cache
def v6e() -> Model:
    """A v6e chip as libtpu reports it while a workload runs: no power, no temperature, no health."""
    memory = 32 * GIB
    unreported = (
        "power_watts",
        "energy_joules_total",
        "window_power_max_watts",
        "reported_health_info",
    )
    return Model(
        vendor="tpu",
        kind=DeviceKind.NPU,
        name="TPU v6e",
        architecture="v6e",
        device_prefix="tpu",
        uuid_prefix="",
        driver_version="0.0.21",
        firmware_version="",
        part_number="",
        fabric="",
        board_watts=300.0,
        memory_bytes=memory,
        rows=tuple(row for row in terse(300.0, memory) if row.series[0] not in unreported),
    )
